"""Server-sent events, parsed from bytes as they come (WHATWG HTML, section 9.2)."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class ServerEvent:
    """One dispatched event."""

    kind: str
    data: str
    id: str


class EventParser:
    """Feed it bytes in any pieces; it gives the events that became complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._kind = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Events completed by ``chunk``."""
        self._pending += self._decoder.decode(chunk)
        # a carriage return at the end may be half of a CRLF: leave it for the next chunk
        held = "\r" if self._pending.endswith("\r") else ""
        text = self._pending[: len(self._pending) - len(held)].replace("\r\n", "\n").replace("\r", "\n")
        *lines, rest = text.split("\n")
        self._pending = rest + held
        for line in lines:
            event = self._line(line)
            if event is not None:
                yield event

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        return None

    def _dispatch(self) -> ServerEvent | None:
        kind, data = self._kind or "message", "\n".join(self._data)
        empty = not self._data
        self._kind, self._data = "", []
        return None if empty else ServerEvent(kind, data, self._id)
