"""What a moment of an invented script is: a point at which an agent may fall into a bad habit.

A moment owns its tools and its share of the record: ``<id>.done`` and ``<id>.spoilt`` of the record's row. Whether the
habit bites in an instance stands in the table ``quirks``, which no tool shows; ``reverse`` is set in exceptions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.engine.desk import Desk
from worlds.engine.habits import Choice
from worlds.engine.mind import Mind
from worlds.engine.state import Row, State
from worlds.engine.tool import Body, Tool, find
from worlds.engine.world import Facts

Act = Callable[[Desk, Mind, Facts, str], None]
Effect = Callable[[Row, Row, str, Mapping[str, Any]], Mapping[str, Any] | None]
"""``effect(row, quirk, release, arguments)`` changes the record's row; what it gives is added to the answer."""

POLLS = 3
"""So many looks in a row is what the habit of looking again comes to; where it is right, it takes as many."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a maker needs to know of its world.

    ``name`` styles the name of a tool, ``record`` is the name of the argument with the record's id. In
    ``forgiving`` releases the habit does no harm.
    """

    aspect: str
    record: str
    noun: str
    name: Callable[[str], str]
    forgiving: frozenset[str]


@dataclass(frozen=True, slots=True)
class Moment:
    """One decision of a script. ``side`` is a call that only the habit brings with it."""

    id: str
    choice: Choice
    tools: tuple[Tool, ...]
    act: Act
    why: str
    reversible: bool = True
    side: str | None = None


def names(place: Place, rng: random.Random, pool: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(place.name(part.format(n=place.aspect)) for part in rng.choice(pool))


def doing(place: Place, moment_id: str) -> Effect:
    """Taking the habit: done, and spoilt where it bites."""

    def effect(row: Row, quirk: Row, release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.done"] = True
        row[f"{moment_id}.spoilt"] = harms(quirk, release, place, habit=True)

    return effect


def bites(quirk: Row, release: str, place: Place) -> bool:
    return bool(quirk["bites"]) and release not in place.forgiving


def harms(quirk: Row, release: str, place: Place, *, habit: bool) -> bool:
    """Whether what the agent did is the wrong thing here: in an exception that is leaving the habit."""
    return habit != quirk["reverse"] and (bites(quirk, release, place) or bool(quirk["reverse"]))


def tool(name: str, place: Place, moment_id: str, effect: Effect, *, writes: bool = True) -> Tool:
    return Tool(name, body(place, moment_id, effect), writes=writes)


def body(place: Place, moment_id: str, effect: Effect) -> Body:
    def body(state: State, release: str, **given: Any) -> dict[str, Any]:
        row = find(state, "records", given[place.record], place.noun)
        more = effect(row, state["quirks"][moment_id], release, given)
        return {place.record: given[place.record], "ok": True, **(more or {})}

    return body
