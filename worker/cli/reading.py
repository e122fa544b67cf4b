"""What ``show`` prints for people: a candidate or a rule as a page to read, and what to type next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from worker.cli.output import visible

VERDICT_STYLES = {"pass": "green", "warn": "yellow", "fail": "bold red"}
DECIDABLE = ("staged", "approved")


@dataclass(frozen=True)
class Page:
    """What to read, and the command that may follow: one line however narrow the terminal, for it is copied."""

    body: RenderableType
    command: str | None = None


def candidate_page(shown: Mapping[str, Any]) -> Page:
    """A candidate with the sentence and figures behind it, its checks, and the command that approves just this text."""
    packet = shown["packet"]
    parts: list[RenderableType | None] = [
        heading(shown["when_to_use"], f"{shown['state']} · {shown['tier']} · {shown['namespace']}"),
        _steps(shown["guidance"]),
        _section("Why", [packet.get("summary") or "no sentence was written", shown["tier_why"]]),
        _section("Where successes do the opposite", [", ".join(map(str, packet.get("exceptions") or []))]),
        _section("Speaks against it", [(packet.get("counter_example") or {}).get("why")]),
        rows("Checks", [(_verdict(each["verdict"]), each["name"], each["detail"]) for each in shown["checks"]]),
        rows("Conflicts", [(each.get("kind"), each.get("with"), each.get("detail")) for each in shown["conflicts"]]),
        rows("Decisions", [_decision(each) for each in shown["decisions"]]),
        rows("", [("candidate", shown["id"]), ("content hash", shown["content_hash"])]),
    ]
    approve = f"slowwave approve {shown['id']} --hash {shown['content_hash']} --reason …"
    return Page(body(parts), approve if shown["state"] in DECIDABLE else None)


def rule_page(shown: Mapping[str, Any]) -> Page:
    """A rule as agents read it, and its history."""
    history = [
        (f"version {each['version']}", each["state"], each["promoted_at"][:10], each["state_reason"])
        for each in shown["versions"]
    ]
    parts: list[RenderableType | None] = [
        heading(shown["when_to_use"], f"{shown['state']} · version {shown['version']} · {shown['namespace']}"),
        _steps(shown["guidance"]),
        _section("Last recheck", [f"{look['verdict']}: {look['words']}" if (look := shown["recheck"]) else None]),
        rows("History", history),
        rows("", [("rule", shown["id"])]),
    ]
    return Page(body(parts), f"slowwave revoke {shown['id']} --reason …" if shown["state"] == "active" else None)


def print_page(page: Page) -> None:
    """Print it on standard output."""
    console = Console(highlight=False)
    console.print(page.body)
    if page.command is not None:
        console.print(Text(page.command, style="cyan"), soft_wrap=True)


def body(parts: Iterable[RenderableType | None]) -> RenderableType:
    """The parts that there are, an empty line after each."""
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts if part is not None))


def heading(title: object, below: str) -> RenderableType:
    """A page's first two lines."""
    return Group(plain(title, "bold"), plain(below, "dim"))


def _steps(guidance: Sequence[object]) -> RenderableType:
    return _grid([(f"{number}.", line) for number, line in enumerate(guidance, 1)])


def _section(title: str, lines: Iterable[object]) -> RenderableType | None:
    said = [Padding(plain(line), (0, 0, 0, 2)) for line in lines if line]
    return Group(plain(title, "bold"), *said) if said else None


def rows(title: str, cells: Sequence[Sequence[object]]) -> RenderableType | None:
    """Rows below a title, without headings; None without a row."""
    if not cells:
        return None
    return Group(plain(title, "bold"), _grid(cells)) if title else _grid(cells)


def _grid(rows: Iterable[Sequence[object]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for cells in rows:
        # Ids and hashes are for copying: folded where the terminal is narrow, never cut.
        grid.add_row("", *(cell if isinstance(cell, Text) else plain(cell) for cell in cells))
    for column in grid.columns:
        column.overflow = "fold"
    return grid


def _verdict(verdict: str) -> Text:
    return plain(verdict, VERDICT_STYLES.get(verdict, ""))


def _decision(made: Mapping[str, Any]) -> tuple[object, ...]:
    return made["verdict"], made["by"], made["reason"], f"void: {made['voided']}" if made["voided"] else ""


def plain(value: object, style: str = "") -> Text:
    """Text of others is hostile: no markup is read in it, and what does not print is written out."""
    return Text("" if value is None else visible(str(value)), style=style)
