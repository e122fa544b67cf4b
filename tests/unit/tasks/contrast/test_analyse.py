from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from tasks.contrast.agent import adjust
from tasks.contrast.analyse import Analysis, PastLook, Question, analyse
from tasks.contrast.cmh import effects
from tasks.contrast.confirm import MOST_FOLDS
from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate, predicate_id
from tasks.contrast.redundancy import wordings
from tasks.contrast.sample import Sample
from tasks.contrast.verdict import Finding, Stratum, exceptions

Make = Callable[..., Sample]
QUESTION = Question("lab", "fam", alpha=0.03)
PLANTED = Predicate("call-present", ("call_00",))


def by_call(analysis: Analysis) -> Mapping[str, Finding]:
    return {finding.predicate.parts[0]: finding for finding in analysis.findings}


def add_column(whole: Sample, predicate: Predicate, values: np.ndarray) -> Sample:
    columns = whole.columns
    return whole.with_columns(
        Columns(
            [*columns.predicates, predicate],
            np.column_stack([columns.values, values]),
            np.column_stack([columns.mask, np.ones(len(values), bool)]),
        )
    )


def test_a_planted_habit_is_confirmed_once_and_says_its_figures(sample: Make) -> None:
    finding = by_call(analyse(sample(11, effect=3.0), QUESTION))["call_00"]
    assert (finding.verdict, finding.predicate.direction) == ("confirmed", "avoid")
    effect = finding.effect
    assert f"in {effect.success_with} of {effect.success_total} successes" in finding.statement
    assert (
        f"{effect.failure_with} of {effect.failure_total} failures of the same {effect.strata} tasks"
        in finding.statement
    )
    assert "confirmed on" in finding.statement
    informative = [each for each in finding.strata if each.informative]
    assert len(informative) == effect.strata
    assert sum(each.success_with for each in informative) == effect.success_with


def test_calls_that_only_hard_tasks_use_are_confounded_and_nothing_of_them_is_confirmed(sample: Make) -> None:
    findings = analyse(sample(12), QUESTION).findings
    confounded = [finding for finding in findings if finding.verdict == "confounded"]
    assert len(confounded) >= 5
    assert all("hard tasks from easy ones" in finding.statement for finding in confounded)
    assert all(finding.crude_q <= 0.10 < finding.effect.q_value for finding in confounded)
    assert not [finding for finding in findings if finding.verdict == "confirmed"]


def test_a_habit_of_weak_agents_is_confounded_by_the_agent(sample: Make) -> None:
    finding = by_call(analyse(sample(13, agent_effect=2.0, tasks=60), QUESTION))["call_01"]
    assert finding.verdict == "agent-confounded"


def test_a_true_habit_survives_adjusting_for_the_agent(sample: Make) -> None:
    finding = by_call(analyse(sample(14, effect=3.0, agent_effect=1.0, tasks=60), QUESTION))["call_00"]
    assert finding.verdict == "confirmed"
    assert finding.agent_adjusted.verdict == "same"
    assert finding.agent_adjusted.odds_ratio == pytest.approx(np.exp(-3), rel=1)


def test_what_no_agent_varies_in_cannot_be_told_from_the_agent(sample: Make) -> None:
    whole = sample(15, agent_effect=2.0, agents=2)
    weak = np.array([agent == "agent-1" for agent in whole.agents])
    whole = add_column(whole, Predicate("call-present", ("only_weak",)), weak)
    assert adjust(whole, whole.columns.values.shape[1] - 1, -2.0).verdict == "inseparable"


def test_one_agent_leaves_nothing_to_adjust(sample: Make) -> None:
    assert adjust(sample(16, agents=1), 0, -1.0).verdict == "one-agent"


def test_five_wordings_are_one_finding_and_the_simplest_stays(sample: Make) -> None:
    whole = sample(17, effect=3.0)
    habit = whole.columns.values[:, 0]
    for kind, parts in (("loop", ("x",)), ("order", ("x", "y")), ("argument", ("x", "y", "1"))):
        nearly = habit ^ (np.random.default_rng(len(parts)).random(len(habit)) < 0.01)
        whole = add_column(whole, Predicate(kind, parts), nearly)  # type: ignore[arg-type]
    confirmed = [finding for finding in analyse(whole, QUESTION).findings if finding.verdict == "confirmed"]
    assert [finding.predicate.parts for finding in confirmed] == [("call_00",)]
    assert confirmed[0].also_worded


