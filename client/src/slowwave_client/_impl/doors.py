"""One flow, two doors: ``blocking`` and ``awaitable`` make a method of a flow, with its signature and its words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from slowwave_client._impl.effects import Flow

C = TypeVar("C")
P = ParamSpec("P")
R = TypeVar("R")


class Blocking(Generic[C]):
    """Something with a core, whose flows are run on the calling thread."""

    _core: C

    def _run(self, flow: Flow[R]) -> R:
        raise NotImplementedError


class Awaitable(Generic[C]):
    """Something with a core, whose flows are awaited."""

    _core: C

    async def _run(self, flow: Flow[R]) -> R:
        raise NotImplementedError


def blocking(flow: Callable[Concatenate[C, P], Flow[R]]) -> Callable[Concatenate[Blocking[C], P], R]:
    """The flow as a plain method."""

    @functools.wraps(flow)
    def method(self: Blocking[C], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(flow(self._core, *args, **kwargs))

    return method


def awaitable(
    flow: Callable[Concatenate[C, P], Flow[R]],
) -> Callable[Concatenate[Awaitable[C], P], Coroutine[Any, Any, R]]:
    """The flow as a coroutine method."""

    @functools.wraps(flow)
    async def method(self: Awaitable[C], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._run(flow(self._core, *args, **kwargs))

    return method
