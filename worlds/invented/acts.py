"""Moments about which calls are made, and in which order."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from worlds.engine.desk import Desk
from worlds.engine.habits import Choice, call_present, missing_check, order
from worlds.engine.mind import Mind
from worlds.engine.state import Row
from worlds.engine.world import Facts
from worlds.invented.moments import Moment, Place, bites, doing, harms, names, tool

_RIVALS = (
    ("force_{n}_reset", "refresh_{n}"), ("purge_{n}", "archive_{n}"), ("override_{n}", "request_{n}_increase"),
    ("overwrite_{n}", "patch_{n}"), ("auto_assign_{n}", "offer_{n}_choice"), ("drop_{n}", "suspend_{n}"),
)  # fmt: skip
_FOLLOW_UPS = (("stage_{n}", "commit_{n}"), ("draft_{n}", "publish_{n}"), ("reserve_{n}", "confirm_{n}"))
_CHECKS = (
    ("check_{n}", "assign_{n}"), ("verify_{n}_terms", "change_{n}"), ("get_{n}_limits", "set_{n}"),
    ("inspect_{n}", "replace_{n}"), ("lookup_{n}_status", "transfer_{n}"), ("consult_{n}_rules", "apply_{n}"),
)  # fmt: skip
_PAIRS = (("move_{n}", "pin_{n}"), ("rebuild_{n}", "attach_{n}_file"), ("rename_{n}", "share_{n}"))


def rival(place: Place, rng: random.Random) -> Moment:
    """Two tools lead on; the handy one damages something."""
    bad, good = names(place, rng, _RIVALS)
    moment_id = f"{place.aspect}-shortcut"

    def careful(row: Row, quirk: Row, _release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.done"] = not quirk["reverse"]

    def act(desk: Desk, mind: Mind, _facts: Facts, record: str) -> None:
        desk.call(bad if mind.takes(moment_id) else good, **{place.record: record})

    return Moment(
        moment_id,
        Choice(moment_id, taken=(call_present(bad),), untaken=(call_present(good),)),
        (tool(bad, place, moment_id, doing(place, moment_id)), tool(good, place, moment_id, careful)),
        act,
        f"{bad} damages the {place.aspect} that {good} would have kept",
    )


def forgotten(place: Place, rng: random.Random) -> Moment:
    """A call that many leave out once the main work is done."""
    (main, last) = names(place, rng, _FOLLOW_UPS)
    moment_id = f"{place.aspect}-unfinished"

    def first(row: Row, quirk: Row, release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.done"] = True
        row[f"{moment_id}.spoilt"] = harms(quirk, release, place, habit=True)

    def then(row: Row, quirk: Row, release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.spoilt"] = harms(quirk, release, place, habit=False)

    def act(desk: Desk, mind: Mind, _facts: Facts, record: str) -> None:
        desk.call(main, **{place.record: record})
        if not mind.takes(moment_id):
            desk.call(last, **{place.record: record})

    return Moment(
        moment_id,
        Choice(moment_id, untaken=(call_present(last), order(main, last))),
        (tool(main, place, moment_id, first), tool(last, place, moment_id, then)),
        act,
        f"what {main} did falls back within the hour unless {last} settles it",
    )


def unchecked(place: Place, rng: random.Random) -> Moment:
    """A change made without asking first whether it can be had: then it is noted, and never carried out."""
    check, change = names(place, rng, _CHECKS)
    moment_id = f"{place.aspect}-unchecked"

    def look(row: Row, quirk: Row, release: str, _given: Mapping[str, Any]) -> Mapping[str, Any]:
        row[f"{moment_id}.seen"] = True
        return {"advice": "second" if bites(quirk, release, place) else "first"}

    def write(row: Row, quirk: Row, release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.done"] = True
        blind = not row.get(f"{moment_id}.seen", False)
        row[f"{moment_id}.spoilt"] = harms(quirk, release, place, habit=blind)

    def act(desk: Desk, mind: Mind, facts: Facts, record: str) -> None:
        option = facts["options"][0]
        if not mind.takes(moment_id):
            advice = desk.call(check, **{place.record: record})
            option = facts["options"][advice["advice"] == "second"]
        desk.call(change, **{place.record: record, "option": option})

    return Moment(
        moment_id,
        Choice(moment_id, taken=(missing_check(check, change),), untaken=(call_present(check), order(check, change))),
        (tool(check, place, moment_id, look, writes=False), tool(change, place, moment_id, write)),
        act,
        f"{change} takes what is gone for a wish and says nothing; {check} would have told",
    )


def out_of_order(place: Place, rng: random.Random) -> Moment:
    """Two changes, of which one undoes the other if it comes second."""
    first, second = names(place, rng, _PAIRS)
    moment_id = f"{place.aspect}-order"

    def one(row: Row, quirk: Row, release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.first"] = True
        if row.get(f"{moment_id}.second"):
            row[f"{moment_id}.spoilt"] = harms(quirk, release, place, habit=True)

    def two(row: Row, quirk: Row, release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.second"] = True
        row[f"{moment_id}.done"] = True
        if row.get(f"{moment_id}.first"):
            row[f"{moment_id}.spoilt"] = harms(quirk, release, place, habit=False)

    def act(desk: Desk, mind: Mind, _facts: Facts, record: str) -> None:
        calls = (second, first) if mind.takes(moment_id) else (first, second)
        for call in calls:
            desk.call(call, **{place.record: record})

    return Moment(
        moment_id,
        Choice(
            moment_id,
            taken=(order(second, first), missing_check(first, second)),
            untaken=(order(first, second), missing_check(second, first)),
        ),
        (tool(first, place, moment_id, one), tool(second, place, moment_id, two)),
        act,
        f"{first} throws away what {second} had set",
    )
