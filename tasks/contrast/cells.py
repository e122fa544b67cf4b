"""What runs are compared within: a task or, where releases matter, a task at one release.

A release is the same all over such a cell, so a feature about the release itself is compared over whole tasks: its
counts are pooled into the first cell of each task, which keeps one shape for all features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tasks.contrast.cmh import Tables, count, effects
from tasks.contrast.features import Bools, Columns
from tasks.contrast.sample import Sample

Ints = npt.NDArray[np.int64]

MATTERS_P = 0.05


@dataclass(frozen=True)
class Cells:
    """The cell of every unit (``of``); each task has ``size`` neighbouring cells, one a release."""

    of: Ints
    tasks: int
    size: int

    @property
    def many(self) -> int:
        """How many cells there are."""
        return self.tasks * self.size

    def tables(self, sample: Sample, units: Bools) -> Tables:
        """Counts over some units, shape (cells, features)."""
        columns = sample.columns
        some = Columns(columns.predicates, columns.values[units], columns.mask[units])
        tables = count(some, sample.success[units], self.of[units], self.many)
        return Tables(*(self._pooled(part, about_releases(columns)) for part in tables.parts()))

    def spread(self, chosen: Bools, pooled: Bools) -> Bools:
        """A choice of cells by feature, for the ``pooled`` features carried over to all cells of a task."""
        if self.size == 1:
            return chosen
        by_task = chosen.reshape(self.tasks, self.size, -1).any(1)
        return np.where(pooled, np.repeat(by_task, self.size, axis=0), chosen)

    def _pooled(self, part: Ints, pooled: Bools) -> Ints:
        if self.size == 1 or not pooled.any():
            return part
        cut = part.reshape(self.tasks, self.size, -1).copy()
        cut[:, 0, pooled] = cut[:, :, pooled].sum(1)
        cut[:, 1:, pooled] = 0
        return cut.reshape(part.shape)


def about_releases(columns: Columns) -> Bools:
    """By feature, whether it is about a release and nothing that a run did."""
    return np.array([predicate.kind == "environment" for predicate in columns.predicates], dtype=bool)


def by_task(sample: Sample) -> Cells:
    """Whole tasks."""
    return Cells(sample.stratum, len(sample.strata), 1)


def by_release(sample: Sample, units: Bools) -> Cells:
    """Tasks, each cut by the release of the component whose release matters most to these units, if any does."""
    versions = np.flatnonzero(about_releases(sample.columns)).tolist()
    if not versions:
        return by_task(sample)
    p = effects(sample.with_columns(sample.columns.take(versions)).tables(units)).p
    if p.min() > MATTERS_P / len(versions):
        return by_task(sample)
    component = sample.columns.predicates[versions[int(np.argmin(p))]].parts[0]
    alike = [f for f in versions if sample.columns.predicates[f].parts[0] == component]
    release = np.zeros(len(sample.stratum), np.int64)
    for place, f in enumerate(alike):
        release[sample.columns.values[:, f] & sample.columns.mask[:, f]] = place + 1
    size = len(alike) + 1
    return Cells(sample.stratum * size + release, len(sample.strata), size)
