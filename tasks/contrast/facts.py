"""What one run did, reduced to what the contrast asks about: small enough to hold for 100,000 runs.

Nothing here looks at the outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from storage.ids import canonical_json
from tasks.contrast.predicate import SHAPE_ABSENT, SHAPE_EMPTY, USER, Predicate, agent_call
from tasks.ingest.episode import Episode, Step

LOOP_TOTAL = 3
"""So many identical calls in one run are a loop; two in a row, with no other call between, are one already."""

MOST_FAILURES, REACH = 50, 40
"""Failures kept of one run, and calls after each that may be what helped: a run of thousands must not be all pairs."""

VALUE_LENGTH = 40
ERROR_WORDS = 8

SCALARS = (str, bool, int)


@dataclass(frozen=True)
class Failure:
    """A call that came back with an error, and the calls made after it, each with its step."""

    step: str
    then: Mapping[str, str]


@dataclass(frozen=True)
class Facts:
    """Calls by key with (position, step id) of the first; loops, arguments and failures with the steps that show them.

    ``arguments`` maps (call, argument, value) to a step; values are JSON scalars as JSON text, or say what they are
    not; ``shapes`` maps (call, argument, shape of a text) to a step. ``calls`` is how many calls were made in all.
    """

    first: Mapping[str, tuple[int, str]]
    loops: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    arguments: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    shapes: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    failures: Mapping[tuple[str, str], Failure] = field(default_factory=dict)
    calls: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)


def read_facts(episode: Episode) -> Facts:
    """Facts of an episode. What was copied in from an earlier run is that run's, and does not count again."""
    steps = [step for step in episode.steps if not step.is_copied_context]
    calls = [step for step in steps if step.kind == "tool_call" and step.name]
    first: dict[str, tuple[int, str]] = {}
    arguments: dict[tuple[str, str, str], str] = {}
    shapes: dict[tuple[str, str, str], str] = {}
    for position, step in enumerate(calls):
        key = call_key(step)
        first.setdefault(key, (position, step.id))
        for argument, value in (step.arguments or {}).items():
            arguments.setdefault((key, argument, _value(value)), step.id)
            if isinstance(value, str) and (shape := shape_of(value)):
                shapes.setdefault((key, argument, shape), step.id)
    return Facts(
        first=first,
        loops=_loops(calls),
        arguments=arguments,
        shapes=shapes,
        failures=_failures(steps, calls),
        calls=len(calls),
        environment=dict(episode.environment),
    )


def call_key(step: Step) -> str:
    """The agent's call by its name; the user's own apart from it."""
    return f"{USER}{step.name}" if step.requestor == "user" else agent_call(str(step.name))


def error_signature(text: str) -> str:
    """An error message without what differs from run to run: its first words, in lower case, numbers and ids out."""
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    words = [word for word in re.split(r"[\s\"'`]+", first_line.casefold()) if word and not re.search(r"[\d/\\]", word)]
    return " ".join(words[:ERROR_WORDS])[:80]


def holds(predicate: Predicate, facts: Facts) -> bool | None:
    """Whether the predicate is true of a run; None where it does not speak of such a run."""
    parts, first = predicate.parts, facts.first
    match predicate.kind:
        case "call-present":
            return parts[0] in first
        case "missing-check":
            check, before = first.get(parts[0]), first.get(parts[1])
            return None if before is None else check is None or check[0] > before[0]
        case "order":
            one, two = first.get(parts[0]), first.get(parts[1])
            return None if one is None or two is None else one[0] < two[0]
        case "loop":
            return parts[0] in facts.loops
        case "recovery":
            failure = facts.failures.get((parts[0], parts[1]))
            return None if failure is None else parts[2] in failure.then
        case "argument":
            return None if parts[0] not in first else bool(_argument_step(parts, facts)) or _absent(parts, facts)
        case "environment":
            version = facts.environment.get(parts[0])
            return None if version is None else version == parts[1]
        case "length":
            return facts.calls > int(parts[0])


