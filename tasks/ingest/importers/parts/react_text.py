"""The ReAct way of writing a run down: ``Thought 1:``, ``Action 1:``, ``Observation 1:``, over and over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tasks.ingest.importers.parts.chat import StepWriter

END_OF_PREVIOUS = "(END PREVIOUS TRIAL)"
_LABEL = re.compile(r"(ActionPath|Thought|Action|Observation) ?(\d{0,6}): ?(.*)", re.S)
_CALL = re.compile(r"(\w+(?: \w+)*)\s*\[(.*)\]", re.S)
_VERDICT = re.compile(r"Answer is (CORRECT|INCORRECT)")


@dataclass
class _Part:
    label: str
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


@dataclass
class Told:
    """What a run's parts came to. ``verdict`` is the environment's on the answer, where it gave one."""

    parts: int = 0
    verdict: bool | None = None


def asked_and_done(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines up to the first label, and from it on. A trial that was shown again belongs to what was asked."""
    shown = [position for position, line in enumerate(lines) if line.strip() == END_OF_PREVIOUS]
    start = shown[-1] + 1 if shown else 0
    first = next((at for at in range(start, len(lines)) if _LABEL.match(lines[at])), len(lines))
    return lines[:first], lines[first:]


def write_steps(writer: StepWriter, lines: Iterable[str]) -> Told:
    """Add a step for every label; the first line must begin with one."""
    told = Told()
    last_call: str | None = None
    finished = False
    for part in _parts(lines):
        told.parts += 1
        text = part.text
        if part.label == "Action":
            last_call, finished = _act(writer, text)
        elif part.label == "Observation":
            _observe(writer, text, last_call, finished)
            verdict = _VERDICT.fullmatch(text) if finished else None
            told.verdict = told.verdict if verdict is None else verdict[1] == "CORRECT"
            last_call = None
        elif text:
            writer.add("plan", text=text if part.label == "Thought" else f"ActionPath: {text}")
    return told


def _parts(lines: Iterable[str]) -> Iterator[_Part]:
    """A label begins a part where its number follows; within an observation it may be a word of the page."""
    part: _Part | None = None
    number: int | None = None
    for line in lines:
        found = _LABEL.match(line)
        if found is not None and _follows(number, found[2], part is None):
            if part is not None:
                yield part
            number = int(found[2]) if found[2] else None
            part = _Part(found[1], [found[3]])
        elif part is not None:
            part.lines.append(line)
    if part is not None:
        yield part


def _follows(last: int | None, written: str, is_first: bool) -> bool:
    if is_first or not written:
        return is_first or last is None
    return last is not None and last <= int(written) <= last + 1


def _act(writer: StepWriter, text: str) -> tuple[str | None, bool]:
    """``Search[x]`` is a call; ``Finish[x]`` is the answer and ends the run."""
    found = _CALL.fullmatch(text)
    if found is not None and found[1].lower() == "finish":
        writer.add("answer", text=found[2])
        return None, True
    if found is not None:
        return writer.call(None, found[1], {"input": found[2]}), False
    words = text.split(maxsplit=1)
    return writer.call(None, words[0] if words else "", {"action": text}), False


def _observe(writer: StepWriter, text: str, call: str | None, finished: bool) -> None:
    source = "environment" if finished and call is None else "tool"
    writer.observation(None, text, of=call, source=source, is_error=text.lower().startswith("invalid action"))
