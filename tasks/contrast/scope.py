"""Releases as the scope of a finding: where a habit does harm at one release only, the release is no second finding.

Runs at the release in which a habit hurts fail more often, so the release looks bad in itself. Among runs that are free
of every habit found it then makes no difference; a defect of the release would hit those as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.contrast.cells import about_releases
from tasks.contrast.cmh import Effects, Floats, effects, odds_ratios
from tasks.contrast.features import Bools
from tasks.contrast.redundancy import Worded
from tasks.contrast.sample import Sample

GONE_P = 0.05
CHANGED_Z = 2.58
FEW = 20
"""Runs at a release below which nothing is said of it."""


@dataclass(frozen=True)
class AtRelease:
    """A finding's odds ratio among the runs at one release. None is infinite."""

    component: str
    version: str
    odds_ratio: float | None
    low: float
    high: float | None
    strata: int


def fold_scopes(sample: Sample, found: Sequence[Worded], seen: Effects) -> list[Worded]:
    """Findings, with releases that only say where another one's act does harm put under that one.

    The act's effect must differ between the release and others, and the release's own be gone among runs free of it.
    """
    is_release = about_releases(sample.columns)
    acts = [f for f, _ in found if not is_release[f]]
    under: dict[int, list[int]] = {f: [*others] for f, others in found}
    for f, others in found:
        if not is_release[f] or not acts:
            continue
        change = _changes(sample, acts, f)
        there = [act for act, z in zip(acts, change.tolist(), strict=True) if abs(z) >= CHANGED_Z]
        if there and _gone_among(sample, f, ~np.any([_does_harm(sample, act, seen) for act in there], axis=0), seen):
            del under[f]
            under[acts[int(np.argmax(np.abs(change)))]] += [f, *others]
    return list(under.items())


def at_releases(sample: Sample, feature: int) -> list[AtRelease]:
    """The odds ratio at each release that enough runs name, of the component named first by most."""
    columns = sample.columns
    found = []
    for f in np.flatnonzero(about_releases(columns)).tolist():
        component, version = columns.predicates[f].parts
        at = columns.values[:, f] & columns.mask[:, f]
        for units, name in ((at, version), (columns.mask[:, f] & ~at, "other releases")):
            if f != feature and int(units.sum()) >= FEW:
                found.append(_at(sample, feature, units, component, name))
    return [each for each in found if each.strata]


def _at(sample: Sample, feature: int, units: Bools, component: str, version: str) -> AtRelease:
    tables = sample.with_columns(sample.columns.take([feature])).tables(units)
    ratio, low, high = (float(each[0]) for each in odds_ratios(tables))
    strata = int(tables.informative.sum())
    return AtRelease(component, version, ratio if np.isfinite(ratio) else None, low,
                     high if np.isfinite(high) else None, strata)  # fmt: skip


def _does_harm(sample: Sample, feature: int, seen: Effects) -> Bools:
    """Units that do what the finding says to avoid, or leave what it says to do, in tasks where both are done."""
    value, mask = sample.columns.values[:, feature], sample.columns.mask[:, feature]
    kinds = [np.bincount(sample.stratum[mask & does], minlength=len(sample.strata)) for does in (value, ~value)]
    at_stake = (kinds[0] > 0) & (kinds[1] > 0)
    harm: Bools = mask & (value if seen.excess[feature] < 0 else ~value) & at_stake[sample.stratum]
    return harm


def _gone_among(sample: Sample, feature: int, units: Bools, seen: Effects) -> bool:
    rest = effects(sample.with_columns(sample.columns.take([feature])).tables(units))
    if rest.variance[0] <= 0:
        return False
    before = seen.excess[feature] / max(seen.variance[feature], 1e-9)
    after = rest.excess[0] / rest.variance[0]
    return bool(rest.p[0] > GONE_P and after / before < 0.5)


def _changes(sample: Sample, acts: Sequence[int], release: int) -> Floats:
    """By act, how many standard errors its effect at the release is from its effect elsewhere."""
    known = sample.columns.mask[:, release]
    at = sample.columns.values[:, release] & known
    part = sample.with_columns(sample.columns.take(acts))
    inside, outside = effects(part.tables(at)), effects(part.tables(known & ~at))
    one, two = np.maximum(inside.variance, 1e-9), np.maximum(outside.variance, 1e-9)
    change: Floats = (inside.excess / one - outside.excess / two) / np.sqrt(1 / one + 1 / two)
    return np.where((inside.variance > 1) & (outside.variance > 1), change, 0.0)
