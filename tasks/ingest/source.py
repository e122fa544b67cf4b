"""One thing to read episodes from: an open binary stream, looked at once, read once.

A source is lines (each a JSON value), a document (one JSON value), or text (neither). The shape is found from the
content. Lines are streamed; a document is held whole, up to a limit.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Literal, Protocol

from tasks.ingest.jsontext import BOM, JsonFault, Parsed, TooMuch, decode, item_line, parse, salvage

PEEKED_LINES = 20
HEAD_CHARS = 4096
CHUNK = 1 << 20


class SourceBroken(Exception):
    """The stream cannot be read to its end; says why. What came before it counts.

    ``may_pass`` marks what another try may not meet: a permission, a network folder that is away.
    """

    def __init__(self, reason: str, line: int | None = None, *, may_pass: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.may_pass = may_pass


@dataclass(frozen=True)
class Limits:
    """Bounds on what one source may cost, in bytes after decompression."""

    total: int = 4 * 2**30
    document: int = 512 * 2**20
    line: int = 64 * 2**20


@dataclass(frozen=True)
class Line:
    """A line and its number, from 1. ``fault`` is set where it was too long to hold."""

    number: int
    data: bytes
    fault: str | None = None


@dataclass(frozen=True)
class Record:
    """A JSON value with its place, or the reason why there is none."""

    line: int | None
    value: Any = None
    dirty: bool = False
    fault: str | None = None
    data: bytes | None = None


@dataclass(frozen=True)
class Sample:
    """What detection sees: the first values, the first characters, and the file name as a tie-break only."""

    shape: Literal["lines", "document", "text", "empty"]
    records: list[Any]
    head: str
    name: str


class Neighbours(Protocol):
    """The files around a source's own. Names are relative to its folder; nothing above its parent's parent is seen."""

    def matching(self, pattern: str) -> list[str]:
        """Names that match a glob pattern, sorted; its own is not among them."""

    def open(self, name: str) -> BinaryIO | None:
        """A neighbour's bytes, or None where there is no such regular file, or it cannot be read."""


