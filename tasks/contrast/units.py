"""From the episodes of a family to the units of its tests: one independent group, one row. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.cluster.independence import Record, capped, group_ids
from tasks.cluster.strata import stratum_names
from tasks.contrast.facts import Facts, holds
from tasks.contrast.features import Bools, Columns, build_columns, distinct
from tasks.contrast.predicate import Predicate
from tasks.contrast.sample import Sample

SELF_REPORTED = "self-reported"
MIN_SUPPORT = 3


@dataclass(frozen=True)
class Run:
    """One consumed episode as the contrast sees it. ``principal`` is None where its groups are not capped."""

    record: Record
    facts: Facts
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
    """The units and the sample made of them, row by row; ``groups`` covers every episode, counted or not."""

    runs: list[Run]
    sample: Sample
    groups: dict[str, str]
    dropped_by_cap: int


def build_units(runs: Sequence[Run], *, salt: str, last_look: str | None) -> Units:
    """Units of a family.

    Args:
        runs: every episode, in the order of arrival. The first of a group whose outcome decides stands for the group.
        last_look: the run that last spent alpha on this family; groups it could see are not fresh.
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
    kept = capped(list(first), [runs[index].principal for index in first.values()], salt)
    rows = [index for group, index in first.items() if group in kept]
    units = [runs[index] for index in rows]
    owners = [groups[run.record.episode_id] for run in units]
    fresh = np.array([last_look is None or seen_first[group] > last_look for group in owners], dtype=bool)
    sample = _sample(units, [names[index] for index in rows], owners, fresh)
    return Units(units, sample, groups, len(first) - len(rows))


def _sample(units: Sequence[Run], names: Sequence[str], owners: Sequence[str], fresh: np.ndarray) -> Sample:
    strata = sorted(set(names))
    place = {name: index for index, name in enumerate(strata)}
    columns = distinct(build_columns([run.facts for run in units], MIN_SUPPORT))
    success = np.array([run.outcome == "success" for run in units], dtype=bool)
    stratum = np.array([place[name] for name in names], dtype=np.int64)
    return Sample(columns, success, stratum, strata, owners, [run.agent for run in units], fresh)


def without_kin(sample: Sample, units: Sequence[Run], readers: Mapping[str, Collection[Predicate]]) -> Sample:
    """The sample with, for each feature, the runs left out that had read a rule akin to it.

    A rule and a feature are kin if they speak of the same calls, or the one's calls are among the other's: a run that
    read the rule is its echo, and no independent evidence for it.

    Args:
        readers: by episode id, the predicates of the rules the run may have read.
    """
    if not any(readers.get(run.record.episode_id) for run in units):
        return sample
    mask = sample.columns.mask.copy()
    for column, predicate in enumerate(sample.columns.predicates):
        for row, run in enumerate(units):
            if any(are_kin(predicate, rule) for rule in readers.get(run.record.episode_id, ())):
                mask[row, column] = False
    columns = Columns(sample.columns.predicates, sample.columns.values & mask, mask)
    return sample.with_columns(columns)


def speaks_against(predicate: Predicate, success: Bools) -> Bools:
    """Of runs that show a directed predicate, those whose outcome is not the one it promises."""
    return success if predicate.direction == "avoid" else ~success


def are_kin(one: Predicate, two: Predicate) -> bool:
    """Whether two predicates may be one rule in other words."""
    if one.undirected() == two.undirected():
        return True
    left, right = set(one.calls), set(two.calls)
    return bool(left and right) and (left <= right or right <= left)


def showing(units: Units, predicate: Predicate, feature: int) -> list[int]:
    """Rows that show the predicate, those of informative strata first; a rule's echoes only where they speak against.

    The comparison leaves echoes out on both sides: taking in those that speak against it alone would select by outcome
    and in time bury every rule that is read. A reviewer is shown them, and counts them, all the same.
    """
    table = units.sample.with_columns(units.sample.columns.take([feature])).tables()
    informative, counts = table.informative[:, 0], units.sample.columns.mask[:, feature]
    against = speaks_against(predicate, units.sample.success)
    rows = [row for row, run in enumerate(units.runs) if holds(predicate, run.facts) and (counts[row] or against[row])]
    return sorted(rows, key=lambda row: (not informative[units.sample.stratum[row]], row))
