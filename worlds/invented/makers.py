"""Every kind of moment by its name, and what a habit may bring with it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from worlds.engine.desk import Desk
from worlds.engine.mind import Mind
from worlds.engine.tool import Tool
from worlds.engine.world import Facts
from worlds.invented.acts import forgotten, out_of_order, rival, unchecked
from worlds.invented.manner import left_out, looking_again, outdated, plain, stubborn, wrong_value
from worlds.invented.moments import Moment, Place, body

MAKERS: Mapping[str, Callable[[Place, random.Random], Moment]] = {
    "call-present": rival,
    "forgotten": forgotten,
    "missing-check": unchecked,
    "order": out_of_order,
    "loop": looking_again,
    "argument": wrong_value,
    "absent": left_out,
    "recovery": stubborn,
    "environment": outdated,
    "plain": plain,
}
SIDES: Mapping[str, float] = {"call-present": 0.4}
"""How often a habit of this kind brings another call with it."""


def make(kind: str, place: Place, rng: random.Random) -> Moment:
    """A moment of this kind.

    Raises:
        KeyError: no such kind.
    """
    moment = MAKERS[kind](place, rng)
    return _with_side(moment, place) if kind in SIDES and rng.random() < SIDES[kind] else moment


def _with_side(moment: Moment, place: Place) -> Moment:
    """The habit brings one more call with it: tidying up after what was done. It changes nothing."""
    side = place.name(f"log_{place.aspect}_change")

    def act(desk: Desk, mind: Mind, facts: Facts, record: str) -> None:
        before = len(desk.steps)
        moment.act(desk, mind, facts, record)
        if _took(moment, desk.steps[before:]):
            desk.call(side, **{place.record: record})

    tools = (*moment.tools, Tool(side, body(place, moment.id, lambda *_: {"logged": True}), writes=True))
    return replace(moment, tools=tools, act=act, side=side)


def _took(moment: Moment, steps: Sequence[Mapping[str, Any]]) -> bool:
    called = {step["name"] for step in steps if step["kind"] == "tool_call"}
    return any(p["kind"] == "call-present" and p["call"] in called for p in moment.choice.taken)
