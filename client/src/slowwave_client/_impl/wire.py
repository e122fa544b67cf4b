"""From our requests to httpx's and back: what both drivers share."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from slowwave_client._impl.effects import Request

CALL_TIMEOUT = httpx.Timeout(5.0)
# The server sends a heartbeat every two seconds: a stream that is silent for three of them is dead.
STREAM_TIMEOUT = httpx.Timeout(5.0, read=7.0)


def http_request(
    http: httpx.Client | httpx.AsyncClient, request: Request, timeout: httpx.Timeout = CALL_TIMEOUT
) -> httpx.Request:
    """The request as httpx sends it."""
    return http.build_request(
        request.method,
        request.path,
        params=dict(request.params),
        json=dict(request.body) if request.body is not None else None,
        headers=dict(request.headers),
        timeout=timeout,
    )


def headers_of(answer: httpx.Response) -> Mapping[str, str]:
    """Header names in lower case."""
    return {name.lower(): value for name, value in answer.headers.items()}


def describe(problem: Exception) -> str:
    """One line that names the failure, and never the token."""
    return f"{type(problem).__name__}: {problem}".rstrip(": ")
