"""Whether the process lives, whether it can serve, and the figures of the store."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST
from sqlalchemy.exc import SQLAlchemyError

from review_ui.document import HEALTH, NOTE, only
from review_ui.site import SiteDep
from storage.queries.pages_runs import database_answers

router = APIRouter()
FIGURES = only(NOTE) | {503: only(HEALTH, 503)[503]}


@router.get("/health/live", response_class=JSONResponse, responses=only(HEALTH))
def live() -> JSONResponse:
    """The process answers."""
    return JSONResponse({"status": "ok"})


@router.get("/health/ready", response_class=JSONResponse, responses=only(HEALTH, 503))
def ready(site: SiteDep) -> JSONResponse:
    """The database answers and has its tables."""
    try:
        with site.database.read() as session:
            database_answers(session)
    except SQLAlchemyError as error:
        what = f"the database does not answer ({type(error).__name__}): check its URL, or run `slowwave doctor`"
        return JSONResponse({"status": "unready", "reason": what}, status_code=503)
    return JSONResponse({"status": "ok"})


@router.get("/metrics", response_class=PlainTextResponse, responses=only(NOTE, 503))
@router.get("/store/metrics", response_class=PlainTextResponse, responses=only(NOTE, 503))
def metrics(site: SiteDep) -> Response:
    """Figures of nights, queue, outbox and drills for Prometheus. No names in it.

    Two addresses: in the local mode ``/metrics`` is the agents' side.
    """
    try:
        return Response(site.figures.text(), media_type=CONTENT_TYPE_LATEST)
    except SQLAlchemyError as error:
        return PlainTextResponse(f"the database does not answer ({type(error).__name__})", status_code=503)
