"""Whether a claim stands on what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tasks.cluster.independence import Record, sketch
from tasks.contrast.facts import Facts
from tasks.contrast.predicate import Predicate
from tasks.contrast.table import FactsTable, Reading, table_of
from tasks.contrast.units import Run
from tasks.verify.support import NOTHING, Remaining, compare, remaining, weigh

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
            made.append(Run(record, "cancel" if did else "", outcome, "verifier", "bot", None, "r1"))
    return made


def table(some: Sequence[Run]) -> FactsTable:
    """The facts of these runs: each notes in its description which call it made."""
    return table_of(
        [Reading(r.record.episode_id, Facts(first={r.description: (0, "c1")} if r.description else {}),
                 r.record.sketch) for r in some]
    )  # fmt: skip


def weighed(some: Sequence[Run], echoes: Sequence[str] = ()) -> Remaining:
    plain = [replace(run, description="") for run in some]
    return weigh(plain, table(some), AVOID, salt="s", echoes=echoes)


def stands(some: Sequence[Run], echoes: Sequence[str] = ()) -> bool:
    return weighed(some, echoes).stands


def test_nothing_left_is_no_support() -> None:
    assert weigh([], table([]), AVOID, salt="s") == NOTHING


def test_a_claim_stands_on_enough_tasks_that_agree() -> None:
    left = weighed(runs(8))
    assert left.stands
    assert (left.support, left.counter, left.strata, left.odds_ratio) == (16, 0, 8, 0.0)
    assert "16 independent groups for it and 0 against, 8 tasks that tell" in left.words()


def test_evidence_the_other_way_does_not_support_it() -> None:
    assert not stands(runs(8, harmful=False))


def test_runs_of_tasks_with_one_outcome_say_nothing() -> None:
    assert not stands([run for run in runs(8) if run.outcome == "failure"])


def test_one_group_is_an_anecdote() -> None:
    one_session = [replace(run, record=replace(run.record, session="same")) for run in runs(8)]
    assert not stands(one_session)


def test_what_the_agent_says_of_itself_does_not_count() -> None:
    assert not stands([replace(run, outcome_source="self-reported") for run in runs(8)])


def test_runs_that_had_read_a_rule_akin_to_it_are_its_echo() -> None:
    some = runs(8)
    assert not stands(some, [run.record.episode_id for run in some])
    assert stands(some)


def test_an_echo_that_speaks_against_the_claim_is_counted_and_changes_no_comparison() -> None:
    some = runs(8)
    against = replace(some[0], record=replace(some[0].record, episode_id="x", session="x"), outcome="success")
    assert weighed([*some, against], ["x"]) == replace(weighed(some), counter=1)


def test_forty_echoes_weigh_what_one_does_and_forty_runs_of_their_own_weigh_forty() -> None:
    some, alike = runs(8), runs(48)[32:192]
    echoes = [run.record.episode_id for run in alike]
    assert weighed([*some, *alike], echoes) == weighed([*some, alike[0]], echoes[:1]) == weighed(some)
    assert weighed([*some, *alike]).support == weighed(some).support + 80


def test_what_is_left_can_be_asked_of_the_fresh_alone() -> None:
    old, new = runs(4), [replace(run, consumed_by="r2") for run in runs(12)[16:]]
    plain = [replace(run, description="") for run in [*old, *new]]
    compared = compare(plain, table([*old, *new]), AVOID, salt="s", last_look="r1")
    assert remaining(compared).support == 24
    assert remaining(compared, compared.sample.fresh).support == 16
