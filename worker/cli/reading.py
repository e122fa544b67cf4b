"""What ``show`` prints for people: a candidate, a rule or a run as a page to read, and what to type next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
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
        _heading(shown["when_to_use"], f"{shown['state']} · {shown['tier']} · {shown['namespace']}"),
        _steps(shown["guidance"]),
        _section("Why", [packet.get("summary") or "no sentence was written", shown["tier_why"]]),
        _section("Where successes do the opposite", [", ".join(map(str, packet.get("exceptions") or []))]),
        _section("Speaks against it", [(packet.get("counter_example") or {}).get("why")]),
        _rows("Checks", [(_verdict(each["verdict"]), each["name"], each["detail"]) for each in shown["checks"]]),
        _rows("Conflicts", [(each.get("kind"), each.get("with"), each.get("detail")) for each in shown["conflicts"]]),
        _rows("Decisions", [_decision(each) for each in shown["decisions"]]),
        _rows("", [("candidate", shown["id"]), ("content hash", shown["content_hash"])]),
    ]
    approve = f"slowwave approve {shown['id']} --hash {shown['content_hash']} --reason …"
    return Page(_body(parts), approve if shown["state"] in DECIDABLE else None)


def rule_page(shown: Mapping[str, Any]) -> Page:
    """A rule as agents read it, and its history."""
    history = [
        (f"version {each['version']}", each["state"], each["promoted_at"][:10], each["state_reason"])
        for each in shown["versions"]
    ]
    parts: list[RenderableType | None] = [
        _heading(shown["when_to_use"], f"{shown['state']} · version {shown['version']} · {shown['namespace']}"),
        _steps(shown["guidance"]),
        _section("Last recheck", [f"{look['verdict']}: {look['words']}" if (look := shown["recheck"]) else None]),
        _rows("History", history),
        _rows("", [("rule", shown["id"])]),
    ]
    return Page(_body(parts), f"slowwave revoke {shown['id']} --reason …" if shown["state"] == "active" else None)


def run_page(shown: Mapping[str, Any]) -> Page:
    """A run with its steps, and what went wrong in it."""
    steps = [
        (each["stage"], each["shard"], each["state"], f"attempt {each['attempts']}", each["error"])
        for each in shown["steps"]
    ]
    counts = ", ".join(f"{shown[name]} {name}" for name in ("episodes", "clusters", "tests", "candidates"))
    heading = _heading(f"{shown['kind']} {shown['night']} of {shown['namespace']}", f"{shown['state']} · {counts}")
    return Page(_body([heading, _rows("Steps", steps), _rows("", [("run", shown["run_id"])])]))


def _body(parts: Iterable[RenderableType | None]) -> RenderableType:
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts if part is not None))


def _heading(title: object, below: str) -> RenderableType:
    return Group(_plain(title, "bold"), _plain(below, "dim"))


def _steps(guidance: Sequence[object]) -> RenderableType:
    return _grid([(f"{number}.", line) for number, line in enumerate(guidance, 1)])


def _section(title: str, lines: Iterable[object]) -> RenderableType | None:
    said = [Padding(_plain(line), (0, 0, 0, 2)) for line in lines if line]
    return Group(_plain(title, "bold"), *said) if said else None


def _rows(title: str, rows: Sequence[Sequence[object]]) -> RenderableType | None:
    if not rows:
        return None
    return Group(_plain(title, "bold"), _grid(rows)) if title else _grid(rows)


def _grid(rows: Iterable[Sequence[object]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for cells in rows:
        # Ids and hashes are for copying: folded where the terminal is narrow, never cut.
        grid.add_row("", *(cell if isinstance(cell, Text) else _plain(cell) for cell in cells))
    for column in grid.columns:
        column.overflow = "fold"
    return grid


def _verdict(verdict: str) -> Text:
    return _plain(verdict, VERDICT_STYLES.get(verdict, ""))


def _decision(made: Mapping[str, Any]) -> tuple[object, ...]:
    return made["verdict"], made["by"], made["reason"], f"void: {made['voided']}" if made["voided"] else ""


def _plain(value: object, style: str = "") -> Text:
    """Text of others is hostile: no markup is read in it, and what does not print is written out."""
    return Text("" if value is None else visible(str(value)), style=style)
