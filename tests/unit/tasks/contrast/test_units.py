from __future__ import annotations

from dataclasses import replace
from typing import Any

from tasks.cluster.independence import Record, sketch
from tasks.cluster.kin import Promoted, Told
from tasks.contrast import units as under_test
from tasks.contrast.facts import Facts
from tasks.contrast.predicate import Predicate
from tasks.contrast.table import Reading, table_of
from tasks.contrast.units import Run, Units, showing, without_kin

CANCEL = Predicate("call-present", ("cancel",))
FACTS: dict[str, Facts] = {}
"""Of every run made here, by its name."""


def told(rule: Predicate) -> Promoted:
    return Promoted((Told(("rule", 1), rule, ("Do not call it",)),))


def run(name: str, *, outcome: str = "success", calls: tuple[str, ...] = (), **changes: Any) -> Run:
    session = changes.pop("session", name)
    record = Record(name, changes.pop("task", "t"), session, None, None, (name,), sketch(name))
    facts = Facts({call: (place, f"c{place}") for place, call in enumerate(calls)})
    FACTS[name] = facts
    given = {"description": "", "outcome": outcome, "outcome_source": "verifier", "agent": "a", "principal": None}
    return Run(record, **{**given, "consumed_by": "run-1", **changes})


def build_units(runs: list[Run], **changes: Any) -> Units:
    readings = [
        Reading(one.record.episode_id, FACTS[one.record.episode_id], one.record.sketch, one.description) for one in runs
    ]
    return under_test.build_units(runs, table_of(readings), **changes)


def names(runs: list[Run], **changes: Any) -> list[str]:
    return [one.record.episode_id for one in build_units(runs, **{"salt": "s", "last_look": None, **changes}).runs]


def test_unknown_partial_and_self_reported_outcomes_never_enter() -> None:
    runs = [
        run("a"), run("b", outcome="unknown"), run("c", outcome="partial"), run("d", outcome_source="self-reported"),
    ]  # fmt: skip
    assert names(runs) == ["a"]


def test_the_first_decided_run_of_a_group_stands_for_it() -> None:
    runs = [run("a", session="s", outcome="unknown"), run("b", session="s", outcome="failure"), run("c", session="s")]
    assert names(runs) == ["b"]


def test_a_group_that_an_earlier_look_could_see_is_not_fresh() -> None:
    runs = [run("a", session="s"), run("b", session="s", consumed_by="run-2"), run("c", consumed_by="run-2")]
    units = build_units(runs, salt="s", last_look="run-1")
    assert units.sample.fresh.tolist() == [False, True]


def said(number: int) -> dict[str, Any]:
    """Half of the runs cancel, and those mostly fail: in every task both outcomes, with and without it."""
    cancels = number % 2 == 0
    return {
        "calls": ("cancel", "pay") if cancels else ("pay", "look"), "task": f"t{number // 8}",
        "outcome": "failure" if cancels != (number % 8 in (0, 1)) else "success",
    }  # fmt: skip


def counted(units: Units, prefix: str) -> int:
    """Groups of one maker that the comparison of cancelling rests on."""
    place = units.sample.columns.predicates.index(CANCEL)
    informative = units.sample.tables().informative[:, place][units.sample.stratum]
    rests_on = units.sample.columns.mask[:, place] & informative
    return sum(
        bool(on) and one.record.episode_id.startswith(prefix) for on, one in zip(rests_on, units.runs, strict=True)
    )


def test_one_token_brings_at_most_a_third_of_a_findings_groups() -> None:
    runs = [run(f"p{i}", principal="token", **said(i)) for i in range(160)]
    runs += [run(f"o{i}", **said(i)) for i in range(40)]
    units = build_units(runs, salt="s", last_look=None)
    assert counted(units, "o") == 40
    assert 0 < counted(units, "p") <= 20
    assert units.dropped_by_cap >= 140


def test_runs_that_say_nothing_of_a_finding_do_not_pay_for_a_tokens_share() -> None:
    runs = [run(f"p{i}", principal="token", **said(i)) for i in range(80)]
    runs += [run(f"o{i}", calls=("pay",), task=f"u{i % 9}", outcome=("success", "failure")[i % 2]) for i in range(300)]
    assert counted(build_units(runs, salt="s", last_look=None), "p") == 0


def test_operators_are_not_capped() -> None:
    units = build_units([run(f"o{i}", **said(i)) for i in range(80)], salt="s", last_look=None)
    assert (counted(units, "o"), units.dropped_by_cap) == (80, 0)


def test_a_run_that_read_a_rule_is_no_evidence_for_its_kin_and_stays_evidence_for_the_rest() -> None:
    runs = [run(f"r{i}", calls=("cancel", "pay") if i % 2 else ("pay", "look")[: i % 4]) for i in range(16)]
    units = build_units(runs, salt="s", last_look=None)
    left = without_kin(units.sample, units.runs, {"r1": [("rule", 1)]}, told(CANCEL.toward("avoid")))
    columns = left.columns
    place = columns.predicates.index(CANCEL)
    assert not columns.mask[1, place]
    assert columns.mask[3, place]
    other = columns.predicates.index(Predicate("call-present", ("look",)))
    assert columns.mask[1, other]


def test_a_rules_echo_is_shown_where_it_speaks_against_the_rule_and_nowhere_else() -> None:
    runs = [run(f"r{i}", calls=("cancel",), outcome="success" if i % 2 else "failure") for i in range(4)]
    runs += [run(f"n{i}") for i in range(4)]
    units = build_units(runs, salt="s", last_look=None)
    rule = CANCEL.toward("avoid")
    echoes = {name: [("rule", 1)] for name in ("r0", "r1")}
    units = replace(units, sample=without_kin(units.sample, units.runs, echoes, told(rule)))
    feature = units.sample.columns.predicates.index(CANCEL)
    shown = {units.runs[row].record.episode_id for row in showing(units, rule, feature)}
    assert shown == {"r1", "r2", "r3"}, "r0 did so and failed: no support for a rule it had read"
    opposite = {units.runs[row].record.episode_id for row in showing(units, CANCEL.toward("do"), feature)}
    assert opposite == {"r0", "r2", "r3"}