def test_two_habits_that_both_matter_are_two_findings(sample: Make) -> None:
    whole = sample(18, effect=2.5, tasks=60)
    second = np.random.default_rng(1).random(len(whole.success)) < 0.5
    success = whole.success & ~(second & (np.random.default_rng(2).random(len(second)) < 0.7))
    whole = replace(add_column(whole, Predicate("call-present", ("other",)), second), success=success)
    last = len(whole.columns.predicates) - 1
    kept = [one for one, _ in wordings(whole, [0, last], effects(whole.tables()))]
    assert sorted(kept) == [0, last]


def test_too_little_evidence_says_how_much_more(sample: Make) -> None:
    suggestive = [f for seed in range(20, 26) for f in analyse(sample(seed, tasks=12, effect=1.2), QUESTION).findings]
    unsure = [finding for finding in suggestive if finding.verdict in ("insufficient", "unconfirmed")]
    assert unsure
    assert all("needs about" in finding.statement for finding in unsure)
    assert all(finding.needs is not None and finding.needs.tasks >= 1 for finding in unsure)


def test_after_as_much_more_as_was_asked_for_most_are_confirmed(sample: Make) -> None:
    asked = [
        (seed, by_call(analyse(sample(seed, tasks=10, effect=1.5), QUESTION)).get("call_00")) for seed in range(16)
    ]
    unsure = [(seed, finding.needs.tasks) for seed, finding in asked if finding is not None and finding.needs]
    later = [
        by_call(analyse(sample(seed + 1000, tasks=10 + tasks, effect=1.5), QUESTION))["call_00"]
        for seed, tasks in unsure
    ]
    assert len(later) >= 5
    assert sum(finding.verdict == "confirmed" for finding in later) >= 0.6 * len(later)


def test_an_earlier_confirmation_stands_while_its_groups_do(sample: Make) -> None:
    whole = sample(11, effect=3.0)
    units = len(whole.success)
    seen = analyse(whole, QUESTION)
    first = by_call(seen)["call_00"]
    trials = seen.trials[first.predicate_id]
    past = {first.predicate_id: [PastLook(t.fold, t.p_value, t.alpha, None, t.groups) for t in trials if t.confirmed]}
    nothing_new = replace(
        QUESTION, arrived=["run-1"] * units, looked={one: ["run-1"] * MOST_FOLDS for one in seen.trials}
    )
    later = by_call(analyse(whole, replace(nothing_new, past=past)))["call_00"]
    assert later.verdict == "confirmed"
    assert later.held_out is not None
    assert later.held_out.earlier
    assert by_call(analyse(whole, nothing_new))["call_00"].verdict == "unconfirmed"


def test_a_look_counts_for_a_feature_whichever_direction_it_was_given(sample: Make) -> None:
    whole = sample(11, effect=3.0)
    seen = analyse(whole, QUESTION)
    turned = {predicate_id("lab", "fam", PLANTED.toward("do")): ["run-1"] * MOST_FOLDS}
    again = analyse(whole, replace(QUESTION, arrived=["run-1"] * len(whole.success), looked=turned))
    assert by_call(seen)["call_00"].predicate_id in seen.trials
    assert by_call(seen)["call_00"].predicate_id not in again.trials


def test_the_order_of_units_does_not_matter(sample: Make) -> None:
    whole = sample(11, effect=3.0)
    order = np.random.default_rng(0).permutation(len(whole.success))
    turned = Sample(
        Columns(whole.columns.predicates, whole.columns.values[order], whole.columns.mask[order]),
        whole.success[order], whole.stratum[order], whole.strata, [whole.groups[i] for i in order],
        [whole.agents[i] for i in order], whole.fresh[order],
    )  # fmt: skip
    one, two = analyse(whole, QUESTION), analyse(turned, QUESTION)
    assert [f.statement for f in one.findings] == [f.statement for f in two.findings]


def test_tasks_where_successes_do_the_opposite_are_named_even_if_none_failed() -> None:
    strata = [Stratum("a", 0, 5, 4, 1), Stratum("b", 6, 0, 0, 0), Stratum("c", 1, 4, 3, 0), Stratum("d", 0, 9, 0, 0)]
    assert exceptions(strata, -1) == ["b"]
    assert exceptions(strata, 1) == ["a", "c"]


def test_nothing_to_compare_is_no_test(sample: Make) -> None:
    whole = sample(1)
    assert analyse(whole.with_columns(whole.columns.take([])), QUESTION).tests == 0


def test_no_claim_is_concluded_twice(sample: Make) -> None:
    """What one fold suggested may be gone on the whole, and is then confounded as well: it is said once."""
    for seed in range(12):
        found = analyse(sample(seed, tasks=24, features=40, effect=0.4), replace(QUESTION, alpha=0.05)).findings
        said = [finding.predicate_id for finding in found]
        assert len(said) == len(set(said)), f"seed {seed}"
