"""What a drill's readers noted, as figures and a verdict. Pure: every time is a number that was noted elsewhere.

All times are seconds on one clock that every process of the machine shares, counted from the commit of the revocation.
A reader asks again and again; what it notes are its **spells**: consecutive questions with the same kind of answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

CONDITIONS = ("connected", "disconnected", "redis-down", "web-down")
HEARING = {"connected": 1.0, "redis-down": 5.0}
"""Conditions in which readers are told, and how late the 99th percentile may be. In the others the lease decides."""
SHARES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))


@dataclass(frozen=True)
class Spell:
    """Questions one after the other that were all answered with the canary, or all without it.

    ``asked`` is when the first of them began, ``answered`` when the last answer was there.
    """

    served: bool
    asked: float
    answered: float


@dataclass(frozen=True)
class Reading:
    """One reader. ``refused_from`` is None where it never stopped.

    Its stop lies between the two: ``served_until`` is the last answer with the canary, ``refused_from`` the beginning
    of the first question after it that was answered without.
    """

    served_until: float
    refused_from: float | None
    came_back: int = 0


def reading(spells: Sequence[Spell]) -> Reading:
    """What one reader's spells say. Before the commit anything may have been answered; 0 is the least.

    ``came_back`` counts spells with the canary whose first question was asked after a refusal later than the commit.
    """
    last = max((at for at, spell in enumerate(spells) if spell.served), default=None)
    served_until = 0.0 if last is None else max(0.0, spells[last].answered)
    after = spells[0 if last is None else last + 1 :]
    refused = [spell.answered > 0 and not spell.served for spell in spells]
    back = sum(spell.served and spell.asked > 0 and any(refused[:at]) for at, spell in enumerate(spells))
    return Reading(served_until, max(0.0, after[0].asked) if after else None, back)


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest rank: the least of ``values`` that at least this share of them does not exceed.

    Nothing is interpolated, so that what is told was measured (Hyndman and Fan 1996, definition 1).

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no values: nobody read")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Percentiles and the largest value, rounded to a tenth of a millisecond; empty without values."""
    return {name: round(percentile(values, share), 4) for name, share in SHARES} if values else {}


@dataclass(frozen=True)
class Findings:
    """What one drill under one condition found. Seconds from the commit of the revocation.

    ``served`` is until when readers were given the canary, ``refused`` from when they were not: the truth lies between.
    ``never`` never stopped, ``past_lease`` were given it after their lease, ``came_back`` had it again.
    """

    condition: str
    readers: int
    lease_seconds: float
    limit_seconds: float
    served: dict[str, float]
    refused: dict[str, float]
    never: int
    past_lease: int
    came_back: int
    wrong: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether everything was as promised."""
        return not self.wrong

    def as_dict(self) -> dict[str, Any]:
        """For JSON and for the history."""
        return {**asdict(self), "wrong": list(self.wrong), "passed": self.passed}


def limit_of(condition: str, lease: float, asked: float | None) -> float:
    """The limit in seconds: what was asked for where readers are told, never more than the lease."""
    return min(lease, asked if asked is not None else HEARING.get(condition, lease))


def decisive(mode: str, condition: str, summary: Mapping[str, Any]) -> float | None:
    """The figure of a kept report that its limit is about, in seconds; None where it never came to one.

    The 99th percentile where readers are told, the slowest where the lease decides, the last action of a declaration.
    """
    if mode == "incomplete":
        spread_of, figure = "acted", "max"
    else:
        spread_of, figure = ("refused", "p99") if condition in HEARING else ("served", "max")
    found = (summary.get(spread_of) or {}).get(figure)
    return None if found is None else float(found)


def judge(
    readings: Sequence[Reading], condition: str, *, wanted: int, lease: float, limit: float | None = None
) -> Findings:
    """Hold what was noted against what is promised.

    Where readers are told, the 99th percentile of ``refused_from`` counts, which is the later end of what is known.
    Where they are not, nobody may have been served past the lease.
    """
    bound = limit_of(condition, lease, limit)
    served = [one.served_until for one in readings]
    refused = [one.refused_from for one in readings if one.refused_from is not None]
    never, back = len(readings) - len(refused), sum(one.came_back > 0 for one in readings)
    late = sum(at > lease for at in served)
    wrong = [f"{wanted - len(readings)} of {wanted} readers told nothing"] if len(readings) < wanted else []
    wrong += [f"{never} never stopped serving what was revoked"] if never else []
    wrong += [f"{late} served it after their lease of {lease:g} s"] if late else []
    wrong += [f"{back} served it again after they had stopped"] if back else []
    wrong += _too_late(condition, served, refused, bound)
    return Findings(
        condition, wanted, lease, bound, spread(served), spread(refused), never, late, back, tuple(wrong)
    )  # fmt: skip


def _too_late(condition: str, served: Sequence[float], refused: Sequence[float], bound: float) -> list[str]:
    if condition in HEARING:
        found, what = percentile(refused, 0.99) if refused else math.inf, "99th percentile"
    else:
        found, what = max(served, default=math.inf), "slowest"
    return [f"the {what} is {found:.3f} s, over the limit of {bound:g} s"] if found > bound else []