def steps_that_show(predicate: Predicate, facts: Facts) -> list[str]:
    """The step ids that carry the predicate in a run; empty where what it names is absent."""
    parts = predicate.parts
    match predicate.kind:
        case "loop":
            return list(facts.loops.get(parts[0], ()))
        case "argument":
            step = _argument_step(parts, facts)
            return [step] if step else _first_steps(parts[:1], facts)
        case "recovery":
            failure = facts.failures.get((parts[0], parts[1]))
            return (
                []
                if failure is None
                else [failure.step, *([failure.then[parts[2]]] if parts[2] in failure.then else [])]
            )
        case "environment" | "length":
            return []
        case _:
            return _first_steps(parts, facts)


def _first_steps(calls: Iterable[str], facts: Facts) -> list[str]:
    found = sorted(facts.first[call] for call in calls if call in facts.first)
    return [step for _, step in found]


def _argument_step(parts: tuple[str, ...], facts: Facts) -> str | None:
    key = (parts[0], parts[1], parts[2])
    return facts.arguments.get(key) or facts.shapes.get(key)


def _absent(parts: tuple[str, ...], facts: Facts) -> bool:
    """Whether the call was never made with the argument."""
    if parts[2] != SHAPE_ABSENT:
        return False
    return not any(call == parts[0] and argument == parts[1] for call, argument, _ in facts.arguments)


def _value(value: Any) -> str:
    if value is None or value in ("", [], {}):
        return SHAPE_EMPTY
    if isinstance(value, SCALARS) and len(text := canonical_json(value).decode()) <= VALUE_LENGTH:
        return text
    return "<other>"


def _kind(letter: str) -> str:
    if letter.isdigit():
        return "9"
    return letter if not letter.isalpha() else "A" if letter.isupper() else "a"


_ASCII_KINDS = {code: _kind(chr(code)) for code in range(128)}
_WORDS_ONLY = re.compile(r"[Aa\s]*")
_RUNS = re.compile(r"([9Aa])\1{4,}")


def shape_of(text: str) -> str:
    """How a short text is written: digits as 9, letters as a or A (of any script), marks as they are.

    "2026-05-01" is ``<9999-99-99>``. Of a run of more than four alike one is kept with an ellipsis. Empty for a text
    that is too long to have a form, or that is words and nothing else.
    """
    if not text or len(text) > VALUE_LENGTH:
        return ""
    kinds = text.translate(_ASCII_KINDS) if text.isascii() else "".join(map(_kind, text))
    if _WORDS_ONLY.fullmatch(kinds):
        return ""
    shortened = _RUNS.sub(r"\1…", kinds)
    return f"<{shortened}>"


def _loops(calls: list[Step]) -> dict[str, tuple[str, ...]]:
    """Calls made again with the same arguments: twice in a row, or ``LOOP_TOTAL`` times in all."""
    places: dict[tuple[str, bytes], list[int]] = {}
    for position, step in enumerate(calls):
        said = canonical_json(step.arguments if step.arguments is not None else step.raw_arguments)
        places.setdefault((call_key(step), said), []).append(position)
    loops: dict[str, tuple[str, ...]] = {}
    for (key, _), at in places.items():
        in_a_row = any(after - before == 1 for before, after in pairwise(at))
        if in_a_row or len(at) >= LOOP_TOTAL:
            loops.setdefault(key, tuple(calls[position].id for position in at))
    return loops


def _failures(steps: list[Step], calls: list[Step]) -> dict[tuple[str, str], Failure]:
    """First failure of each (call, error signature), with what was called soon after the error was seen."""
    by_id = {step.id: (position, step) for position, step in enumerate(calls)}
    failures: dict[tuple[str, str], Failure] = {}
    for step in steps:
        if step.kind != "observation" or not step.is_error or step.of not in by_id:
            continue
        position, failed = by_id[step.of]
        key = call_key(failed), error_signature(step.text)
        if key not in failures:
            failures[key] = Failure(step.id, _soon_after(calls, position))
            if len(failures) >= MOST_FAILURES:
                break
    return failures


def _soon_after(calls: list[Step], position: int) -> dict[str, str]:
    then: dict[str, str] = {}
    for later in islice(calls, position + 1, position + 1 + REACH):
        then.setdefault(call_key(later), later.id)
    return then
