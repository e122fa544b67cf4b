"""Whether the process lives, and whether it can serve."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError

from review_ui.site import SiteDep
from storage.queries.pages_runs import database_answers

router = APIRouter()


@router.get("/health/live")
def live() -> JSONResponse:
    """The process answers."""
    return JSONResponse({"status": "ok"})


@router.get("/health/ready")
def ready(site: SiteDep) -> JSONResponse:
    """The database answers and has its tables."""
    try:
        with site.database.read() as session:
            database_answers(session)
    except SQLAlchemyError as error:
        what = f"the database does not answer ({type(error).__name__}): check its URL, or run `slowwave doctor`"
        return JSONResponse({"status": "unready", "reason": what}, status_code=503)
    return JSONResponse({"status": "ok"})
