"""What commands print: one JSON document or a table on standard output; everything else on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

DONE, FAILED, USAGE = 0, 1, 2

JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")]
NamespaceOption = Annotated[str, typer.Option("--namespace", "-n", help="Partition, such as acme/support.")]


@dataclass
class CommandFailed(Exception):
    """A command could not do its work: what happened to what, and what to do now."""

    what: str
    now: str = ""
    code: int = FAILED

    def __str__(self) -> str:
        return f"{self.what} {self.now}".strip()


def errors() -> Console:
    """Standard error, asked for anew each time so that a redirected one is found."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """A line for the person, on standard output."""
    Console(highlight=False, soft_wrap=True).print(text)


def note(text: str) -> None:
    """A line for the person that is no result, on standard error."""
    errors().print(text)


def print_json(value: Any) -> None:
    """The one document of a command with ``--json``."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=_plain).decode() + "\n")
    sys.stdout.flush()


def _plain(value: object) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str) -> None:
    """A table, or the sentence that says why there is none."""
    Console(highlight=False).print(table(title, columns, rows) or empty)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table | None:
    """A table with a heading over each column; None without a row."""
    made = Table(title=title, title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column == "id")
    for row in rows:
        made.add_row(*("" if cell is None else _text(cell) for cell in row))
    return made if made.row_count else None


def print_paragraphs(title: str, paragraphs: Sequence[Sequence[object]], empty: str) -> None:
    """Entries whose first line is for copying, such as a path: lines stay whole, a terminal folds what it must."""
    out = Console(highlight=False, soft_wrap=True)
    if not paragraphs:
        out.print(visible(empty), markup=False)
        return
    out.print(visible(title), markup=False, style="italic")
    for head, *rest in paragraphs:
        out.print(line(head), markup=False, style="bold")
        for each in filter(None, rest):
            out.print(f"    {line(each)}", markup=False)


def line(text: object) -> str:
    """Text of others in one line: it neither ends it nor does anything to a terminal."""
    return visible(str(text).replace("\n", "\\n"))


def place_of(file: str | None, number: int | None) -> str:
    """Where a record is, as editors take it."""
    return line(f"{file}:{number}" if file and number else file or "")


def counted(number: int, what: str, many: str = "") -> str:
    """``1 episode``, ``2 episodes``."""
    return f"{number} {what if number == 1 else many or f'{what}s'}"


def run_counts(run: Mapping[str, Any]) -> str:
    """What a run came to, in words: ``run`` holds the four counts."""
    return ", ".join(counted(run[f"{name}s"], name) for name in ("episode", "cluster", "test", "candidate"))


def _text(cell: object) -> Any:
    # Candidate text is hostile: never read as markup, control and direction characters shown as escapes.
    from rich.text import Text

    return Text(visible(str(cell)))


def when(at: datetime) -> str:
    """A time in UTC, to the second."""
    return at.astimezone(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")


def visible(text: str) -> str:
    """Text with everything unprintable written out, so that a terminal obeys none of it."""
    return "".join(char if char.isprintable() or char == "\n" else f"\\u{ord(char):04x}" for char in text)


def finish(code: int) -> None:
    """End with an exit code: 0 done, 1 done with something rejected or failed, 2 wrong usage."""
    if code:
        raise typer.Exit(code)
