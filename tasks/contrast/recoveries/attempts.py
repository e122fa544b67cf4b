"""What an episode tries again: each failure of a command, the retries that followed, and what was done in between.

A retry is a later call of the same command on the same thing, or on everything. A chain ends with the retry that
worked, with one that failed in another way, or with the episode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tasks.contrast.predicate import AGAIN
from tasks.contrast.recoveries.calls import is_shell, script_of
from tasks.contrast.recoveries.results import Result, result_of
from tasks.contrast.recoveries.shell import Act, Script, matters
from tasks.contrast.recoveries.signature import signature
from tasks.ingest.episode import Step

MOST_CHAINS, MOST_OPEN, MOST_RETRIES, MOST_ACTS = 60, 20, 3, 40
READER_VERSION = 1
"""Raise it when an episode is to be read otherwise: what earlier nights kept is then read anew."""


@dataclass(frozen=True)
class Done:
    """One act before a retry, or in how it was made: name over sessions, name in full (None: none), its step."""

    key: str
    fine: str | None
    step: str


@dataclass(frozen=True)
class Retry:
    """One retry. ``acts`` were done since the failure or the retry before; none of them is known to have failed."""

    worked: bool
    step: str
    acts: tuple[Done, ...]


@dataclass(frozen=True)
class Chain:
    """One failure and its retries, in order. ``step`` shows the failure."""

    command: str
    broad: str
    narrow: str
    step: str
    retries: tuple[Retry, ...]


@dataclass(eq=False)
class _Open:
    """A failure that waits for its retry."""

    act: Act
    broad: str
    narrow: str
    step: str
    acts: list[Done]
    retries: list[Retry]

    def chain(self) -> Chain:
        return Chain(self.act.key, self.broad, self.narrow, self.step, tuple(self.retries))


@dataclass(frozen=True)
class _Call:
    step: str
    script: Script
    result: Result | None
    said: str
    said_at: str
    exit_code: int | None


def read_chains(steps: Iterable[Step]) -> list[Chain]:
    """Every failure of an episode that was retried. What was copied in from another run is that run's."""
    waiting: list[_Open] = []
    closed: list[Chain] = []
    for call in _calls([step for step in steps if not step.is_copied_context]):
        closed += _follow(call, waiting)
        if len(closed) >= MOST_CHAINS:
            break
    closed += [one.chain() for one in waiting if one.retries]
    return closed[:MOST_CHAINS]


def _calls(steps: Sequence[Step]) -> Iterable[_Call]:
    answers: dict[str, Step] = {}
    for step in steps:
        if step.kind == "observation" and step.of:
            answers.setdefault(step.of, step)
    for step in steps:
        if step.kind != "tool_call" or not step.name or step.requestor == "user":
            continue
        script, answer = script_of(step), answers.get(step.id)
        if not script.acts:
            continue
        if answer is None:
            yield _Call(step.id, script, None, "", step.id, None)
            continue
        result = result_of(answer.exit_code, answer.is_error, answer.text, script if is_shell(step) else None)
        yield _Call(step.id, script, result, answer.text, answer.id, answer.exit_code)


def _follow(call: _Call, waiting: list[_Open]) -> list[Chain]:
    """Take one call into the open failures; returns the chains that it closed."""
    *before, subject = call.script.acts
    for act in before:
        if act.key != subject.key:
            _note(act, call.step, waiting)
    if not matters(subject):
        _note(subject, call.step, waiting)
        return []
    again = next((one for one in waiting if one.act.key == subject.key and _same_thing(one.act, subject)), None)
    closed = [] if again is None else _retry(call, subject, again, waiting)
    if call.result == "failed":
        if call.script.alone and (again is None or again not in waiting):
            _open(call, subject, waiting)
    elif again is None or call.result == "worked":
        _note(subject, call.step, waiting)
    return closed


def _open(call: _Call, subject: Act, waiting: list[_Open]) -> None:
    said = signature(call.said, call.exit_code)
    waiting.append(_Open(subject, said.broad, said.narrow, call.said_at, [], []))
    if len(waiting) > MOST_OPEN:
        waiting.pop(0)


def _note(act: Act, step: str, waiting: Iterable[_Open]) -> None:
    for one in waiting:
        # The failed command on another thing is an act of its own only by its full name.
        key = act.fine if act.key == one.act.key else act.key
        if key is not None and len(one.acts) < MOST_ACTS:
            one.acts.append(Done(key, act.fine if act.fine != key else None, step))


def _same_thing(failed: Act, again: Act) -> bool:
    return not failed.targets or not again.targets or bool(failed.targets & again.targets)


def _retry(call: _Call, subject: Act, one: _Open, waiting: list[_Open]) -> list[Chain]:
    """A retry of an open failure; one whose result nobody knows ends the chain, for what came of it is unknown."""
    if call.result is None:
        waiting.remove(one)
        return [one.chain()] if one.retries else []
    acts = (*_distinct(one.acts), *_changes(one.act, subject, call.step))
    one.retries.append(Retry(call.result == "worked", call.step, acts))
    one.acts.clear()
    if call.result == "failed" and call.script.alone:
        said = signature(call.said, call.exit_code)
        same = said.narrow == one.narrow or said.broad == one.broad
    else:
        same = call.result == "failed"
    if not same or len(one.retries) >= MOST_RETRIES:
        waiting.remove(one)
        return [one.chain()]
    return []


def _distinct(acts: Iterable[Done]) -> list[Done]:
    seen: dict[tuple[str, str | None], Done] = {}
    for act in acts:
        seen.setdefault((act.key, act.fine), act)
    return list(seen.values())


def _changes(failed: Act, again: Act, step: str) -> list[Done]:
    """How the retry was made otherwise than the call that failed: each new option, variable or prefix."""
    return [Done(AGAIN + _marked(again.key, mark), None, step) for mark in sorted(again.marks - failed.marks)]


def _marked(key: str, mark: str) -> str:
    return f"{key} {mark}" if mark.startswith("-") else f"{mark} {key}"
