"""No body larger than its limit is read, whether it says its size or not."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from read_api.errors import BodyTooLarge, answer

SMALL = 2**20
LARGE_PATHS = frozenset({"/v1/episodes"})


class BodyLimit:
    """Refuses by the declared length at once, and by what really arrives otherwise."""

    def __init__(self, app: ASGIApp, large: int) -> None:
        self.app = app
        self.large = large

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.large if scope["path"].endswith(tuple(LARGE_PATHS)) else min(SMALL, self.large)
        if _declared(scope) > limit:
            error = BodyTooLarge(limit)
            told = {"what": error.detail, "where": scope["path"], "what_now": "send less at once"}
            await answer(413, told)(scope, receive, send)
            return
        await self.app(scope, _counted(receive, limit), send)


def _declared(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            # of a number too long to be read, its length says enough
            return int(value[:19]) if value.isdigit() else 0
    return 0


def _counted(receive: Receive, limit: int) -> Receive:
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise BodyTooLarge(limit)
        return message

    return counted
