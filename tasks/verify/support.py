"""Whether a claim still stands once some runs do not count: the night's comparison of one predicate over the rest."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.contrast.cmh import effects
from tasks.contrast.facts import holds
from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate
from tasks.contrast.units import Run, build_units, speaks_against, without_kin

MIN_GROUPS = 2
"""Independent groups of each outcome that a comparison needs, and that must show the claim: one run is an anecdote."""


@dataclass(frozen=True)
class Remaining:
    """Independent groups that show the claim, for and against it, and the stratified effect over all that count.

    An unbounded or unknown figure is None.
    """

    support: int
    counter: int
    successes: int
    failures: int
    strata: int
    odds_ratio: float | None
    low: float | None
    high: float | None
    stands: bool

    def words(self) -> str:
        """Why it stands or not, for the log and the page."""
        said = f"{self.support} independent groups for it and {self.counter} against, {self.strata} tasks that tell"
        if not self.strata:
            return said
        return f"{said}, odds ratio {_short(self.odds_ratio)} (95 % interval {_short(self.low)} to {_short(self.high)})"


NOTHING = Remaining(0, 0, 0, 0, 0, None, None, None, False)
"""No support at all, or a claim that a machine cannot weigh: a person has to."""


def weigh(
    runs: Sequence[Run], predicate: Predicate, *, salt: str, readers: Mapping[str, Collection[Predicate]]
) -> Remaining:
    """The support that these runs give a claim with a direction.

    It stands if enough independent groups show it, both outcomes are there, and the 95 % interval of the stratified
    odds ratio lies on the claim's side of 1.

    Args:
        runs: what counts at all (untainted, trusted), in the order of arrival.
        readers: by episode id, the predicates of the rules that the run may have read. For their kin such a run is no
            support and outside the comparison; it is counted where it speaks against.
    """
    if not runs:
        return NOTHING
    units = build_units(runs, salt=salt, last_look=None)
    said = [holds(predicate, run.facts) for run in units.runs]
    mask = np.array([one is not None for one in said], dtype=bool)
    value = np.array([bool(one) for one in said], dtype=bool)
    column = Columns([predicate.undirected()], value[:, None], mask[:, None])
    sample = without_kin(units.sample.with_columns(column), units.runs, readers)
    seen, tables = effects(sample.tables()), sample.tables()
    informative = tables.informative[:, 0]
    won_with, won_without, lost_with, lost_without = (int(part[informative, 0].sum()) for part in tables.parts())
    avoid = predicate.direction == "avoid"
    support, counter = (lost_with, won_with) if avoid else (won_with, lost_with)
    echoes = value & mask & ~sample.columns.mask[:, 0] & speaks_against(predicate, sample.success)
    low, high = float(seen.low[0]), float(seen.high[0])
    successes, failures = won_with + won_without, lost_with + lost_without
    enough = min(support, successes, failures) >= MIN_GROUPS
    return Remaining(
        support=support,
        counter=counter + int(echoes.sum()),
        successes=successes,
        failures=failures,
        strata=int(informative.sum()),
        odds_ratio=_finite(float(seen.odds_ratio[0])),
        low=_finite(low),
        high=_finite(high),
        stands=bool(enough and (high < 1 if avoid else low > 1)),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _short(value: float | None) -> str:
    return "unbounded" if value is None else f"{value:.2g}"
