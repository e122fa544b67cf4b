"""The same calls in the same task with both outcomes, and a claim's own counter-episodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tasks.conflict.counter import MOST as MOST_TASKS
from tasks.conflict.counter import tasks_against
from tasks.conflict.mixed import MOST, Tally, mixed_outcomes


def both(task: str, success: int, failure: int) -> list[Tally]:
    return [Tally("f", task, "act", "success", success), Tally("f", task, "act", "failure", failure)]


def test_about_as_many_successes_as_failures_are_mixed() -> None:
    found = mixed_outcomes([*both("even", 5, 5), *both("third", 6, 3), *both("rare", 30, 4), *both("few", 2, 2)])
    assert [(one.task, one.success, one.failure) for one in found] == [("even", 5, 5), ("third", 6, 3)]


def test_other_calls_or_another_task_are_no_contradiction() -> None:
    assert mixed_outcomes([Tally("f", "t", "a", "success", 9), Tally("f", "t", "b", "failure", 9)]) == []
    assert mixed_outcomes([Tally("f", "t", "a", "success", 9), Tally("f", "u", "a", "failure", 9)]) == []
    assert mixed_outcomes([Tally("f", "t", "a", "success", 9), Tally("g", "t", "a", "failure", 9)]) == []


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=30), st.randoms(use_true_random=False))
def test_few_are_kept_worst_first_whatever_the_order(counts: list[tuple[int, int]], shuffler) -> None:
    tallies = [tally for n, pair in enumerate(counts) for tally in both(f"t{n:02}", *pair)]
    mixed = list(tallies)
    shuffler.shuffle(mixed)
    found = mixed_outcomes(tallies)
    assert found == mixed_outcomes(mixed)
    assert len(found) <= MOST
    fewer = [min(one.success, one.failure) for one in found]
    assert fewer == sorted(fewer, reverse=True)


def row(task: str, s1: int, s0: int, f1: int, f0: int) -> dict[str, object]:
    return {"stratum": task, "success_with": s1, "success_without": s0, "failure_with": f1, "failure_without": f0}


def test_a_task_whose_runs_speak_against_a_claim_is_named() -> None:
    strata = [row("for", 0, 5, 5, 0), row("against", 5, 1, 0, 4), row("mostly", 4, 1, 2, 4), row("little", 2, 0, 0, 2)]
    found = tasks_against(strata, "avoid")
    assert [(one.task, one.kind, one.counter, one.support) for one in found] == [
        ("against", "contradiction", 5, 0), ("mostly", "overlap", 4, 2)
    ]  # fmt: skip
    assert [one.task for one in tasks_against(strata, "do")] == ["for"]


def test_many_runs_against_it_are_no_contradiction_where_leaving_it_out_ends_no_better() -> None:
    assert tasks_against([row("easy", 9, 9, 1, 1)], "avoid") == []


def test_few_tasks_are_named_the_worst_first() -> None:
    strata = [row(f"t{n}", 5 + n, 0, 0, 5) for n in range(10)]
    assert [one.task for one in tasks_against(strata, "avoid")] == ["t9", "t8", "t7"][:MOST_TASKS]
