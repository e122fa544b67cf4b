"""What a flow may ask its driver to do. Flows are generators: they yield an effect and are sent its result.

A driver that cannot complete an effect throws ``TransportFailed`` into the flow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

R = TypeVar("R")


@dataclass(frozen=True)
class Request:
    """One HTTP request; ``path`` is relative to the server's address."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)  # a token may be among them


@dataclass(frozen=True)
class Response:
    """One HTTP answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def json(self) -> Any:
        """The decoded body. Raises ValueError when it is not JSON."""
        return json.loads(self.content)


@dataclass(frozen=True)
class Call:
    """Send a request, get a ``Response``."""

    request: Request


@dataclass(frozen=True)
class Connect:
    """Open a stream; the result is a ``Response`` whose body is empty while the status is 200."""

    request: Request


@dataclass(frozen=True)
class Read:
    """The next bytes of the open stream; empty at its end."""


@dataclass(frozen=True)
class Disconnect:
    """Close the stream, if one is open."""


@dataclass(frozen=True)
class Pause:
    """Wait so many seconds, less if the client closes."""

    seconds: float


@dataclass(frozen=True)
class AwaitChange:
    """Wait until the predicate over the client's state holds; the result says whether it did in time."""

    until: Callable[[], bool]
    timeout: float


Effect = Call | Connect | Read | Disconnect | Pause | AwaitChange
Flow = Generator[Effect, Any, R]
