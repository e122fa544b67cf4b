"""Facts that episodes state, from ingest through a night to the reviewer: what conflicts, what does not, what stays."""

from __future__ import annotations

import pytest
from sqlmodel import select

from storage.conflicts import forget_episode
from storage.ledger import Claim
from storage.queries import conflicts as queries
from storage.tables import Conflict, Episode, Rule, RunStep
from tasks.conflict.raw import step as raw
from tasks.context import StepContext


def test_case_6_two_things_that_one_person_does_are_both_current(lab) -> None:
    lab.told("e1", "Ana manages releases", day=1)
    lab.told("e2", "Ana approves DNS", day=2)
    assert lab.whole_night()["statements"] == 2
    assert lab.conflicts(None) == []


def test_case_7_a_move_is_one_proposed_supersession_for_review(lab) -> None:
    lab.told("e1", "Orchid uses P", day=1)
    lab.whole_night()
    assert lab.conflicts(None) == []
    lab.told("e2", "Orchid moved from P to Q", day=2)
    assert lab.whole_night()["facts_in_conflict"] == 1
    found = lab.only()
    assert (found.kind, found.sides["form"]) == ("supersession", "changed")
    newer = found.sides["stands"]
    assert found.sides[newer]["title"] == "Orchid: from “P” to “Q”"
    assert {side["title"] for side in (found.sides["left"], found.sides["right"])} == {
        "Orchid: “P”", "Orchid: from “P” to “Q”"
    }  # fmt: skip
    cited = {each["episode"] for side in ("left", "right") for each in found.sides[side]["episodes"]}
    with lab.database.read() as session:
        assert cited == set(session.exec(select(Episode.id)))
        assert session.exec(select(Rule)).all() == []  # neither value is served to anyone


def test_case_8_two_intervals_are_no_conflict_and_not_one(lab) -> None:
    lab.told("e1", "Bo is on call in January", day=1)
    lab.told("e2", "Bo is on call in June", day=2)
    lab.whole_night()
    assert lab.conflicts(None) == []
    months = sorted((each.valid_from.month, each.valid_to.month) for each in lab.statements())
    assert months == [(1, 2), (6, 7)]


def test_a_night_again_on_the_same_episodes_changes_nothing(lab) -> None:
    lab.told("e1", "Orchid uses P", "Orchid moved from P to Q")
    lab.night()
    before = [row.model_dump() for row in (*lab.conflicts(None), *lab.statements())]
    with lab.database.write() as session:
        step = session.exec(select(RunStep).where(RunStep.stage == "conflict")).one()
        step.state = "leased"
        claim = Claim(step.run_id, step.id, step.namespace, step.stage, step.shard, step.token, step.attempts)
        run_at = step.started_at
    again = raw.look_at_episodes(lab.database, claim, StepContext(now=run_at, actor="test", secret=b"k" * 32))
    assert again["facts_in_conflict"] == 1
    kept = [row.model_dump() for row in (*lab.conflicts(None), *lab.statements())]
    assert kept == before


