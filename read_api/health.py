"""Whether the process lives, whether what it knows is fresh, and its figures."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy.exc import SQLAlchemyError

from read_api.site import SiteDep
from storage.queries.pages_runs import database_answers

router = APIRouter(include_in_schema=False)

STALE_SECONDS = 5.0


@router.get("/health/live")
def live() -> JSONResponse:
    """The process answers."""
    return JSONResponse({"status": "ok"})


@router.get("/health/ready")
def ready(site: SiteDep) -> JSONResponse:
    """The database answers, and the notifier has read it lately."""
    try:
        with site.database.read() as session:
            database_answers(session)
    except SQLAlchemyError as error:
        what = f"the database does not answer ({type(error).__name__}): check its URL, or run `slowwave doctor`"
        return _unready(what)
    age = site.notifier.age_seconds()
    if site.notifier.running and age > STALE_SECONDS:
        return _unready(f"events were last read {age:.0f} s ago: connected clients are not being told of changes")
    return JSONResponse({"status": "ok"})


@router.get("/metrics")
def metrics(site: SiteDep) -> Response:
    """Prometheus text format. No names in it."""
    return Response(generate_latest(site.metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _unready(reason: str) -> JSONResponse:
    return JSONResponse({"status": "unready", "reason": reason}, status_code=503)
