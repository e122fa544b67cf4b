"""Faults that people reported in public of systems like this one, restated small: what must come out instead."""

from __future__ import annotations

from typing import Any

import pytest

from storage.queries import candidates as candidate_queries
from tasks.ingest.policy import BadPolicy, read_policy

from .conftest import Town, trip, trips


def promoted(town: Town) -> str:
    """The rule about looking at the fare, made by a night and a person."""
    town.bring(trips())
    town.night()
    for candidate, _ in town.queue():
        town.approve(candidate)
    (rule, *_) = town.serve("first")["rules"]
    return str(rule["id"])


def about(town: Town, call: str = "get_fare") -> list[Any]:
    return [(c, r) for c, r in town.queue() if call in str(r.content.get("predicate"))]


def test_a_revoked_rule_is_not_drafted_as_new_from_the_runs_it_was_made_of(town: Town) -> None:
    rule_id = promoted(town)
    town.revoke(rule_id, "the fare desk moved")
    town.bring(trips("unlike", tasks=3, each=2))
    town.night()
    assert about(town) == []


def test_a_revoked_rule_comes_back_on_runs_of_its_own_marked_with_why_it_was_revoked(town: Town) -> None:
    rule_id = promoted(town)
    town.revoke(rule_id, "the fare desk moved")
    town.bring(trips("grown", tasks=14, each=8))
    town.night()
    ((candidate, revision),) = about(town)
    assert candidate.revoked_before
    assert revision.packet["revoked_before"]["reason"] == "the fare desk moved"
    (check,) = [each for each in revision.packet["checks"] if each["name"] == "revoked-before"]
    assert (check["verdict"], "the fare desk moved" in check["detail"]) == ("warn", True)
    assert [rule["id"] for rule in town.serve()["rules"]] == []


def test_forty_repeats_of_an_injected_rule_make_no_candidate_and_leave_its_support_where_it_was(town: Town) -> None:
    """Through every way of exposure: server's rows, the run's own claim, and nothing but the rule's text in the run."""
    rule_id = promoted(town)
    before = town.support(rule_id)
    (rule, *_) = town.serve()["rules"]
    text = " ".join([rule["when_to_use"], *rule["guidance"]])
    for n in range(14):
        town.serve(f"s-row-{n}")
    by_row = [trip(f"row-{n}", n % 7, "failure" if n % 2 else "success") for n in range(14)]
    by_text = [trip(f"text-{n}", n % 7, "failure" if n % 2 else "success", user=text) for n in range(13)]
    claimed = [trip(f"claim-{n}", n % 7, "failure" if n % 2 else "success") for n in range(13)]
    for record in claimed:
        record["steps"].insert(1, {"id": "m", "kind": "memory_read", "rule": rule_id, "version": 1, "snapshot": "…"})
    town.bring([*by_row, *by_text, *claimed])
    run = town.night()
    assert about(town) == []
    assert town.support(rule_id) == before
    (verdict,) = [one for one in town.result(run, "recheck")["verdicts"] if one["rule"] == rule_id]
    assert verdict["verdict"] == "no-comparison"


def test_forty_runs_that_read_nothing_do_raise_the_count(town: Town) -> None:
    """The control of the echoes: the same runs without the exposure are support."""
    town.bring(trips())
    town.night()
    ((_, before),) = about(town)
    town.bring([trip(f"own-{n}", n % 10, "failure" if n % 2 else "success") for n in range(40)])
    town.night()
    ((_, after),) = about(town)
    assert after.packet["evidence"]["support"] == before.packet["evidence"]["support"] + 20
    assert after.packet["evidence"]["independent_groups"] == before.packet["evidence"]["independent_groups"] + 40


@pytest.mark.parametrize("exposed", [True, False], ids=["exposed", "control"])
def test_a_run_exposed_to_a_rule_never_supports_the_rule_reworded(town: Town, exposed: bool) -> None:
    """The habit in other words, too late a look instead of none, counts where none had read the rule, and else not."""
    rule_id = promoted(town)
    for n in range(60 if exposed else 0):
        town.serve(f"s-kin-{n}")
    town.bring(
        [
            trip(f"kin-{n}", n % 10, "failure" if n // 10 % 2 else "success",
                 calls=["pay_booking", "get_fare"] if n // 10 % 2 else ["get_fare", "pay_booking"])
            for n in range(60)
        ]
    )  # fmt: skip
    run = town.night()
    with town.database.read() as session:
        drafts = candidate_queries.drafts_of(session, run.namespace, run.id)
        groups = [d.packet["evidence"]["independent_groups"] for d in drafts if "get_fare" in str(d.content)]
    assert max(groups, default=0) <= 60 if exposed else max(groups) == 120
    assert about(town) == [], "the active rule says it already"
    assert [rule["id"] for rule in town.serve("later")["rules"]] == [rule_id]


def test_usage_is_never_truth(town: Town) -> None:
    """What is asked for daily is not promoted for it; what nobody recalled is neither refused nor dropped for it."""
    town.bring(trips())
    town.night()
    staged = {candidate.id for candidate, _ in town.queue()}
    for n in range(5):
        assert town.serve(f"s-asks-{n}", task="Before calling pay_booking, what do I do?")["rules"] == []
    town.night()
    assert {candidate.id for candidate, _ in town.queue()} == staged
    with pytest.raises(BadPolicy):
        read_policy({"promote_after_recalls": 3})
    results = [town.approve(candidate) for candidate, _ in town.queue()]
    assert {result.state for result in results} == {"promoted"}
    for _ in range(2):
        town.night()
    active = {rule["id"] for rule in town.serve("s-first-reader")["rules"]}
    assert {result.rule_id for result in results} <= active