def test_only_bodies_with_claims_are_read(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.told("e1", "Orchid uses P")
    lab.bring([{"id": f"q{n}", "task": "hi", "steps": [{"id": "u", "kind": "user", "text": "Orchid uses P"}]}
               for n in range(5)])  # fmt: skip
    read: list[str] = []
    opened = raw.load_bodies
    monkeypatch.setattr(raw, "load_bodies", lambda s, n, ids: read.extend(ids) or opened(s, n, ids))
    lab.night()
    assert len(read) == 1


def test_the_same_facts_in_two_namespaces_never_meet(lab) -> None:
    other = lab.beside("lab2")
    lab.told("e1", "Orchid uses P", day=1)
    other.told("e2", "Orchid moved from P to Q", day=2)
    lab.night()
    other.night()
    assert lab.conflicts(None) == other.conflicts(None) == []


def test_a_fact_said_often_stays_one_conflict_and_is_counted_by_session(lab) -> None:
    lab.told("e1", "Orchid uses P", day=1, session_id="one")
    lab.told("e2", "Orchid moved from P to Q", day=5, session_id="two")
    lab.night()
    first = lab.only()
    lab.told("e3", "Orchid uses P", day=2, session_id="one")
    lab.told("e4", "Orchid uses P", day=3, session_id="three")
    lab.night()
    again = lab.only()
    assert (again.id, again.at) == (first.id, first.at)
    older = "left" if again.sides["stands"] == "right" else "right"
    assert again.sides[older]["support"] == 2


def test_a_value_overtaken_by_a_third_closes_the_conflict_between_the_first_two(lab) -> None:
    for day, value in enumerate(("P", "Q", "R"), 1):
        lab.told(f"e{day}", f"Orchid's database is {value}", day=day)
        lab.night()
    (now,) = lab.conflicts()
    (before,) = lab.conflicts("resolved")
    assert "“R”" in now.detail
    assert (before.resolution, before.resolved_by) == (None, None)
    assert before.reason == "the latest comparison no longer finds it"


def test_a_revised_episode_no_longer_says_what_it_said(lab) -> None:
    lab.told("e1", "Orchid uses P", day=1)
    lab.told("e2", "Orchid moved from P to Q", day=2)
    lab.night()
    assert len(lab.conflicts()) == 1
    lab.told("e2", "Orchid is fast", day=2)
    lab.night()
    assert lab.conflicts() == []


def test_a_structured_claim_in_any_script_conflicts_by_its_fields(lab) -> None:
    def noted(name: str, value: str, day: int) -> None:
        step = {
            "id": "s",
            "kind": "memory_write",
            "arguments": {"subject": "兰花", "attribute": "数据库", "value": value},
        }
        lab.bring([{"id": name, "task": "记录", "steps": [step], "started_at": f"2026-11-0{day}T08:00:00Z"}])

    noted("e1", "甲", 1)
    noted("e2", "乙", 2)
    lab.night()
    assert (lab.only().kind, lab.only().sides["form"]) == ("supersession", "other-value")


def test_what_an_episode_stated_can_be_erased(lab) -> None:
    lab.told("e1", "Orchid uses P", day=1)
    lab.told("e2", "Orchid moved from P to Q", day=2)
    lab.night()
    (gone,) = [each.episode_id for each in lab.statements() if each.previous]
    with lab.database.write() as session:
        forget_episode(session, lab.namespace, gone)
    assert [each.value for each in lab.statements()] == ["P"]
    assert lab.conflicts(None) == []


def test_statements_of_many_subjects_are_found_by_subject(lab) -> None:
    lab.told("e1", *(f"Node{n} uses P." for n in range(30)))
    lab.night()
    with lab.database.read() as session:
        rows = queries.statements_of_subjects(session, lab.namespace, ["node3", "node7"])
    assert sorted(row.subject for row in rows) == ["Node3", "Node7"]


def test_a_newest_page_of_statements_is_compared_of_a_subject_without_end(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_OF_SUBJECT", 3)
    for day in range(1, 6):
        lab.told(f"e{day}", f"Orchid's size is {day} nodes", day=day)
    lab.night()
    assert "“4 nodes”, and “5 nodes”; 3 values" in lab.only().detail


def runs(name: str, outcome: str, calls: tuple[str, ...], count: int, task: str = "refund") -> list[dict[str, object]]:
    return [
        {
            "id": f"{name}{n}", "session_id": f"{name}{n}", "task": "Refund an order", "task_key": task,
            "outcome": outcome, "outcome_source": "verifier", "tools_offered": ["look", "refund"],
            "steps": [{"id": "u", "kind": "user", "text": f"please refund order {name}{n}"}] + [
                {"id": f"c{place}", "kind": "tool_call", "name": call, "arguments": {"order": f"{name}{n}"}}
                for place, call in enumerate(calls)
            ],
        }
        for n in range(count)
    ]  # fmt: skip


def test_the_same_calls_with_both_outcomes_are_shown_as_a_contradiction(lab) -> None:
    lab.bring(runs("good", "success", ("look", "refund"), 4))
    lab.bring(runs("bad", "failure", ("look", "refund"), 4))
    lab.bring(runs("other", "failure", ("refund",), 6))
    assert lab.whole_night()["mixed_outcomes"] == 1
    found = lab.only()
    assert (found.kind, found.sides["form"]) == ("contradiction", "mixed-outcome")
    assert {found.sides[side]["support"] for side in ("left", "right")} == {4}
    with lab.database.read() as session:
        outcomes = dict(session.exec(select(Episode.id, Episode.outcome)).all())
    ended = [{outcomes[each["episode"]] for each in found.sides[side]["episodes"]} for side in ("left", "right")]
    assert sorted(ended, key=min) == [{"failure"}, {"success"}]


def test_mixed_outcomes_grow_from_night_to_night_and_close_when_one_side_wins(lab) -> None:
    lab.bring(runs("good", "success", ("look",), 3))
    lab.night()
    lab.bring(runs("bad", "failure", ("look",), 3))
    lab.night()
    assert len(lab.conflicts()) == 1
    lab.bring(runs("better", "success", ("look",), 9))
    lab.night()
    assert lab.conflicts() == []


def test_outcomes_that_only_the_agent_reported_contradict_nothing(lab) -> None:
    said = [{**each, "outcome_source": "self-reported"} for each in runs("bad", "failure", ("look",), 5)]
    lab.bring(runs("good", "success", ("look",), 5))
    lab.bring(said)
    lab.night()
    assert lab.conflicts() == []


def test_a_conflict_of_nothing_stays_nothing(lab) -> None:
    lab.told("e1", "Orchid uses P? Perhaps it moved from P to Q.")
    lab.night()
    with lab.database.read() as session:
        assert session.exec(select(Conflict)).all() == []


def test_a_flood_of_conflicts_is_noted_bit_by_bit_the_gravest_first(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw, "MOST_FACTS", 2)
    lab.told("e1", *(f"Node{n} uses P." for n in range(5)), day=1)
    lab.told("e2", *(f"Node{n} moved from P to Q." for n in range(5)), day=2)
    lab.told("e3", "Node4 uses P.", day=3)
    result = lab.night()
    assert (result["facts_in_conflict"], result["facts_noted"]) == (5, 2)
    assert sorted(row.kind for row in lab.conflicts()) == ["contradiction", "supersession"]
    lab.told("e4", *(f"Node{n} moved from P to Q." for n in range(5)), day=4)
    assert lab.night()["facts_noted"] == 4
    assert len(lab.conflicts()) == 4


def test_values_that_swap_places_stay_one_conflict_which_opens_again(lab) -> None:
    lab.told("e1", "Orchid's database is P", day=1)
    lab.told("e2", "Orchid's database is Q", day=2)
    lab.night()
    first = lab.only()
    lab.resolve(first, lab.person(), keep=first.sides["stands"])
    lab.told("e3", "Orchid's database is P", day=3)
    lab.night()
    again = lab.only()
    assert again.id == first.id
    assert again.sides["before"]["why"] == "the other side is the newer one now"


def test_a_side_found_earlier_than_before_keeps_its_place(lab) -> None:
    for name in ("e1", "e2", "e3", "e4", "e5"):
        lab.told(name, "Orchid uses P", day=20 - int(name[1]))
        if name == "e1":
            lab.told("m", "Orchid moved from P to Q", day=25)
        lab.night()
        row = lab.only() if name == "e1" else lab.conflicts("resolved")[0]
        titles = [row.sides[side]["title"] for side in ("left", "right")]
        if name == "e1":
            first = titles
            lab.resolve(row, lab.person())
        assert titles == first
    assert lab.conflicts() == []
