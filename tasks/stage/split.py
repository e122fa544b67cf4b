"""A claim that holds for some of the runs it speaks of: where it can be cut, and what a part of it is. Pure.

What agents are served by is the scope: agents, and versions of components. So that is what a claim is cut by. Where it
can be cut is told from how many runs are on each side, never from what came of them: the parts that could be chosen are
then a fixed set, and each is tested at its share of the level on which the whole was confirmed (a hierarchy as
Meinshausen 2008 tests it: a part is asked about only once the whole was confirmed).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from storage.ids import content_hash
from tasks.contrast.analyse import HeldOut
from tasks.contrast.cmh import odds_ratios, one_sided_p
from tasks.contrast.features import Bools
from tasks.contrast.sample import Sample
from tasks.contrast.verdict import HeldOutTest
from tasks.draft.scope import ANY, verified_environment, version_key
from tasks.recheck.judge import FAIR, law_toward, tilted
from tasks.verify.coverage import belongs
from tasks.verify.support import MIN_GROUPS

LEAST = 2 * MIN_GROUPS
"""Independent groups below which a side could not even be compared."""
MOST_CUTS = 12
MOST_VERSIONS = 4
"""Versions without an order that one cut may tell apart."""

NOT_TESTED: Mapping[str, Any] = {
    "groups": 0, "odds_ratio": None, "low": None, "high": None, "p_value": None, "alpha": None,
    "same_direction": False, "confirmed": False, "strata": 0, "folds": [],
}  # fmt: skip
"""The confirmation of a part that was not looked at by itself."""


@dataclass(frozen=True)
class Setting:
    """Under what a unit ran, as far as it says."""

    agent: str
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Side:
    """One part of a cut: the condition that its runs fulfil, and the scope that its evidence covers."""

    within: Mapping[str, Any]
    agents: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None

    def holds(self, one: Setting) -> bool:
        """Whether a unit is on this side."""
        return belongs({"within": [self.within]}, one.environment, one.agent)

    @property
    def words(self) -> str:
        """The side in words, for titles and the command line."""
        return side_words(self.within)


@dataclass(frozen=True)
class Cut:
    """A way to split a claim. ``key`` names it in forms and commands."""

    key: str
    sides: tuple[Side, ...]

    @property
    def mark(self) -> str:
        """The key as a form carries it: names of agents and versions may hold anything."""
        return mark_of(self.key)

    @property
    def words(self) -> str:
        """Such as ``airline-api 3.2 and earlier | airline-api 3.3 and later``."""
        return " | ".join(side.words for side in self.sides)


def mark_of(key: str) -> str:
    """A short hash of a cut's key."""
    return content_hash(["cut", key], 12)


def side_words(within: Mapping[str, Any]) -> str:
    """One condition of a split, in words."""
    if "agents" in within:
        return f"agent {', '.join(within['agents'])}"
    if "agents_but" in within:
        return f"agents other than {', '.join(within['agents_but'])}"
    component, versions = str(within["component"]), str(within["versions"])
    if versions.startswith("<="):
        return f"{component} {versions[2:]} and earlier"
    return f"{component} {versions[2:]} and later" if versions.startswith(">=") else f"{component} {versions}"


def cuts(settings: Sequence[Setting], served: Collection[str]) -> list[Cut]:
    """Where a claim can be cut, the evenest first.

    Args:
        settings: of every unit that counts.
        served: the names that agents ask under. A unit that names its model alone is of no agent that could be told.
    """
    found = [*_by_agent(settings, served)]
    for component in sorted({name for one in settings for name in one.environment}):
        found += _by_version(component, settings)
    sized = [(min(_sizes(cut, settings)), cut) for cut in found]
    fit = [(size, cut) for size, cut in sized if size >= LEAST]
    return [cut for _, cut in sorted(fit, key=lambda pair: (-pair[0], pair[1].key))[:MOST_CUTS]]


def _sizes(cut: Cut, settings: Sequence[Setting]) -> list[int]:
    return [sum(side.holds(one) for one in settings) for side in cut.sides]


def _by_agent(settings: Sequence[Setting], served: Collection[str]) -> list[Cut]:
    names = sorted({one.agent for one in settings} & set(served) - {""})
    if len(names) == 2:
        return [Cut("agent", tuple(Side({"agents": [name]}, (name,)) for name in names))]
    return [
        Cut(f"agent={name}", (Side({"agents": [name]}, (name,)), Side({"agents_but": [name]}, _without(names, name))))
        for name in names
        if len(names) > 2
    ]


def _without(names: Sequence[str], name: str) -> tuple[str, ...]:
    return tuple(each for each in names if each != name)


