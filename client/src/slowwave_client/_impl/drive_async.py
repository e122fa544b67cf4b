"""Runs flows on an event loop. The counterpart of ``drive_sync``: effects only, no logic."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import httpx

from slowwave_client._impl.core import Core
from slowwave_client._impl.effects import AwaitChange, Call, Connect, Disconnect, Effect, Flow, Pause, Read, Response
from slowwave_client._impl.errors import TransportFailed
from slowwave_client._impl.wire import STREAM_TIMEOUT, describe, headers_of, http_request

R = TypeVar("R")


class AsyncDriver:
    """Performs effects for one flow at a time; each task has its own."""

    def __init__(self, core: Core, http: httpx.AsyncClient) -> None:
        self._core = core
        self._http = http
        self._stream: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None

    async def run(self, flow: Flow[R]) -> R:
        """Drive a flow to its end."""
        try:
            effect = next(flow)
            while True:
                try:
                    result = await self._perform(effect)
                except TransportFailed as problem:
                    effect = flow.throw(problem)
                else:
                    effect = flow.send(result)
        except StopIteration as done:
            value: R = done.value
            return value

    async def disconnect(self) -> None:
        """Close the open stream."""
        stream, self._stream, self._chunks = self._stream, None, None
        if stream is not None:
            with contextlib.suppress(httpx.HTTPError, OSError):
                await stream.aclose()

    async def _perform(self, effect: Effect) -> Any:
        try:
            match effect:
                case Call(request):
                    answer = await self._http.send(http_request(self._http, request))
                    return Response(answer.status_code, headers_of(answer), answer.content)
                case Connect(request):
                    return await self._connect(http_request(self._http, request, STREAM_TIMEOUT))
                case Read():
                    return b"" if self._chunks is None else await anext(self._chunks, b"")
                case Disconnect():
                    return await self.disconnect()
                case Pause(seconds):
                    return await asyncio.sleep(seconds)
                case AwaitChange():
                    return await self._await(effect)
        except Exception as problem:  # whatever a transport raises, the flow decides; it must not end a renewal
            raise TransportFailed(describe(problem)) from problem

    async def _connect(self, request: httpx.Request) -> Response:
        await self.disconnect()
        stream = await self._http.send(request, stream=True)
        if stream.status_code != 200:
            try:
                content = await stream.aread()
            finally:
                await stream.aclose()
            return Response(stream.status_code, headers_of(stream), content)
        self._stream, self._chunks = stream, stream.aiter_raw()
        return Response(200, headers_of(stream), b"")

    async def _await(self, effect: AwaitChange) -> bool:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        unwatch = self._core.watch(changed.set)
        try:
            end = loop.time() + effect.timeout
            while not effect.until():
                try:
                    await asyncio.wait_for(changed.wait(), end - loop.time())
                except asyncio.TimeoutError:
                    return effect.until()
                changed.clear()
            return True
        finally:
            unwatch()
