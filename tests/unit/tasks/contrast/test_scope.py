"""Releases: the scope of a habit, or a defect of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tasks.contrast.analyse import Question, analyse
from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate
from tasks.contrast.sample import Sample
from tasks.contrast.verdict import Finding

QUESTION = Question("lab", "fam", alpha=0.03)


def released(seed: int, harm: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]) -> Sample:
    """24 tasks of 50 runs at release 1 or 2; a habit, five other calls, and the long runs of whoever fails."""
    random = np.random.default_rng(seed)
    n = 1200
    stratum = np.repeat(np.arange(24), 50)
    old, habit = random.random(n) < 0.5, random.random(n) < 0.4
    others = random.random((n, 5)) < 0.4
    success = (random.random(n) < 0.75) & ~(harm(old, habit, stratum) & (random.random(n) < 0.7))
    long = random.random(n) < np.where(success, 0.2, 0.6)
    values = np.column_stack([habit, others, old, long])
    predicates = [
        Predicate("call-present", ("habit",)),
        *(Predicate("call-present", (f"other_{i}",)) for i in range(5)),
        Predicate("environment", ("api", "1")),
        Predicate("length", ("12",)),
    ]
    return Sample(
        Columns(predicates, values, np.ones_like(values)), success, stratum, [f"t{i}" for i in range(24)],
        [f"g{i}" for i in range(n)], [f"a{i % 3}" for i in range(n)], np.ones(n, bool),
    )  # fmt: skip


def confirmed(sample: Sample) -> list[Finding]:
    return [finding for finding in analyse(sample, QUESTION).findings if finding.verdict == "confirmed"]


@pytest.mark.parametrize("seed", range(3))
def test_a_release_at_which_a_habit_hurts_is_the_scope_of_the_habit_and_no_second_finding(seed: int) -> None:
    (finding,) = confirmed(released(seed, lambda old, habit, _: old & habit))
    assert finding.predicate.parts == ("habit",)
    assert Predicate("environment", ("api", "1"), "avoid") in finding.also_worded
    assert "at api 1 the odds ratio is" in finding.statement
    assert [each.version for each in finding.releases] == ["1", "other releases"]


@pytest.mark.parametrize("seed", range(3))
def test_a_defect_of_a_release_beside_a_habit_is_a_finding_of_its_own(seed: int) -> None:
    found = {finding.predicate.parts for finding in confirmed(released(seed, lambda old, habit, _: old | habit))}
    assert found == {("habit",), ("api", "1")}


def test_long_runs_are_reported_as_a_consequence_and_never_confirmed() -> None:
    findings = analyse(released(1, lambda old, habit, _: habit), QUESTION).findings
    (length,) = [finding for finding in findings if finding.predicate.kind == "length"]
    assert length.verdict == "consequence"
    assert length.held_out is None
    assert "no advice" in length.statement
    habit = next(finding for finding in findings if finding.predicate.parts == ("habit",))
    assert habit.verdict == "confirmed"
