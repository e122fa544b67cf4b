"""Whom a model is asked about: the clusters whose mode and regime allow it, best first, and what that costs a mode."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from storage.ledger import add_steps, complete
from storage.tables import ModeChoice, Run
from support.modes import all_choices, choices, open_night, put_in_cluster, set_policy
from support.reviewing import Desk, Ran, finding
from tasks.draft import step as draft_step
from tasks.draft.model.budget import Drafting
from tasks.draft.model.chat import Question, Said


@dataclass
class Silent:
    """A model that finds nothing to learn, whatever it is shown."""

    name: str = "test/silent"
    asked: list[Question] = field(default_factory=list)

    def ask(self, question: Question, seconds: float) -> Said:
        """One answer by the schema."""
        assert seconds > 0
        self.asked.append(question)
        return Said(
            '{"draft": null, "reason": "the runs differ in nothing"}', tokens_in=900, tokens_out=12, seconds=0.5
        )


def draft(desk: Desk, run: Run, model: Silent, drafter: str = "model") -> dict[str, Any]:
    """The draft stage of a night with a model at hand; closes the night."""
    with desk.database.write() as session:
        add_steps(session, run, "draft", [""])
    settings = replace(desk.settings, drafting=Drafting(drafter))  # type: ignore[arg-type]
    claim = desk.claim(run)
    result = draft_step.run(desk.database, claim, replace(desk.context, model=model, settings=settings))
    with desk.database.write() as session:
        complete(session, claim, result)
        session.merge(run).state = "completed"
    return result


def mixed(desk: Desk, name: str, runs: int = 4) -> tuple[str, ...]:
    """Runs of one cluster with both outcomes."""
    made = [Ran(f"{name}{place}", outcome, ("look",)) for place in range(runs) for outcome in ("success", "failure")]
    ids = desk.record(*made)
    put_in_cluster(desk, ids, name)
    return ids


def test_a_cluster_with_both_outcomes_is_asked_about_and_pays_for_it(desk: Desk) -> None:
    model, ids = Silent(), mixed(desk, "orders")
    run = open_night(desk, ids)
    result = draft(desk, run, model)
    choice = choices(desk, run)["orders"]
    assert choice.mode == "strategic"
    assert len(model.asked) == result["model_calls"] == choice.calls == 1
    assert choice.scores["model"]["state"] == "nothing"
    assert "the runs differ in nothing" in choice.scores["model"]["why"]

    desk = desk.later()
    draft(desk, open_night(desk, mixed(desk, "trips")), model)
    first = all_choices(desk)[0]
    assert first.reward == pytest.approx(-0.05)
    assert first.reward_why == "nothing was drafted under it, 1 model call"


@pytest.mark.parametrize("policy", [{"regime": "episodic"}, {"drafter": "statistical"}])
def test_nobody_is_asked_where_the_policy_wants_no_model(desk: Desk, policy: dict[str, Any]) -> None:
    set_policy(desk, **policy)
    model, ids = Silent(), mixed(desk, "orders")
    result = draft(desk, open_night(desk, ids), model)
    assert model.asked == []
    assert "model_calls" not in result


def test_a_mode_of_none_asks_nobody_and_force_asks_all_the_same(desk: Desk) -> None:
    def unknown() -> tuple[str, ...]:
        ids = desk.record(*[Ran(f"t{place}", "unknown", ("look",)) for place in range(3)])
        put_in_cluster(desk, ids)
        return ids

    model = Silent()
    run = open_night(desk, unknown())
    draft(desk, run, model)
    assert choices(desk, run)["orders"].mode == "none"
    assert model.asked == []

    desk = desk.later()
    set_policy(desk, regime="force")
    run = open_night(desk, unknown())
    draft(desk, run, model)
    choice = choices(desk, run)["orders"]
    assert len(model.asked) == 1
    assert (choice.regime, choice.action) == ("force", "consolidate")
    assert choice.mode != "none"


def test_what_a_finding_is_about_is_asked_about_first(desk: Desk) -> None:
    one = finding(desk)
    put_in_cluster(desk, one.episodes, "trips")
    more = mixed(desk, "orders", 20)
    model = Silent()
    run = open_night(desk, (*one.episodes, *more), one)
    draft(desk, run, model)
    asked = choices(desk, run)
    assert set(asked) == {"orders", "trips"}
    assert len(model.asked) == 2
    assert "cancel_order" in str(model.asked[0])
    assert "cancel_order" not in str(model.asked[1])


def test_a_step_done_again_asks_nothing_twice(desk: Desk) -> None:
    model, ids = Silent(), mixed(desk, "orders")
    run = open_night(desk, ids)
    with desk.database.write() as session:
        add_steps(session, run, "draft", [""])
    claim = desk.claim(run)
    context = replace(desk.context, model=model, settings=replace(desk.settings, drafting=Drafting("model")))
    told: list[ModeChoice] = []
    for _ in range(2):
        draft_step.run(desk.database, claim, context)
        told.append(choices(desk, run)["orders"])
    assert len(model.asked) == 1
    assert told[0].model_dump() == told[1].model_dump()
