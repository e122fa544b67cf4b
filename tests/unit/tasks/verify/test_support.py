"""Whether a claim stands on what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tasks.cluster.independence import Record, sketch
from tasks.contrast.facts import Facts
from tasks.contrast.predicate import Predicate
from tasks.contrast.units import Run
from tasks.verify.support import NOTHING, weigh

AVOID = Predicate("call-present", ("cancel",), "avoid")


def runs(tasks: int, *, harmful: bool = True) -> list[Run]:
    """Two failures with the call and two successes without it in every task, or the other way round."""
    made = []
    for task in range(tasks):
        for n in range(4):
            did = n < 2
            outcome = "failure" if did == harmful else "success"
            name = f"e{task}-{n}"
            record = Record(name, f"t{task}", f"s{name}", None, None, (name,), sketch(f"{name} " * 30))
            facts = Facts(first={"cancel": (0, "c1")} if did else {})
            made.append(Run(record, facts, "", outcome, "verifier", "bot", None, "r1"))
    return made


def stands(some: Sequence[Run], readers: dict[str, list[Predicate]] | None = None) -> bool:
    return weigh(some, AVOID, salt="s", readers=readers or {}).stands


def test_nothing_left_is_no_support() -> None:
    assert weigh([], AVOID, salt="s", readers={}) == NOTHING


def test_a_claim_stands_on_enough_tasks_that_agree() -> None:
    left = weigh(runs(8), AVOID, salt="s", readers={})
    assert left.stands
    assert (left.support, left.counter, left.strata, left.odds_ratio) == (16, 0, 8, 0.0)
    assert "16 independent groups for it and 0 against, 8 tasks that tell" in left.words()


def test_evidence_the_other_way_does_not_support_it() -> None:
    assert not stands(runs(8, harmful=False))


def test_runs_of_tasks_with_one_outcome_say_nothing() -> None:
    assert not stands([run for run in runs(8) if run.outcome == "failure"])


def test_one_group_is_an_anecdote() -> None:
    one_session = [
        Run(
            Record(r.record.episode_id, r.record.task, "same", None, None, r.record.names, r.record.sketch),
            r.facts, "", r.outcome, "verifier", "bot", None, "r1",
        )
        for r in runs(8)
    ]  # fmt: skip
    assert not stands(one_session)


def test_what_the_agent_says_of_itself_does_not_count() -> None:
    assert not stands([Run(r.record, r.facts, "", r.outcome, "self-reported", "bot", None, "r1") for r in runs(8)])


def test_runs_that_had_read_a_rule_akin_to_it_are_its_echo() -> None:
    some = runs(8)
    akin = {run.record.episode_id: [AVOID] for run in some}
    assert not stands(some, akin)
    unrelated = {run.record.episode_id: [Predicate("call-present", ("pay",), "avoid")] for run in some}
    assert stands(some, unrelated)


def test_an_echo_that_speaks_against_the_claim_is_counted_and_changes_no_comparison() -> None:
    some = runs(8)
    against = replace(some[0], record=replace(some[0].record, episode_id="x", session="x"), outcome="success")
    told = weigh([*some, against], AVOID, salt="s", readers={"x": [AVOID]})
    alone = weigh(some, AVOID, salt="s", readers={})
    assert told == replace(alone, counter=1)
