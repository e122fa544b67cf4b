"""Which rules an answer holds, and what was withheld and why. Pure: time is an argument."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np

from read_api.diversity import Ranked, spread
from read_api.shelf import Option, Shelf
from tasks.conflict.scopes import parse_range

FLOOR = 0.1
"""Beyond a handful of rules, what scores under this part of the best is noise."""
MAX_WITHHELD = 20
HOLDOUT = "holdout"
POOL = 3
"""So many times ``k`` are compared with each other: one that another makes needless has a follower."""
TAKEN = 64
"""So many of the best are put in order at first; more only where most of them are out of scope."""
Counter = Callable[[str], int]


@dataclass(frozen=True)
class Asker:
    """What a search says of itself. ``holdout`` is the part of its sessions that a rule is withheld from at random.

    ``session`` is None where the search names none: then nothing is held out.
    """

    environment: Mapping[str, str]
    agent: str | None
    k: int
    token_budget: int | None
    now: datetime
    session: str | None = None
    holdout: float = 0.0


@dataclass(frozen=True)
class Choice:
    """Numbers of the options to serve, best first; what was withheld, as (number, reason).

    ``found`` says whether anything in scope shares a word with the task.
    """

    served: list[int]
    withheld: list[tuple[int, str]]
    found: bool


class Gate:
    """Lets through what this asker may have: scope, then holdout. Each distinct scope is looked at once."""

    def __init__(self, shelf: Shelf, asker: Asker) -> None:
        self._shelf, self._asker = shelf, asker
        self._said: dict[int, str] = {}

    def against(self, number: int) -> str:
        """Why this option is not for this asker; empty if it is."""
        return self._scope(int(self._shelf.scope_of[number])) or held_out(self._shelf[number], self._asker)

    def inside(self, numbers: np.ndarray) -> np.ndarray:
        """Those of these whose scope fits."""
        scopes = self._shelf.scope_of[numbers]
        fits = np.zeros(len(self._shelf.scopes), bool)
        for scope in np.unique(scopes).tolist():
            fits[scope] = not self._scope(scope)
        return numbers[fits[scopes]]

    def _scope(self, scope: int) -> str:
        if scope not in self._said:
            self._said[scope] = out_of_scope(self._shelf.scopes[scope], self._asker)
        return self._said[scope]


def choose(shelf: Shelf, scores: np.ndarray, asker: Asker, count: Counter | None = None) -> Choice:
    """Scope and holdout first, then rank, then what says the same, then budget.

    With at most ``k`` rules left in scope, all are candidates; with more, those that score above ``FLOOR`` of the best.
    Only options that rank above the last one looked at are told as withheld.
    """
    gate = Gate(shelf, asker)
    inside: list[int] = []
    withheld: list[tuple[int, str]] = []
    for number in _in_order(shelf, scores, gate):
        reason = gate.against(number)
        if reason:
            withheld.append((number, reason))
            continue
        inside.append(number)
        if len(inside) > POOL * asker.k:
            break
    best = float(scores[inside[0]]) if inside else 0.0
    inside = _cut(inside, shelf, scores, gate, asker)
    ranked = [Ranked(at, shelf[at].id, float(scores[at]), shelf[at].kind, shelf[at].text) for at in inside]
    taken, same = spread(ranked, asker.k)
    served, too_much = within_budget(taken, shelf, asker.token_budget, count)
    repeated = [(at, f"says the same as {shelf[other].id!r} version {shelf[other].version}") for at, other in same]
    found = best > 0 or any(reason == HOLDOUT for _, reason in withheld)
    return Choice(served, (too_much + repeated + withheld)[:MAX_WITHHELD], found)


def _in_order(shelf: Shelf, scores: np.ndarray, gate: Gate) -> Iterator[int]:
    """Options that score, best first, equals by id. The first ones are told whatever their scope; should those not do,
    the rest is only of what fits."""
    scored = np.flatnonzero(scores > 0)
    first = _best(scored, shelf, scores, TAKEN)
    yield from first
    if len(first) < len(scored):
        fitting = gate.inside(np.setdiff1d(scored, np.array(first), assume_unique=True))
        while len(fitting):
            more = _best(fitting, shelf, scores, TAKEN)
            yield from more
            fitting = np.setdiff1d(fitting, np.array(more), assume_unique=True)


def _best(numbers: np.ndarray, shelf: Shelf, scores: np.ndarray, least: int) -> list[int]:
    """The best of these, at least so many, in order; equals of the last one too, so that no order of arrival shows."""
    if len(numbers) > least:
        values = scores[numbers]
        last = np.partition(values, len(values) - least)[len(values) - least]
        numbers = numbers[values >= last]
    listed = zip((-scores[numbers]).tolist(), [shelf[at].id for at in numbers.tolist()], numbers.tolist(), strict=True)
    return [at for _, _, at in sorted(listed)]


def _cut(inside: list[int], shelf: Shelf, scores: np.ndarray, gate: Gate, asker: Asker) -> list[int]:
    """What is compared further. Needs to know whether more than ``k`` are in scope, scored or not."""
    if len(inside) <= asker.k:
        rest = gate.inside(np.flatnonzero(shelf.is_in & (scores <= 0)))
        silent: list[int] = []
        for number in rest.tolist():
            if not gate.against(number):
                silent.append(number)
            if len(inside) + len(silent) > asker.k:
                break
        else:
            return inside + sorted(silent, key=lambda at: shelf[at].id)
    best = scores[inside[0]] if inside else 0.0
    return [at for at in inside if scores[at] > FLOOR * best]


def held_out(option: Option, asker: Asker) -> str:
    """``holdout`` where the rule is withheld from this session so that it can be compared; empty where it is not.

    A hash of session and rule decides, so a session gets the same answer all along, and each rule its own draw. What
    touches money, deletion, permissions or credentials is never withheld.
    """
    if asker.session is None or asker.holdout <= 0 or option.tier == "high":
        return ""
    drawn = hashlib.sha256(f"holdout\x00{asker.session}\x00{option.id}".encode("utf-8", "surrogatepass")).digest()
    return HOLDOUT if int.from_bytes(drawn[:8], "big") < asker.holdout * 2**64 else ""


def out_of_scope(scope: Mapping[str, Any], asker: Asker) -> str:
    """Why a rule's scope leaves this search out; empty if it does not.

    A component that the search does not name is taken as fitting; one that it names must be in the verified range.
    """
    agents = scope.get("agents") or ()
    if agents and asker.agent not in agents:
        return f"agent: verified for {', '.join(map(str, agents))} only"
    for at, begins in ((scope.get("valid_from"), True), (scope.get("valid_to"), False)):
        instant = _instant(at)
        if instant is not None and (asker.now < instant if begins else asker.now >= instant):
            return f"time: valid {'from' if begins else 'until'} {at}"
    for component, verified in (scope.get("environment") or {}).items():
        given = asker.environment.get(component)
        if given is not None and not in_range(given, str(verified)):
            return f"environment: verified for {component} {verified}, not {given}"
    return ""


@lru_cache(maxsize=10_000)
def in_range(version: str, verified: str) -> bool:
    """Whether a version lies in ``*``, an exact version, or bounds such as ``>=3.1,<=3.4``."""
    return version == verified or parse_range(verified).overlaps(parse_range(version))


def within_budget(
    ranked: Iterable[int], shelf: Shelf, budget: int | None, count: Counter | None = None
) -> tuple[list[int], list[tuple[int, str]]]:
    """The ranked options that fit, and those that do not. A shorter one further down may still fit."""
    if budget is None:
        return list(ranked), []
    count = count or estimate_tokens
    served: list[int] = []
    left_out: list[tuple[int, str]] = []
    room = budget
    for at in ranked:
        need = count(shelf[at].text)
        if need <= room:
            served.append(at)
            room -= need
        else:
            left_out.append((at, f"token budget: needs about {need} tokens, {room} are left of {budget}"))
            if len(left_out) == MAX_WITHHELD:
                break
    return served, left_out


def with_other_sides(
    choice: Choice, sides: Mapping[int, Collection[int]], shelf: Shelf, asker: Asker, count: Counter | None = None
) -> Choice:
    """A choice in which no rule is served while one that it conflicts with, and that is in scope too, is not.

    ``sides``: for each served option the active ones it has an open conflict with. The other side joins, in the place
    of the lowest ranked that has no conflict; where ``k`` or the budget cannot hold both, both are withheld. What scope
    or holdout keeps from this asker cannot be followed here, and asks for nothing.
    """
    gate = Gate(shelf, asker)
    served, dropped = list(choice.served), [(at, why) for at, why in choice.withheld]
    count = count or estimate_tokens
    for at in choice.served:
        if at not in served:
            continue
        missing = sorted((o for o in sides.get(at, ()) if o not in served and not gate.against(o)), key=_id_in(shelf))
        if not missing:
            continue
        kept = _making_room(served, len(missing), sides, at, asker.k)
        need = sum(count(shelf[each].text) for each in [*(kept or []), *missing]) if asker.token_budget else 0
        if kept is not None and need <= (asker.token_budget or need):
            dropped += [(each, "gave way to the other side of a conflict") for each in served if each not in kept]
            served = [*kept, *missing]
            continue
        named = ", ".join(shelf[other].id for other in missing)
        what = f"conflict: with {named}, and both do not fit; ask for more rules or tokens"
        out = [at, *(each for each in served if each != at and at in sides.get(each, ()))]
        served = [each for each in served if each not in out]
        others = [(other, f"conflict: with {shelf[at].id}") for other in [*out[1:], *missing]]
        dropped = [(at, what), *others, *dropped]
    left = [(at, why) for at, why in dict(reversed(dropped)).items() if at not in served]
    return Choice(served, left[::-1][:MAX_WITHHELD], choice.found)


def _id_in(shelf: Shelf) -> Callable[[int], str]:
    return lambda number: shelf[number].id


def _making_room(
    served: Sequence[int], more: int, sides: Mapping[int, Collection[int]], at: int, k: int
) -> list[int] | None:
    """The served ones less as many of the last free ones as stand in the way of ``more``; None if that is too few."""
    kept = list(served)
    joined = {other for each in served for other in sides.get(each, ())}
    for each in reversed(served):
        if len(kept) + more <= k:
            break
        if each != at and not sides.get(each) and each not in joined:
            kept.remove(each)
    return kept if len(kept) + more <= k else None


def estimate_tokens(text: str) -> int:
    """Tokens of a text by rule of thumb, rather too many: one for four characters, one each beyond Latin scripts."""
    wide = 0 if text.isascii() else sum(1 for char in text if ord(char) > 0x2E7F)
    return wide + math.ceil((len(text) - wide) / 4) + 4


def _instant(value: Any) -> datetime | None:
    if not value:
        return None
    at = datetime.fromisoformat(str(value))
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at
