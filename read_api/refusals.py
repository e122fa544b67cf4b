"""What every refusal looks like, for the OpenAPI document: one shape, and the statuses an operation may give."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict

REASONS = {
    400: "The body cannot be read.",
    401: "No token, an unknown one, or one that ended.",
    403: "The token's role or namespaces do not cover this.",
    404: "No such namespace, rule or version.",
    410: "It was there; `state` and `reason` say what became of it.",
    413: "The body is larger than is taken.",
    422: "A value is missing, malformed, or makes no sense here.",
    429: "Too often from this token or address: send it again after `Retry-After` seconds.",
    503: "The database does not answer, or is busy: send it again after `Retry-After` seconds.",
}
EVERYWHERE = (400, 401, 403, 404, 413, 422, 429, 503)


class ErrorOut(BaseModel):
    """What happened, to what, and what to do now; some refusals say more."""

    model_config = ConfigDict(extra="allow")

    what: str
    where: str
    what_now: str


class Refusal(BaseModel):
    """The one shape of a refusal."""

    error: ErrorOut


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """``responses`` of an operation that may give these refusals.

    Raises:
        KeyError: a status that has no reason written down.
    """
    return {status: {"model": Refusal, "description": REASONS[status]} for status in statuses}


def document(app: FastAPI) -> None:
    """Have the app's document say that every operation needs a bearer token; what checks it reads it by hand."""

    def made() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
            schema.setdefault("components", {})["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            schema["security"] = [{"token": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = made  # type: ignore[method-assign]
