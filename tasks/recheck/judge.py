"""What runs that arrived since say of an active rule. Pure.

Fresh groups are those that arrived after the rule's last look (or after the night that it was made of) and had not
been exposed to it or its kin. On them one question is put: is the effect less than half of what was promised at the
cautious end? The test is exact given the margins (the conditional law of the CMH sum under that odds ratio; Mehta,
Patel and Gray 1985), never the mid-p. It is put only when a rule without any effect would fail it with a fair chance;
until then the groups stay fresh and no alpha is spent. Looks of one rule share the year's alpha as the nights do
(6/(pi^2 r^2) for the r-th), divided by the rules that are active.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy import stats

from tasks.contrast.cmh import Floats, Tables, exact_law
from tasks.contrast.confirm import night_alpha
from tasks.contrast.features import Bools
from tasks.verify.support import Compared, Remaining, remaining

Verdict = Literal["stands", "vanished", "reversed", "outside-scope", "no-comparison", "not-enough"]

FAIR = 0.5
"""Chance that a rule without effect fails the test, from which on the test is worth its alpha."""
GONE: frozenset[str] = frozenset({"vanished", "reversed"})
HOLDOUT_ADVICE = (
    "set the policy holdout_fraction (5 to 10 %), so that some sessions run without it and can be compared with"
)


@dataclass(frozen=True)
class Standing:
    """What is known of a rule before tonight: its looks, the promised log odds ratio (absolute), the active rules."""

    looks: int
    promised: float | None
    active: int
    yearly_alpha: float

    @property
    def alpha(self) -> float:
        """The level of the next look."""
        return night_alpha(self.yearly_alpha, self.looks) / max(1, self.active)


@dataclass(frozen=True)
class Judged:
    """A verdict in words, with its figures. ``spent``: alpha was spent, and the fresh groups are fresh no more."""

    verdict: Verdict
    words: str
    spent: bool = False
    statistics: dict[str, Any] = field(default_factory=dict)


def promised_effect(packet: Mapping[str, Any]) -> float | None:
    """The absolute log odds ratio at the cautious end of the interval that the rule was promoted on."""
    for part in (packet.get("held_out") or {}, packet.get("effect") or {}):
        low, high = part.get("low"), part.get("high")
        if low is not None and low > 1:
            return math.log(low)
        if high is not None and 0 < high < 1:
            return -math.log(high)
    return None


def judge(compared: Compared, standing: Standing, outside: Mapping[str, int]) -> Judged:
    """The verdict on one rule.

    Args:
        compared: the runs within the rule's scope, echoes marked; ``sample.fresh`` says which groups are new.
        outside: of the runs that arrived since, those out of scope, by why.
    """
    fresh = compared.sample.fresh & compared.sample.columns.mask[:, 0]
    exposed = int((compared.sample.fresh & compared.echo).sum())
    whole, new = remaining(compared), remaining(compared, compared.sample.fresh)
    figures = {
        "whole": _row(whole), "fresh": _row(new), "fresh_groups": int(fresh.sum()), "exposed_groups": exposed,
        "outside": dict(outside), "looks": standing.looks,
    }  # fmt: skip
    tested = _test(compared, fresh, standing)
    figures |= tested
    if tested.get("spent") and tested["p_value"] <= tested["alpha"]:
        return _gone(tested, new, figures)
    if whole.enough and not whole.stands:
        said = f"its effect is not to be told from none any more; {_apart(whole, new, fresh)}"
        return Judged("vanished", said, bool(tested.get("spent")), figures)
    if outside:
        said = _outside_words(outside, _apart(whole, new, fresh))
        return Judged("outside-scope", said, bool(tested.get("spent")), figures)
    if tested.get("spent"):
        return Judged("stands", f"what arrived since its last look agrees; {_apart(whole, new, fresh)}", True, figures)
    if exposed and not fresh.any():
        said = (
            f"all {_groups(exposed)} that arrived since had read it or its kin, so nothing compares: {HOLDOUT_ADVICE}"
        )
        return Judged("no-comparison", said, False, figures)
    return _waiting(whole, new, fresh, exposed, tested, figures)


def _gone(tested: Mapping[str, Any], new: Remaining, figures: dict[str, Any]) -> Judged:
    chance = f"p = {tested['p_value']:.2g} at {tested['alpha']:.2g}"
    if tested["p_reversed"] <= tested["alpha"]:
        said = f"on runs that had not read it the effect goes the other way: {new.words()}, {chance}"
        return Judged("reversed", said, True, figures)
    said = f"on runs that had not read it less than half of the promised effect is left: {new.words()}, {chance}"
    return Judged("vanished", said, True, figures)


def _waiting(
    whole: Remaining, new: Remaining, fresh: Bools, exposed: int, tested: Mapping[str, Any], figures: dict[str, Any]
) -> Judged:
    said = _apart(whole, new, fresh)
    if exposed:
        said += f"; {_groups(exposed)} more had read it or its kin, and do not count for it"
    if not whole.stands:
        return Judged("not-enough", f"what is left of its evidence is too little to compare; {said}", False, figures)
    if not fresh.any():
        return Judged("stands", said, False, figures)
    more = tested.get("more_groups")
    needs = f"; a test is worth its price with about {more} more" if more else ""
    return Judged("not-enough", f"too few new ones to test it; {said}{needs}", False, figures)


def _apart(whole: Remaining, new: Remaining, fresh: Bools) -> str:
    """What the new groups say by themselves, then with the old ones: pooled figures hide a change."""
    count = int(fresh.sum())
    if not count:
        return f"nothing new compares; of all: {whole.words()}"
    return (
        f"of the {'new group' if count == 1 else f'{count} new groups'}: {new.words()}; with the old: {whole.words()}"
    )


def _test(compared: Compared, fresh: Bools, standing: Standing) -> dict[str, Any]:
    """The look, if it is worth its alpha: p of an effect at least half as promised, and of one the other way."""
    if standing.promised is None or not fresh.any():
        return {"spent": False}
    tables = compared.sample.tables(compared.sample.fresh)
    if not tables.informative.any():
        return {"spent": False}
    side = -1 if compared.predicate.direction == "avoid" else 1
    law, observed = law_toward(tables, side)
    half = tilted(law, standing.promised / 2)
    alpha = standing.alpha
    fails = np.cumsum(half) <= alpha
    power = float(law[fails].sum())
    if power < FAIR:
        return {
            "spent": False,
            "alpha": alpha,
            "power": power,
            "more_groups": _more(law, half, alpha, int(fresh.sum())),
        }
    return {
        "spent": True, "alpha": alpha, "power": power,
        "p_value": float(half[: observed + 1].sum()), "p_reversed": float(law[: observed + 1].sum()),
    }  # fmt: skip


def law_toward(tables: Tables, side: int) -> tuple[Floats, int]:
    """Law of the sum without an effect, from what speaks most against the claim up; and where the observed one is."""
    law, least, observed = exact_law(tables)
    at = observed - least
    return (law, at) if side > 0 else (law[::-1], len(law) - 1 - at)


def tilted(law: Floats, log_odds: float) -> Floats:
    """The law under an odds ratio."""
    with np.errstate(divide="ignore"):
        logs = np.log(law) + log_odds * np.arange(len(law))
    made: Floats = np.exp(logs - logs.max())
    return made / made.sum()


def _more(law: Floats, half: Floats, alpha: float, groups: int) -> int:
    """About how many groups more make the test fair: its reach grows with the root of their number."""

    steps = np.arange(len(law))
    apart = float((half * steps).sum() - (law * steps).sum())
    spread = math.sqrt(max(1e-9, float((half * steps**2).sum() - (half * steps).sum() ** 2)))
    reach = apart / spread
    return 0 if reach <= 0 else max(1, math.ceil(groups * ((float(stats.norm.isf(alpha)) / reach) ** 2 - 1)))


def _outside_words(outside: Mapping[str, int], inside: str) -> str:
    named = "; ".join(f"{why} ({_groups(count)})" for why, count in sorted(outside.items())[:3])
    return f"runs arrived that it was not verified for: {named}. Within its scope: {inside}"


def _groups(count: int) -> str:
    return f"{count} group" if count == 1 else f"{count} groups"


def _row(found: Remaining) -> dict[str, Any]:
    return {
        "support": found.support, "counter": found.counter, "strata": found.strata, "odds_ratio": found.odds_ratio,
        "low": found.low, "high": found.high, "stands": found.stands, "successes": found.successes,
        "failures": found.failures,
    }  # fmt: skip
