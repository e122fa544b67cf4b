"""``HEAD`` answers wherever ``GET`` does: the same status and headers, no body. The agents' side has the same."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Head:
    """Asks as ``GET`` and keeps the body back. A stream is left as soon as it has begun: it has no end to wait for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        begun = asyncio.Event()
        is_read = False

        async def receive_then_leave() -> Message:
            nonlocal is_read
            if is_read:
                await begun.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            is_read = not message.get("more_body", False)
            return message

        async def send_no_body(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                begun.set()

        # By version 2.3 a streaming answer watches for the disconnect; by later ones it would wait for a failed send.
        asgi = {**scope.get("asgi", {}), "spec_version": "2.3"}
        await self.app({**scope, "method": "GET", "asgi": asgi}, receive_then_leave, send_no_body)
