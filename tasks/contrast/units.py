"""From the episodes of a family to the units of its tests: one independent group, one row. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.cluster.independence import Record, group_ids
from tasks.cluster.kin import Promoted, VersionKey, kin_of
from tasks.cluster.strata import stratum_names
from tasks.contrast.cap import capped_columns
from tasks.contrast.features import Bools, Columns, View, build_columns, distinct
from tasks.contrast.predicate import Predicate
from tasks.contrast.sample import Sample
from tasks.contrast.table import FactsTable

SELF_REPORTED = "self-reported"
MIN_SUPPORT = 3


@dataclass(frozen=True)
class Run:
    """One consumed episode as the contrast sees it. ``principal`` is None where its groups are not capped."""

    record: Record
    description: str
    outcome: str
    outcome_source: str
    agent: str
    principal: str | None
    consumed_by: str

    @property
    def decides(self) -> bool:
        """Whether its outcome is known and was not only said by the agent itself."""
        return self.outcome in ("success", "failure") and self.outcome_source != SELF_REPORTED


@dataclass(frozen=True)
class Units:
    """The units, their facts, and the sample made of them, row by row; ``groups`` covers every episode.

    ``arrived`` is the run in which each unit's group was first seen; ``dropped_by_cap`` counts units that some feature
    does without, since their principal brings too many.
    """

    runs: list[Run]
    table: FactsTable
    sample: Sample
    groups: dict[str, str]
    arrived: list[str]
    dropped_by_cap: int


def build_units(
    runs: Sequence[Run],
    table: FactsTable,
    *,
    salt: str,
    last_look: str | None,
    predicates: Sequence[Predicate] | None = None,
) -> Units:
    """Units of a family.

    Args:
        runs: every episode, in the order of arrival. The first of a group whose outcome decides stands for the group.
        table: the facts of these episodes, in the same order.
        last_look: the run that last spent alpha on what is asked; groups it could see are not fresh.
        predicates: the features to make; all that have support if absent.
    """
    groups = group_ids([run.record for run in runs])
    names = stratum_names([(run.record.task, run.description) for run in runs])
    first: dict[str, int] = {}
    seen_first: dict[str, str] = {}
    for index, run in enumerate(runs):
        group = groups[run.record.episode_id]
        seen_first.setdefault(group, run.consumed_by)
        if run.decides:
            first.setdefault(group, index)
    rows = list(first.values())
    units, facts = [runs[index] for index in rows], table.take(rows)
    owners = [groups[run.record.episode_id] for run in units]
    fresh = np.array([last_look is None or seen_first[group] > last_look for group in owners], dtype=bool)
    columns = distinct(build_columns(facts, MIN_SUPPORT)) if predicates is None else columns_of(facts, predicates)
    sample = _sample(units, columns, [names[index] for index in rows], owners, fresh)
    capped = capped_columns(columns, sample.success, sample.stratum, owners, [run.principal for run in units], salt)
    dropped = int((columns.mask & ~capped.mask).any(1).sum())
    sample = sample.with_columns(capped)
    return Units(units, facts, sample, groups, [seen_first[group] for group in owners], dropped)


def columns_of(table: FactsTable, predicates: Sequence[Predicate]) -> Columns:
    """These features and no others, whatever their support."""
    view = View(table)
    found = [view.column(predicate) for predicate in predicates]
    empty = np.zeros((len(table), 0), dtype=bool)
    values = np.stack([value for value, _ in found], 1) if found else empty
    masks = np.stack([mask for _, mask in found], 1) if found else empty.copy()
    return Columns([predicate.undirected() for predicate in predicates], values, masks)


def _sample(
    units: Sequence[Run], columns: Columns, names: Sequence[str], owners: Sequence[str], fresh: npt.NDArray[np.bool_]
) -> Sample:
    strata = sorted(set(names))
    place = {name: index for index, name in enumerate(strata)}
    success = np.array([run.outcome == "success" for run in units], dtype=bool)
    stratum = np.array([place[name] for name in names], dtype=np.int64)
    return Sample(columns, success, stratum, strata, owners, [run.agent for run in units], fresh)


def without_kin(
    sample: Sample, units: Sequence[Run], reads: Mapping[str, Collection[VersionKey]], rules: Promoted
) -> Sample:
    """The sample with, for each feature, the runs left out that had read a rule akin to it.

    A run that read a rule is its echo, and no independent evidence for it or for its kin; see ``kin_of``.

    Args:
        reads: by episode id, the versions the run may have read.
    """
    readers: dict[VersionKey, list[int]] = {}
    for row, run in enumerate(units):
        for key in reads.get(run.record.episode_id, ()):
            readers.setdefault(key, []).append(row)
    if not readers:
        return sample
    mask = sample.columns.mask.copy()
    for column, predicate in enumerate(sample.columns.predicates):
        for key in kin_of(predicate, rules) & readers.keys():
            mask[readers[key], column] = False
    columns = Columns(sample.columns.predicates, sample.columns.values & mask, mask)
    return sample.with_columns(columns)


def speaks_against(predicate: Predicate, success: Bools) -> Bools:
    """Of runs that show a directed predicate, those whose outcome is not the one it promises."""
    return success if predicate.direction == "avoid" else ~success


def showing(units: Units, predicate: Predicate, feature: int) -> list[int]:
    """Rows that show the predicate, those of informative strata first; a rule's echoes only where they speak against.

    The comparison leaves echoes out on both sides: taking in those that speak against it alone would select by outcome
    and in time bury every rule that is read. A reviewer is shown them, and counts them, all the same.
    """
    table = units.sample.with_columns(units.sample.columns.take([feature])).tables()
    informative = table.informative[:, 0][units.sample.stratum]
    value, mask = View(units.table).column(predicate)
    counts = units.sample.columns.mask[:, feature] | speaks_against(predicate, units.sample.success)
    rows = np.flatnonzero(value & mask & counts)
    return [int(row) for row in rows[np.argsort(~informative[rows], kind="stable")]]
