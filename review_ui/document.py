"""What the pages answer, as an OpenAPI document: for tests, and for whoever wants to read it. It is not served."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from review_ui.access import COOKIE, cookie_name
from storage.settings import Settings

PAGE = {"text/html": {"schema": {"type": "string"}}}
NOTE = {"text/plain": {"schema": {"type": "string"}}}
STREAM = {"text/event-stream": {"schema": {"type": "string"}}}
LINES = {"application/x-ndjson": {"schema": {"type": "string"}}}
HEALTH = {"application/json": {"schema": {"type": "object", "required": ["status"]}}}

OPEN = ("/", "/login", "/preferences", "/health/live", "/health/ready", "/metrics", "/store/metrics")
"""What is answered to whoever asks, logged in or not."""

RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The page.", "content": PAGE},
    303: {"description": "Done, or to be done elsewhere: `Location` says where; where to log in, if nobody is."},
    400: {"description": "It makes no sense here.", "content": PAGE},
    401: {"description": "Name and secret do not match; or nobody is logged in, for part of a page.", "content": PAGE},
    403: {"description": "The form is not of this site or session, or the role does not cover it.",
          "content": PAGE | NOTE},
    404: {"description": "There is none, or it is not this person's to see.", "content": PAGE | NOTE},
    409: {"description": "It changed since it was shown.", "content": PAGE},
    411: {"description": "A form that does not say how long it is.", "content": NOTE},
    413: {"description": "A form that is too long.", "content": PAGE | NOTE},
    415: {"description": "A form of another kind.", "content": NOTE},
    422: {"description": "A value is missing or malformed.", "content": PAGE},
    429: {"description": "Too often: `Retry-After` says how long to wait, where waiting helps.", "content": PAGE},
    503: {"description": "The database does not answer, or there is no room.", "content": PAGE},
}  # fmt: skip
"""What any address may answer; those of another kind say so themselves."""


def only(content: dict[str, Any], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """``responses`` of an operation that answers these statuses, 200 among them, with something else than a page."""
    return {status: {**RESPONSES[status], "content": content} for status in (200, *statuses)}


def document(app: FastAPI, settings: Settings) -> None:
    """Have ``app.openapi()`` say that pages are for whoever is logged in, and that they are pages."""

    def made() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, routes=app.routes)
            cookie = {"type": "apiKey", "in": "cookie", "name": cookie_name(settings, COOKIE)}
            schema.setdefault("components", {})["securitySchemes"] = {"session": cookie}
            schema["security"] = [{"session": []}]
            for path in OPEN:
                for operation in schema["paths"].get(path, {}).values():
                    operation["security"] = []
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = made  # type: ignore[method-assign]
