"""The outer wall, as plain ASGI: response headers, the origin of forms, the size of bodies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # no-referrer would make Chromium send "Origin: null" with every form
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
LARGEST_FORM = 64 * 1024
FORM = "application/x-www-form-urlencoded"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class Shield:
    """Refuses foreign or oversized forms before they are parsed, and puts the headers on every answer."""

    def __init__(self, app: App, *, origins: list[str]) -> None:
        self.app = app
        self.hosts = {_host(origin) for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                answer.update(HEADERS)
                answer.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(headers) if scope["method"] not in SAFE_METHODS else None
        if "\x00" in scope["path"] or b"%00" in scope["query_string"]:
            refusal = PlainTextResponse("No address of this site holds a NUL.\n", 404)
        await (refusal or self.app)(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers) -> Response | None:
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            return PlainTextResponse("A form needs a Content-Length.\n", 411)
        if len(length) > 12 or int(length) > LARGEST_FORM:
            return PlainTextResponse(f"A form may have at most {LARGEST_FORM} bytes.\n", 413)
        if not self._is_own(headers):
            return PlainTextResponse(
                "This form did not come from this site, so nothing was done. Open the page here and send it again; "
                "behind a proxy that changes the host, list the public address in SLOWWAVE_PUBLIC_ORIGINS.\n",
                403,
            )
        # Multipart names its own text encoding, and some decode to what no database stores; no page of ours sends it.
        if headers.get("content-type", FORM).partition(";")[0].strip().lower() != FORM:
            return PlainTextResponse(f"A form is sent as {FORM}.\n", 415)
        return None

    def _is_own(self, headers: Headers) -> bool:
        """Every browser that posts a form says from where; without a word of it nothing is accepted."""
        origin, fetch_site = headers.get("origin"), headers.get("sec-fetch-site")
        if fetch_site is not None and fetch_site not in ("same-origin", "none"):
            return False
        if origin is None:
            return fetch_site == "same-origin"
        return _host(origin) in {headers.get("host", "").lower(), *self.hosts} - {""}


def _host(origin: str) -> str:
    """Host and port of an origin; empty for what is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
