"""Runs flows with threads and a blocking HTTP client."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, TypeVar

import httpx

from slowwave_client._impl.core import Core
from slowwave_client._impl.effects import AwaitChange, Call, Connect, Disconnect, Effect, Flow, Pause, Read, Response
from slowwave_client._impl.errors import TransportFailed
from slowwave_client._impl.wire import STREAM_TIMEOUT, describe, headers_of, http_request

R = TypeVar("R")


class SyncDriver:
    """Performs effects for one flow at a time; each thread has its own."""

    def __init__(self, core: Core, http: httpx.Client, stop: threading.Event) -> None:
        self._core = core
        self._http = http
        self._stop = stop
        self._stream: httpx.Response | None = None
        self._chunks: Iterator[bytes] = iter(())

    def run(self, flow: Flow[R]) -> R:
        """Drive a flow to its end."""
        try:
            effect = next(flow)
            while True:
                try:
                    result = self._perform(effect)
                except TransportFailed as problem:
                    effect = flow.throw(problem)
                else:
                    effect = flow.send(result)
        except StopIteration as done:
            value: R = done.value
            return value

    def interrupt(self) -> None:
        """From another thread: make a blocked read return now."""
        stream = self._stream
        network = stream.extensions.get("network_stream") if stream is not None else None
        sock = network.get_extra_info("socket") if network is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def disconnect(self) -> None:
        """Close the open stream."""
        stream, self._stream, self._chunks = self._stream, None, iter(())
        if stream is not None:
            with contextlib.suppress(httpx.HTTPError, OSError):
                stream.close()

    def _perform(self, effect: Effect) -> Any:
        try:
            match effect:
                case Call(request):
                    answer = self._http.send(http_request(self._http, request))
                    return Response(answer.status_code, headers_of(answer), answer.content)
                case Connect(request):
                    return self._connect(http_request(self._http, request, STREAM_TIMEOUT))
                case Read():
                    return next(self._chunks, b"")
                case Disconnect():
                    return self.disconnect()
                case Pause(seconds):
                    return self._stop.wait(seconds)
                case AwaitChange():
                    return self._await(effect)
        except Exception as problem:  # whatever a transport raises, the flow decides; it must not end a renewal
            raise TransportFailed(describe(problem)) from problem

    def _connect(self, request: httpx.Request) -> Response:
        self.disconnect()
        stream = self._http.send(request, stream=True)
        if stream.status_code != 200:
            try:
                content = stream.read()
            finally:
                stream.close()
            return Response(stream.status_code, headers_of(stream), content)
        self._stream, self._chunks = stream, stream.iter_raw()
        return Response(200, headers_of(stream), b"")

    def _await(self, effect: AwaitChange) -> bool:
        changed = threading.Event()
        unwatch = self._core.watch(changed.set)
        try:
            end = time.monotonic() + effect.timeout
            while not effect.until():
                left = end - time.monotonic()
                if left <= 0 or not changed.wait(left):
                    return effect.until()
                changed.clear()
            return True
        finally:
            unwatch()
