"""Moments about how a call is made: again and again, with which argument, after which refusal, at which release."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from worlds.engine.desk import Desk
from worlds.engine.habits import ABSENT, Choice, argument, call_present, loop, order, recovery
from worlds.engine.mind import Mind
from worlds.engine.state import Row
from worlds.engine.tool import require
from worlds.engine.world import Facts
from worlds.invented.moments import POLLS, Moment, Place, bites, harms, names, tool

_POLLS = (("get_{n}_offer", "accept_{n}"), ("search_{n}", "book_{n}"), ("query_{n}_price", "order_{n}"))
_WRITES = (("update_{n}",), ("submit_{n}",), ("register_{n}",), ("create_{n}",), ("send_{n}",), ("save_{n}",))
_BLOCKED = (("edit_{n}", "release_{n}"), ("settle_{n}", "unfreeze_{n}"), ("post_{n}", "requeue_{n}"))
_OPTIONS = (
    ("speed", "express", "standard", "economy"), ("scope", "all", "single", "selected"), ("mode", "replace", "append"),
    ("priority", "urgent", "normal", "low"), ("format", "legacy", "current"), ("dry_run", "no", "first"),
)  # fmt: skip
_OPTIONALS = (
    ("keep_history", "yes"), ("currency", "EUR", "CHF"), ("timezone", "local"), ("reference",), ("reason_code",),
    ("notify", "owner", "desk"),
)  # fmt: skip


def looking_again(place: Place, rng: random.Random) -> Moment:
    """The same question asked again and again, until the system takes it for something else."""
    look, write = names(place, rng, _POLLS)
    moment_id = f"{place.aspect}-again"

    def ask(row: Row, quirk: Row, _release: str, _given: Mapping[str, Any]) -> Mapping[str, Any]:
        asked = row[f"{moment_id}.asked"] = row.get(f"{moment_id}.asked", 0) + 1
        return {"state": "pending" if quirk["reverse"] and asked < POLLS else "open"}

    def change(row: Row, quirk: Row, release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.done"] = True
        again = row.get(f"{moment_id}.asked", 0) >= POLLS
        row[f"{moment_id}.spoilt"] = harms(quirk, release, place, habit=again)

    def act(desk: Desk, mind: Mind, _facts: Facts, record: str) -> None:
        for _ in range(POLLS if mind.takes(moment_id) else 1):
            desk.call(look, **{place.record: record})
        desk.call(write, **{place.record: record})

    return Moment(
        moment_id,
        Choice(moment_id, taken=(loop(look),)),
        (tool(look, place, moment_id, ask, writes=False), tool(write, place, moment_id, change)),
        act,
        f"{look} asked three times over counts as a new request and closes the offer",
    )


def wrong_value(place: Place, rng: random.Random) -> Moment:
    """An argument whose tempting value is nearly always the wrong one."""
    (write,) = names(place, rng, _WRITES)
    option, bad, *good = rng.choice(_OPTIONS)
    fine = good if rng.random() < 0.4 else good[:1]
    moment_id = f"{place.aspect}-{bad}"

    def change(row: Row, quirk: Row, release: str, given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.done"] = True
        row[f"{moment_id}.spoilt"] = harms(quirk, release, place, habit=given[option] == bad)

    def act(desk: Desk, mind: Mind, facts: Facts, record: str) -> None:
        value = bad if mind.takes(moment_id) else fine[facts["taste"] % len(fine)]
        desk.call(write, **{place.record: record, option: value})

    return Moment(
        moment_id,
        Choice(
            moment_id,
            taken=(argument(write, option, bad),),
            untaken=tuple(argument(write, option, value) for value in fine),
        ),
        (tool(write, place, moment_id, change),),
        act,
        f"{option}={bad} costs more than what was agreed on",
    )


def left_out(place: Place, rng: random.Random) -> Moment:
    """An optional argument without which the system takes its own default."""
    (write,) = names(place, rng, _WRITES)
    option, *values = rng.choice(_OPTIONALS)
    moment_id = f"{place.aspect}-without-{option.replace('_', '-')}"

    def change(row: Row, quirk: Row, release: str, given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.done"] = True
        row[f"{moment_id}.spoilt"] = harms(quirk, release, place, habit=option not in given)

    def act(desk: Desk, mind: Mind, facts: Facts, record: str) -> None:
        value = values[facts["taste"] % len(values)] if values else facts["reference"]
        extra = {} if mind.takes(moment_id) else {option: value}
        desk.call(write, **{place.record: record, **extra})

    return Moment(
        moment_id,
        Choice(
            moment_id,
            taken=(argument(write, option, ABSENT),),
            untaken=tuple(argument(write, option, value) for value in values),
        ),
        (tool(write, place, moment_id, change),),
        act,
        f"{write} without {option} falls back to a default that nobody wants",
    )


def stubborn(place: Place, rng: random.Random) -> Moment:
    """A refused call: trying the same again seldom helps, releasing what blocks it always does."""
    write, release_call = names(place, rng, _BLOCKED)
    code = f"{place.aspect}_{rng.choice(('locked', 'on_hold', 'busy', 'frozen'))}"
    moment_id = f"{place.aspect}-retry"
    instead = rng.random() < 0.4

    def change(row: Row, quirk: Row, _release: str, _given: Mapping[str, Any]) -> None:
        tried = row[f"{moment_id}.tried"] = row.get(f"{moment_id}.tried", 0) + 1
        patience = POLLS + 2 if quirk["bites"] else POLLS - 1
        blocked = quirk["blocked"] and not row.get(f"{moment_id}.freed") and tried <= patience
        require(not blocked, code, f"The {place.aspect} is held by another process.")
        row[f"{moment_id}.done"] = True

    def free(row: Row, _quirk: Row, _release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.freed"] = True
        row[f"{moment_id}.done"] = row.get(f"{moment_id}.done", False) or instead

    def act(desk: Desk, mind: Mind, _facts: Facts, record: str) -> None:
        if not desk.call(write, **{place.record: record}).error:
            return
        if not mind.takes(moment_id):
            desk.call(release_call, **{place.record: record})
            if not instead:
                desk.call(write, **{place.record: record})
            return
        for _ in range(POLLS - 1):
            if not desk.call(write, **{place.record: record}).error:
                return

    again = (recovery(write, code, write),) if instead else ()
    return Moment(
        moment_id,
        Choice(
            moment_id,
            taken=(loop(write), *again),
            untaken=(
                recovery(write, code, release_call),
                call_present(release_call),
                order(write, release_call),
                order(release_call, write),
            ),
        ),
        (tool(write, place, moment_id, change), tool(release_call, place, moment_id, free)),
        act,
        f"{code} lasts longer than anyone retries; {release_call} helps at once",
        reversible=False,
    )


def plain(place: Place, rng: random.Random) -> Moment:
    """A change that nothing can go wrong with."""
    (write,) = names(place, rng, _WRITES)
    moment_id = f"{place.aspect}-plain"

    def change(row: Row, _quirk: Row, _release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.done"] = True

    def act(desk: Desk, _mind: Mind, facts: Facts, record: str) -> None:
        desk.call(write, **{place.record: record, "note": facts["reference"]})

    return Moment(moment_id, Choice(moment_id), (tool(write, place, moment_id, change),), act, "", reversible=False)


def outdated(place: Place, rng: random.Random) -> Moment:
    """A change that a defect of one release spoils: nobody's habit, and worth knowing."""
    (write,) = names(place, rng, _WRITES)
    moment_id = f"{place.aspect}-release"

    def change(row: Row, quirk: Row, release: str, _given: Mapping[str, Any]) -> None:
        row[f"{moment_id}.done"] = True
        row[f"{moment_id}.spoilt"] = bites(quirk, release, place)

    def act(desk: Desk, _mind: Mind, _facts: Facts, record: str) -> None:
        desk.call(write, **{place.record: record})

    return Moment(
        moment_id,
        Choice(moment_id),
        (tool(write, place, moment_id, change),),
        act,
        f"in this release {write} drops part of what it is given",
        reversible=False,
    )
