"""How far a long ingest has come: a bar on a terminal, else a plain line now and then. Standard error only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from tasks.ingest.reader import Missing, expand
from tasks.ingest.source import Source
from tasks.ingest.step import IngestReport
from worker.cli.output import errors, visible

LINE_SECONDS = 10.0
BAR_WIDTH = 16
MOST_SIZED = 100_000
"""Files whose sizes are added up before the start; of more, no whole is known."""


@dataclass(frozen=True)
class _Path:
    """A line that is cut in its middle."""

    text: str

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(shortened(self.text, options.max_width), style="dim", no_wrap=True)


class _Bars(Progress):
    """The bar with its figures, and below it a line each for the counts and for the file."""

    counts = ""
    now = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        yield Text(self.counts, no_wrap=True, overflow="ellipsis")
        yield _Path(self.now)


class IngestProgress:
    """Told of every source and every batch; shows files in bytes of how many, a stream by what came."""

    def __init__(
        self, paths: Sequence[str], *, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._clock = console or errors(), clock
        self._total = total_bytes(paths)
        self._read = 0
        self._source: Source | None = None
        self._report = IngestReport()
        self._start = self._said = clock()
        self._bars = _Bars(*self._columns(), console=self._console, transient=True, refresh_per_second=8)
        self._bar = self._bars.add_task("reading", total=self._total, speed="")

    def __enter__(self) -> IngestProgress:
        if self._console.is_terminal:
            self._bars.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._console.is_terminal:
            self._bars.stop()

    def opened(self, source: Source) -> None:
        """The next source; the one before counts whole."""
        if self._source is not None:
            self._read += self._source.position if self._source.tell is None else _size(Path(self._source.path))
        self._source = source
        self._show(f"now {visible(source.path)}")

    def batch(self, report: IngestReport, path: str) -> None:
        """One more batch is written."""
        self._report = report
        self._show(f"now {visible(path)}")

    def line(self) -> str:
        """All of it in one plain line."""
        done = self._done
        of = f" of {_megabytes(self._total)}" if self._total is not None else ""
        return f"{_megabytes(done)}{of} MB read, {self._counts()}, {self._speed()}"

    @property
    def _done(self) -> int:
        done = self._read + (self._source.position if self._source is not None else 0)
        return done if self._total is None else min(done, self._total)

    def _show(self, now: str) -> None:
        if self._console.is_terminal:
            self._bars.counts, self._bars.now = self._counts(), now
            self._bars.update(self._bar, completed=self._done, speed=self._speed())
        elif self._clock() - self._said >= LINE_SECONDS:
            self._said = self._clock()
            self._console.print(self.line(), markup=False)

    def _counts(self) -> str:
        report = self._report
        return (
            f"{report.accepted} taken, {report.duplicates} known, {report.revised} revised, "
            f"{len(report.rejected)} rejected"
        )

    def _speed(self) -> str:
        seconds = max(self._clock() - self._start, 1e-3)
        return f"{self._report.seen / seconds:.0f} records/s, {self._done / seconds / 1e6:.1f} MB/s"

    def _columns(self) -> tuple[ProgressColumn, ...]:
        whole = SpinnerColumn() if self._total is None else BarColumn(bar_width=BAR_WIDTH)
        return whole, DownloadColumn(), TextColumn("{task.fields[speed]}"), TimeElapsedColumn()


def shortened(text: str, width: int) -> str:
    """``text`` in ``width`` cells of a terminal, cut in the middle: where a path begins and the file's name stay."""
    if cell_len(text) <= width:
        return text
    head = max(width - 1, 0) // 3
    tail = max(width - 1 - head, 0)
    return f"{set_cell_size(text, head)}…{set_cell_size(text[::-1], tail)[::-1]}"


def total_bytes(paths: Sequence[str]) -> int | None:
    """Bytes on the disk of everything these paths name; None where that cannot be known."""
    if "-" in paths:
        return None
    total = 0
    for number, found in enumerate(expand(paths)):
        if number >= MOST_SIZED:
            return None
        total += 0 if isinstance(found, Missing) else _size(found)
    return total


def _size(path: Path) -> int:
    with suppress(OSError, ValueError):
        return path.stat().st_size
    return 0


def _megabytes(count: int | None) -> str:
    return f"{(count or 0) / 1e6:.1f}"
