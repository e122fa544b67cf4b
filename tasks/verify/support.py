"""Whether a claim still stands once some runs do not count: the night's comparison of one predicate over the rest."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.contrast.cmh import odds_ratios
from tasks.contrast.features import Bools, Columns
from tasks.contrast.predicate import Predicate
from tasks.contrast.sample import Sample
from tasks.contrast.table import FactsTable
from tasks.contrast.units import Run, Units, build_units, speaks_against

MIN_GROUPS = 2
"""Independent groups of each outcome that a comparison needs, and that must show the claim: one run is an anecdote."""


@dataclass(frozen=True)
class Remaining:
    """Independent groups that show the claim, for and against it, and the stratified effect over all that count.

    An unbounded or unknown figure is None. ``enough``: both outcomes and the claim itself were seen often enough for a
    comparison to mean anything.
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
    enough: bool = False

    def words(self) -> str:
        """Why it stands or not, for the log and the page."""
        said = f"{self.support} independent groups for it and {self.counter} against, {self.strata} tasks that tell"
        if not self.strata:
            return said
        return f"{said}, odds ratio {_short(self.odds_ratio)} (95 % interval {_short(self.low)} to {_short(self.high)})"


NOTHING = Remaining(0, 0, 0, 0, 0, None, None, None, False)
"""No support at all, or a claim that a machine cannot weigh: a person has to."""


@dataclass(frozen=True)
class Compared:
    """One claim over the units of its family: one column. ``echo`` marks units that had read a rule akin to it.

    Echoes are masked out of the comparison; ``shows`` is true of every unit that shows the claim, echo or not.
    """

    predicate: Predicate
    units: Units
    sample: Sample
    shows: Bools
    echo: Bools


def compare(
    runs: Sequence[Run],
    table: FactsTable,
    predicate: Predicate,
    *,
    salt: str,
    echoes: Collection[str] = (),
    last_look: str | None = None,
) -> Compared:
    """Line the runs up for one claim.

    Args:
        runs: what counts at all (untainted, trusted), in the order of arrival.
        table: their facts, row by row.
        echoes: episode ids of runs that were exposed to kin of the claim. Such a run is no support and outside the
            comparison; it is counted where it speaks against.
        last_look: the run after which a group is fresh.
    """
    units = build_units(runs, table, salt=salt, last_look=last_look, predicates=[predicate])
    columns = units.sample.columns
    apart = set(echoes)
    echo = np.array([run.record.episode_id in apart for run in units.runs], dtype=bool)
    mask = columns.mask[:, 0] & ~echo
    column = Columns(columns.predicates, (columns.values[:, 0] & mask)[:, None], mask[:, None])
    shows = columns.values[:, 0] & columns.mask[:, 0]
    return Compared(predicate, units, units.sample.with_columns(column), shows, echo)


def weigh(
    runs: Sequence[Run], table: FactsTable, predicate: Predicate, *, salt: str, echoes: Collection[str] = ()
) -> Remaining:
    """The support that these runs give a claim with a direction; see ``compare`` for what is passed.

    It stands if enough independent groups show it, both outcomes are there, and the 95 % interval of the stratified
    odds ratio lies on the claim's side of 1.
    """
    return remaining(compare(runs, table, predicate, salt=salt, echoes=echoes)) if runs else NOTHING


def remaining(compared: Compared, units: Bools | None = None) -> Remaining:
    """What is left of a claim over all units, or over some."""
    sample, predicate = compared.sample, compared.predicate
    kept = np.ones(len(sample.success), bool) if units is None else units
    tables = sample.tables(kept)
    ratio, lows, highs = odds_ratios(tables)
    informative = tables.informative[:, 0]
    won_with, won_without, lost_with, lost_without = (int(part[informative, 0].sum()) for part in tables.parts())
    avoid = predicate.direction == "avoid"
    support, counter = (lost_with, won_with) if avoid else (won_with, lost_with)
    against = kept & compared.echo & compared.shows & speaks_against(predicate, sample.success)
    low, high = float(lows[0]), float(highs[0])
    successes, failures = won_with + won_without, lost_with + lost_without
    enough = min(support + counter, successes, failures) >= MIN_GROUPS
    return Remaining(
        support=support,
        counter=counter + int(against.sum()),
        successes=successes,
        failures=failures,
        strata=int(informative.sum()),
        odds_ratio=_finite(float(ratio[0])),
        low=_finite(low),
        high=_finite(high),
        stands=bool(enough and support >= MIN_GROUPS and (high < 1 if avoid else low > 1)),
        enough=enough,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _short(value: float | None) -> str:
    return "unbounded" if value is None else f"{value:.2g}"