@dataclass
class Source:
    """See the module. ``scope`` is what source ids are unique within; ``path`` is what messages call it.

    ``neighbours`` is None for a stream that has none, such as a request's body. ``tell`` says how far into the file
    the reading is, in bytes of the disk; None for a stream.
    """

    stream: BinaryIO
    name: str
    path: str
    scope: str
    limits: Limits = field(default_factory=Limits)
    neighbours: Neighbours | None = None
    tell: Callable[[], int] | None = None

    def __post_init__(self) -> None:
        self._ahead: deque[Line] = deque()
        self._document: Parsed | None = None
        self._data: bytes | None = None
        self._fault: JsonFault | None = None
        self._sample: Sample | None = None
        self._number = 0
        self._read = 0
        self._broken: SourceBroken | None = None

    def sample(self) -> Sample:
        """Look at the beginning. May be called again; costs nothing then."""
        if self._sample is None:
            self._sample = self._look()
        return self._sample

    def hold(self, lines: list[Line]) -> None:
        """Make it a source of these lines of another one, whose shape was looked at there."""
        self._ahead.extend(lines)
        self._sample = Sample("lines", [], "", self.name)

    def records(self) -> Iterator[Record]:
        """Every JSON value: one a line, or the one document.

        Raises:
            SourceBroken: after the last whole value, where the stream breaks off.
        """
        if self.sample().shape == "document":
            assert self._document is not None
            yield Record(1, self._document.value, self._document.dirty)
            if self._fault is not None:
                yield Record(self._fault.line, fault=self._fault.reason)
        else:
            yield from (_as_record(line) for line in self.lines() if line.fault or line.data.strip(b" \t\r\n\x00"))
        if self._broken is not None:
            raise self._broken

    def beside(self, pattern: str) -> list[str]:
        """Names of files around this one that match a glob pattern relative to its folder (``agent-*.jsonl``)."""
        return self.neighbours.matching(pattern) if self.neighbours is not None else []

    def near(self, name: str) -> Source | None:
        """A file around this one, by its name relative to this one's folder (``../result.json``); None if absent."""
        stream = self.neighbours.open(name) if self.neighbours is not None else None
        if stream is None:
            return None
        base = name.rsplit("/", 1)[-1]
        near = Source(stream, base, f"{self.path} → {name}", f"{self.scope}/{name}", self.limits)
        near.keep_at_most(self.limits.document)
        return near

    def keep_at_most(self, size: int) -> None:
        """Break off after so many bytes: for whoever keeps all of what is read, line by line or not."""
        self.limits = replace(self.limits, total=min(self.limits.total, size))

    def line_of(self, index: int, key: str | None = None) -> int | None:
        """The line where item ``index`` of the document's list (or of the list under ``key``) begins."""
        return item_line(decode(self._data), index, key) if self._data is not None else None

    def lines(self) -> Iterator[Line]:
        """Every line. A stream that breaks off ends the lines; ``records`` says so at its end."""
        while self._ahead:
            yield self._ahead.popleft()
        yield from self._stream_lines()

    def _look(self) -> Sample:
        peeked = self._peek()
        filled = [line for line in peeked if line.data.strip() or line.fault]
        if not filled:
            self._ahead.extend(peeked)
            return Sample("empty", [], "", self.name)
        records = [_as_record(line) for line in filled]
        values = [record.value for record in records if record.fault is None]
        first_is_whole = records[0].fault is None
        objects = sum(isinstance(value, dict) for value in values)
        is_long = len(filled[0].data) > self.limits.line
        if len(filled) == 1 and first_is_whole and (is_long or isinstance(values[0], list)):
            return self._look_at_document(peeked)
        if (first_is_whole and isinstance(values[0], dict | list)) or objects >= 2:
            self._ahead.extend(map(self._bounded, peeked))
            return Sample("lines", values, self._head(peeked), self.name)
        return self._look_at_document(peeked)

    def _peek(self) -> list[Line]:
        """The first lines, and one more after a long one: a document may stand on a line, however long."""
        peeked: list[Line] = []
        held = 0
        while len(peeked) < PEEKED_LINES and (held <= self.limits.line or len(peeked) == 1):
            line = self._next_line(self.limits.document)
            if line is None:
                break
            peeked.append(line)
            held += len(line.data)
        return peeked

    def _bounded(self, line: Line) -> Line:
        return line if len(line.data) <= self.limits.line else Line(line.number, b"", self._too_long)

    @property
    def _too_long(self) -> str:
        return f"a line of more than {self.limits.line:,} bytes"

    def _look_at_document(self, peeked: list[Line]) -> Sample:
        """The whole stream as one document; where it is none, what can be salvaged; else lines or text."""
        data = b"".join([*(line.data for line in peeked), *self._drain()])
        if len(data) > self.limits.document:
            self._broken = SourceBroken(f"one document of more than {self.limits.document:,} bytes: split it")
            return Sample("text", [], self._head(peeked), self.name)
        try:
            self._document = parse(data)
        except TooMuch as fault:
            self._broken = SourceBroken(f"one document of {fault.reason}")
            return Sample("text", [], self._head(peeked), self.name)
        except JsonFault as fault:
            return self._look_at_broken(data, fault)
        self._data = data
        return Sample("document", [self._document.value], self._head(peeked), self.name)

    def _drain(self) -> Iterator[bytes]:
        """What is left of the stream in large pieces, up to a document's limit."""
        left = self.limits.document + 1
        while left > 0 and (data := self._pull(lambda: self.stream.read(CHUNK))):
            left -= len(data)
            yield data

    def _look_at_broken(self, data: bytes, fault: JsonFault) -> Sample:
        text = decode(data)
        held = [Line(number, piece) for number, piece in enumerate(data.splitlines(keepends=True), 1)]
        values = [record.value for record in map(_as_record, held) if isinstance(record.value, dict)]
        saved = None if values else salvage(text)
        if saved is not None:
            self._document, self._fault, self._data = Parsed(saved.value, dirty=True), saved.fault, data
            return Sample("document", [saved.value], text[:HEAD_CHARS], self.name)
        self._ahead.extend(held)
        self._fault = fault
        return Sample("lines" if values else "text", values[:PEEKED_LINES], text[:HEAD_CHARS], self.name)

    @property
    def taken(self) -> int:
        """How many bytes were read, after decompression."""
        return self._read

    @property
    def position(self) -> int:
        """How many bytes were read: of the file, or of the stream."""
        try:
            return self.tell() if self.tell is not None else self._read
        except (OSError, ValueError):
            return self._read

    @property
    def size(self) -> int:
        """Bytes of the file on disk; 0 where there is none."""
        try:
            return os.fstat(self.stream.fileno()).st_size
        except (AttributeError, OSError, ValueError):
            return 0

    @property
    def fault(self) -> str | None:
        """Why the whole is not JSON, where a document was tried."""
        return None if self._fault is None else f"line {self._fault.line}: {self._fault.reason}"

    @property
    def broken(self) -> SourceBroken | None:
        """Why the stream could not be read to its end, once that is known."""
        return self._broken

    def _head(self, lines: list[Line]) -> str:
        return decode(b"".join(line.data for line in lines)[: HEAD_CHARS * 4])[:HEAD_CHARS]

    def _stream_lines(self) -> Iterator[Line]:
        while (line := self._next_line(self.limits.line)) is not None:
            yield line

    def _next_line(self, most: int) -> Line | None:
        def read() -> bytes:
            return self.stream.readline(most + 1)

        data = self._pull(read)
        if not data:
            return None
        self._number += 1
        if self._number == 1:
            data = data.removeprefix(BOM)
        if len(data) <= most or data.endswith(b"\n"):
            return Line(self._number, data)
        while data and not data.endswith(b"\n"):
            data = self._pull(read)
        return Line(self._number, b"", f"a line of more than {most:,} bytes")

    def _pull(self, read: Callable[[], bytes]) -> bytes:
        """What ``read`` gives; empty at the end or where the stream breaks."""
        if self._broken is not None:
            return b""
        try:
            data = read()
        except (OSError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            self._broken = SourceBroken(why_unreadable(error), self._number + 1, may_pass=may_pass(error))
            return b""
        self._read += len(data)
        if self._read > self.limits.total:
            self._broken = SourceBroken(f"more than {self.limits.total:,} bytes: split it", self._number + 1)
            return b""
        return data


def may_pass(error: Exception) -> bool:
    """Whether the error lies with the reading rather than with what is read."""
    return isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile)


def why_unreadable(error: Exception) -> str:
    """An error of the stream in words."""
    if isinstance(error, EOFError):
        return "the compressed data ends early (a truncated .gz); what came before was kept"
    if isinstance(error, zlib.error | gzip.BadGzipFile):
        return "the compressed data is damaged (not gzip, or changed); what came before was kept"
    return f"cannot be read: {error.strerror if isinstance(error, OSError) and error.strerror else error}"


def _as_record(line: Line) -> Record:
    if line.fault:
        return Record(line.number, fault=line.fault)
    try:
        parsed = parse(line.data)
    except JsonFault as fault:
        return Record(line.number, fault=fault.reason, data=line.data)
    return Record(line.number, parsed.value, parsed.dirty)
