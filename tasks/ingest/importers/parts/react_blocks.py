"""A ReAct log cut into its runs, one in memory at a time.

The log says ``BEGIN TRIAL n``, then for each group of runs ``--- BEGIN CORRECT AGENTS ---`` (or ``INCORRECT``,
``HALTED``), then the runs: ``Question:`` and what followed, closed by ``Correct answer:``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tasks.ingest.importers.parts.react_text import END_OF_PREVIOUS
from tasks.ingest.jsontext import decode
from tasks.ingest.source import Line

TRIAL = re.compile(r"BEGIN TRIAL (\d{1,9})\s*")
SECTION = re.compile(r"-{3,} ?BEGIN (\w+) AGENTS ?-{3,}\s*")
_RULE = re.compile(r"#{10,}\s*")
_SUMMARY = re.compile(r"Trial summary:")
QUESTION = "Question:"
KEY = "Correct answer:"
# How the prompt of a run begins where the log shows it before the question.
_OPENINGS = ("You have attempted to answer", "The following reflection(s)", "Solve a question answering task")
_PREVIOUS = "the last trial you attempted"


@dataclass
class Block:
    """One run as its lines. ``before`` stood ahead of the question, ``after`` from the correct answer on."""

    line: int
    trial: int | None = None
    section: str | None = None
    before: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([*self.before, *self.body, *self.after]).strip()


@dataclass
class Stray:
    """Text that belongs to no run."""

    line: int
    text: str


class _Cutter:
    def __init__(self) -> None:
        self.trial: int | None = None
        self.section: str | None = None
        self.run: Block | None = None
        self.before: list[str] = []
        self.before_at = 0
        self.after_blank = True

    def take(self, line: Line) -> Iterator[Block | Stray]:
        text = decode(line.data).rstrip("\r\n")
        if (found := TRIAL.fullmatch(text)) or (section := SECTION.fullmatch(text)) or _RULE.fullmatch(text):
            yield from self.close()
            if found:
                self.trial, self.section = int(found[1]), None
            elif not _RULE.fullmatch(text):
                self.section = section[1] if section else None
        elif text.startswith(QUESTION) and self._may_begin():
            yield from self._end_run()
            self.run = Block(line.number, self.trial, self.section, self.before, [text])
            self.before = []
        elif self.run is not None:
            yield from self._within(text, line)
        elif (text.strip() and not _SUMMARY.match(text)) or self.before:
            self._ahead(text, line)
        self.after_blank = not text.strip()

    def close(self) -> Iterator[Block | Stray]:
        """The run that was open; and text that waited for a question and got none."""
        yield from self._end_run()
        if any(each.strip() for each in self.before):
            yield Stray(self.before_at, "\n".join(self.before))
        self.before = []

    def _may_begin(self) -> bool:
        """Within a run a line of a page may say ``Question:`` too: a run follows a blank line, or the last's end."""
        if self.run is not None:
            return bool(self.run.after) or self.after_blank
        shown = "\n".join(self.before)
        return _PREVIOUS not in shown or END_OF_PREVIOUS in shown

    def _within(self, text: str, line: Line) -> Iterator[Block | Stray]:
        assert self.run is not None
        if self.run.after and text.startswith(_OPENINGS):
            yield from self._end_run()
            self._ahead(text, line)
        elif self.run.after or text.startswith(KEY):
            self.run.after.append(text)
        else:
            self.run.body.append(text)

    def _ahead(self, text: str, line: Line) -> None:
        self.before_at = self.before_at if self.before else line.number
        self.before.append(text)

    def _end_run(self) -> Iterator[Block | Stray]:
        if self.run is not None:
            yield self.run
        self.run = None


def blocks(lines: Iterable[Line]) -> Iterator[Block | Stray | Line]:
    """Every run of the log, every piece that is in none, and every line that was too long to hold."""
    cutter = _Cutter()
    for line in lines:
        if line.fault is not None:
            if cutter.run is not None:
                cutter.run.faults.append(f"line {line.number}: {line.fault}")
            yield line
        else:
            yield from cutter.take(line)
    yield from cutter.close()
