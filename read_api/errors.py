"""Every refusal has one shape: ``{"error": {"what", "where", "what_now"}}``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import Scope

from storage.serving import ForeignSession
from storage.trouble import trouble_of

log = logging.getLogger("slowwave.read_api")
METHODS = ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT")


class ApiError(Exception):
    """A refusal: what happened, to what, what to do now."""

    status = 500

    def __init__(
        self, what: str, where: str, what_now: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(what)
        self.told = {"what": what, "where": where, "what_now": what_now, **more}
        self.headers = dict(headers or {})


class Unauthenticated(ApiError):
    """No token, an unknown one, or one that ended."""

    status = 401


class Forbidden(ApiError):
    """The token's role or namespaces do not cover this."""

    status = 403


class Unknown(ApiError):
    """No such namespace, rule or version."""

    status = 404


class Gone(ApiError):
    """It was there; ``state`` and ``reason`` say what became of it."""

    status = 410


class Unprocessable(ApiError):
    """Well-formed, but makes no sense here."""

    status = 422


class TooMany(ApiError):
    """More than is taken from one token or address at once; ``seconds`` is when to ask again."""

    status = 429

    def __init__(self, what: str, what_now: str, seconds: int) -> None:
        super().__init__(what, "Authorization header", what_now, headers={"Retry-After": str(seconds)})


class Busy(ApiError):
    """Nothing is wrong; it only takes a moment."""

    status = 503

    def __init__(self, what: str, where: str, what_now: str) -> None:
        super().__init__(what, where, what_now, headers={"Retry-After": "2"})


class BodyTooLarge(HTTPException):
    """Raised while the body is read; an HTTPException, so that the framework lets it pass."""

    def __init__(self, limit: int) -> None:
        super().__init__(413, f"the request's body is larger than {limit} bytes: send it in parts")


def answer(status: int, told: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The one shape of a refusal."""
    return JSONResponse({"error": dict(told)}, status_code=status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Every error that leaves the app goes through here."""
    app.add_exception_handler(ApiError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ForeignSession, _foreign)
    app.add_exception_handler(SQLAlchemyError, _database)
    app.add_exception_handler(Exception, _failed)


def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiError)
    return answer(error.status, error.told, error.headers)


def _foreign(_: Request, error: Exception) -> JSONResponse:
    """``kind`` tells a client that its token is good, and only this session is not its own."""
    told = {
        "what": str(error),
        "where": "session",
        "what_now": "read with the token that declared it, or under a name of your own",
        "kind": "foreign-session",
    }
    return answer(403, told)


def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = [f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}" for each in error.errors()]
    told = {
        "what": "a value is missing or malformed: " + "; ".join(problems),
        "where": request.url.path,
        "what_now": "correct it and send again; the fields are described at /v1/openapi.json",
    }
    return answer(422, told)


def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    advice = {404: "check the path", 405: "use another method"}.get(error.status_code, "correct the request")
    told = {"what": str(error.detail), "where": request.url.path, "what_now": advice}
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = ", ".join(methods_of(request))
    return answer(error.status_code, told, headers)


def methods_of(request: Request) -> list[str]:
    """What this address takes. Each route knows only of its own methods, and one address may have several."""
    routes = request.app.router.routes
    asked = [
        method for method in METHODS if any(_takes(route, {**request.scope, "method": method}) for route in routes)
    ]
    return sorted({*asked, "HEAD"} if "GET" in asked else asked)


def _takes(route: BaseRoute, scope: Scope) -> bool:
    return route.matches(scope)[0] is Match.FULL


def _database(request: Request, error: Exception) -> JSONResponse:
    lost = isinstance(error, OperationalError | InterfaceError | PoolTimeout)
    lost = lost or (isinstance(error, DBAPIError) and error.connection_invalidated)
    if not lost:
        return _failed(request, error)
    trouble = trouble_of(error)
    log.warning("database.%s path=%s kind=%s", trouble.kind, request.url.path, type(error).__name__)
    again = "send the request again in a moment; if it stays so, the operator runs `slowwave doctor`"
    told = {
        "what": f"the database {trouble.what}; nothing was served or changed",
        "where": request.url.path,
        "what_now": "tell the operator: it needs room before this can be done" if trouble.kind == "full" else again,
    }
    return answer(503, told, {"Retry-After": "2"})


def _failed(request: Request, error: Exception) -> JSONResponse:
    log.error("request.failed path=%s", request.url.path, exc_info=error)
    told = {
        "what": "the server failed on this request",
        "where": request.url.path,
        "what_now": "tell the operator: the log of the web process has the details",
    }
    return answer(500, told)
