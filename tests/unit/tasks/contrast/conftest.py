"""Invented samples with a known truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate
from tasks.contrast.sample import Sample


def make_sample(
    seed: int,
    *,
    tasks: int = 30,
    runs: int = 8,
    features: int = 20,
    effect: float = 0.0,
    agent_effect: float = 0.0,
    agents: int = 4,
) -> Sample:
    """Tasks of varied difficulty; hard tasks use more of every call, which confounds all of them.

    The first feature lowers the log odds of success by ``effect``. The second is a habit of weak agents, harmless in
    itself; an agent's weakness is ``agent_effect`` times its number.
    """
    random = np.random.default_rng(seed)
    stratum = np.repeat(np.arange(tasks), runs)
    agent = random.integers(0, agents, tasks * runs)
    difficulty = random.normal(0, 1.5, tasks)[stratum]
    values = random.random((tasks * runs, features)) < 1 / (1 + np.exp(-difficulty[:, None]))
    values[:, 1] = random.random(tasks * runs) < 0.1 + 0.8 * agent / max(agents - 1, 1)
    log_odds = 0.5 - difficulty - effect * (values[:, 0] - 0.5) - agent_effect * (agent - (agents - 1) / 2)
    success = random.random(tasks * runs) < 1 / (1 + np.exp(-log_odds))
    columns = Columns(
        [Predicate("call-present", (f"call_{i:02}",)) for i in range(features)], values, np.ones_like(values)
    )
    names = [f"task-{i}" for i in range(tasks)]
    groups = [f"g{i}" for i in range(tasks * runs)]
    fresh = np.ones(tasks * runs, dtype=bool)
    return Sample(columns, success, stratum.astype(np.int64), names, groups, [f"agent-{a}" for a in agent], fresh)


def take_part(whole: Sample, units: np.ndarray, fresh: np.ndarray) -> Sample:
    """Some of the units, of which those in ``fresh`` arrived since the last look."""
    rows = np.flatnonzero(units)
    return Sample(
        Columns(whole.columns.predicates, whole.columns.values[rows], whole.columns.mask[rows]),
        whole.success[rows],
        whole.stratum[rows],
        whole.strata,
        [whole.groups[row] for row in rows],
        [whole.agents[row] for row in rows],
        fresh[rows],
    )


@pytest.fixture
def sample() -> Callable[..., Sample]:
    return make_sample


@pytest.fixture
def part() -> Callable[..., Sample]:
    return take_part
