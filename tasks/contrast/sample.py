"""The units of one family as arrays: one row an independent group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.contrast.cmh import Ints, Tables, count
from tasks.contrast.features import Bools, Columns


@dataclass(frozen=True)
class Sample:
    """Units of a family, all with a known outcome.

    ``stratum`` indexes ``strata``. ``fresh`` marks groups that arrived after the family's last confirmation look.
    """

    columns: Columns
    success: Bools
    stratum: Ints
    strata: Sequence[str]
    groups: Sequence[str]
    agents: Sequence[str]
    fresh: Bools

    def tables(self, units: Bools | None = None) -> Tables:
        """Counts over all units, or over some."""
        if units is None:
            return count(self.columns, self.success, self.stratum, len(self.strata))
        some = Columns(self.columns.predicates, self.columns.values[units], self.columns.mask[units])
        return count(some, self.success[units], self.stratum[units], len(self.strata))

    def crude(self) -> Tables:
        """Counts as if every unit were of one stratum: what an unstratified comparison would look at."""
        return count(self.columns, self.success, np.zeros(len(self.success), np.int64), 1)

    def informative_strata(self, units: Bools | None = None) -> Bools:
        """Strata where both outcomes were seen."""
        kept = np.ones(len(self.success), bool) if units is None else units
        won = np.bincount(self.stratum[kept & self.success], minlength=len(self.strata))
        lost = np.bincount(self.stratum[kept & ~self.success], minlength=len(self.strata))
        return (won > 0) & (lost > 0)

    def with_columns(self, columns: Columns) -> Sample:
        """The same units with other features."""
        return Sample(columns, self.success, self.stratum, self.strata, self.groups, self.agents, self.fresh)

    def only(self, units: Bools) -> Sample:
        """Some of the units; strata keep their numbers."""
        rows = np.flatnonzero(units).tolist()
        columns = Columns(self.columns.predicates, self.columns.values[units], self.columns.mask[units])
        groups, agents = ([of[row] for row in rows] for of in (self.groups, self.agents))
        return Sample(columns, self.success[units], self.stratum[units], self.strata, groups, agents, self.fresh[units])

    def shuffled(self, random: np.random.Generator) -> Sample:
        """Outcomes shuffled within strata: the null of every test here, for simulations."""
        order = np.lexsort((random.random(len(self.success)), self.stratum))
        success = np.empty_like(self.success)
        success[np.argsort(self.stratum, kind="stable")] = self.success[order]
        return Sample(self.columns, success, self.stratum, self.strata, self.groups, self.agents, self.fresh)