def _by_version(component: str, settings: Sequence[Setting]) -> list[Cut]:
    seen = Counter(one.environment[component] for one in settings if component in one.environment)
    if len(seen) < 2 or ANY in seen:
        return []
    keyed = sorted((key, version) for version in seen if (key := version_key(version)) is not None)
    if len(keyed) < len(seen):
        return _apart(component, seen)
    steps = [at for at in range(1, len(keyed)) if keyed[at - 1][0] != keyed[at][0]]
    versions = [version for _, version in keyed]
    return [
        Cut(
            f"{component}<={versions[at - 1]}",
            (
                _of(component, f"<={versions[at - 1]}", versions[:at]),
                _of(component, f">={versions[at]}", versions[at:]),
            ),
        )
        for at in steps
    ]


def _apart(component: str, seen: Counter[str]) -> list[Cut]:
    """Versions without an order stand each for itself."""
    if len(seen) > MOST_VERSIONS:
        return []
    return [Cut(f"{component}=", tuple(_of(component, version, [version]) for version in sorted(seen)))]


def _of(component: str, versions: str, seen: Sequence[str]) -> Side:
    verified = verified_environment({component: version} for version in seen)
    return Side({"component": component, "versions": versions}, (), verified)


def part_content(whole: Mapping[str, Any], side: Side) -> dict[str, Any]:
    """The whole's content in a narrower scope. Its predicate says so, so that the part has an identity of its own."""
    scope, predicate = dict(whole["scope"]), dict(whole["predicate"])
    if side.agents:
        scope["agents"] = list(side.agents)
    if side.environment:
        scope["environment"] = {**(scope.get("environment") or {}), **side.environment}
    within = [*(predicate.get("within") or ()), dict(side.within)]
    return {**whole, "scope": scope, "predicate": {**predicate, "within": within}}


def part_title(title: str, side: Side) -> str:
    """The whole's title with what it was narrowed to."""
    return f"{title} ({side.words})"


def split_words(cut: Cut, parts: Sequence[str]) -> str:
    """Why the whole and its approvals are void."""
    return f"split into {', '.join(parts)}: {cut.words}"


@dataclass(frozen=True)
class PartTest:
    """A test of a part on groups that it was not found on: exact, one-sided, the side being the claim's."""

    fold: int
    alpha: float
    p_value: float
    odds_ratio: float | None
    low: float
    high: float | None
    strata: int
    groups: tuple[str, ...]
    earlier: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether it passed its level."""
        return self.p_value <= self.alpha


def look_at_part(sample: Sample, units: Bools, side: int, *, fold: int, alpha: float) -> PartTest | None:
    """Test a claim (the sample's one column) on some units; None where they say nothing of it."""
    tables = sample.tables(units)
    informative = tables.informative[:, 0]
    rested = units & sample.columns.mask[:, 0] & informative[sample.stratum]
    if not rested.any():
        return None
    ratio, low, high = (float(each[0]) for each in odds_ratios(tables))
    return PartTest(
        fold, alpha, one_sided_p(tables, side), _finite(ratio), _finite(low) or 0.0, _finite(high),
        int(informative.sum()), tuple(sample.groups[row] for row in np.flatnonzero(rested).tolist()),
    )  # fmt: skip


def held_out_of(tests: Sequence[PartTest], side: int) -> HeldOut | None:
    """The best of the tests on top, all of them below it; None without any."""
    if not tests:
        return None
    rows = [_row(one, side) for one in tests]
    best = min(rows, key=lambda one: (not one.confirmed, one.p_value, one.fold))
    return HeldOut(**vars(best), folds=[asdict(one) for one in rows])


def _row(one: PartTest, side: int) -> HeldOutTest:
    away = one.odds_ratio is None or one.odds_ratio > 1
    same = away == (side > 0) and one.odds_ratio != 1
    return HeldOutTest(
        fold=one.fold, groups=len(one.groups), odds_ratio=one.odds_ratio, low=one.low, high=one.high,
        p_value=one.p_value, alpha=one.alpha, same_direction=same, confirmed=one.confirmed and same,
        strata=one.strata, earlier=one.earlier, by_task=False,
    )  # fmt: skip


def is_worth_it(sample: Sample, units: Bools, side: int, *, promised: float | None, alpha: float) -> bool:
    """Whether a test of these units has a fair chance, if the effect is what it was seen to be (absolute log odds)."""
    tables = sample.tables(units)
    if not promised or not tables.informative.any():
        return False
    law, _ = law_toward(tables, side)
    passes = np.cumsum(law[::-1])[::-1] <= alpha
    return float(tilted(law, promised)[passes].sum()) >= FAIR


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
