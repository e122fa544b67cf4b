"""A run's page tells what came of each draft, what a repair did, what it cost, and what to do about what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI

from storage.conflicts import note
from storage.engine import Database
from storage.tables import CandidateRevision, Draft, Run, RunStep
from support import factories
from support.html_check import faults_of
from support.modes import make_choice
from support.review_pages import SPACE, Browse, Clock
from support.run_pages import conclude, inference, make_night, results


@pytest.fixture
def night(app: FastAPI, database: Database, clock: Clock) -> str:
    """The address of a finished night."""
    return make_night(database, clock())


def revised(database: Database, name: str, number: int = 1, **given: Any) -> None:
    """A candidate to which the night gave a revision."""
    content = factories.content_for(SPACE, when_to_use=given.pop("title", name))
    factories.make_candidate(database, SPACE, name, given.pop("now"), content=content, **given)
    with database.write() as session:
        row = session.get_one(CandidateRevision, (SPACE, name, 1))
        row.run_id = "run-1" if number == 1 else None
        if number > 1:
            values = row.model_dump() | {"number": number, "run_id": "run-1"}
            session.add(CandidateRevision(**values))


def add_step(database: Database, stage: str, state: str = "done", shard: str = "", **given: Any) -> None:
    with database.write() as session:
        session.add(
            RunStep(id=f"run-1-{stage}-{shard}", run_id="run-1", namespace=SPACE, stage=stage, shard=shard, state=state,
                    attempts=given.pop("attempts", 1), **given)
        )  # fmt: skip


def test_each_candidate_is_named_under_what_the_night_did_with_it(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    now = clock()
    revised(database, "cand-new", now=now)
    revised(database, "cand-again", 2, now=now)
    revised(database, "cand-example", now=now, kind="exemplar", tier="low")
    for name, state in (
        ("cand-same", "staged"),
        ("cand-back", "staged"),
        ("cand-closed", "rejected"),
        ("cand-gone", "void"),
    ):
        factories.make_candidate(
            database, SPACE, name, now, content=factories.content_for(SPACE, when_to_use=name), state=state
        )
    conclude(database, "confirmed", 2)
    with database.write() as session:
        for place, name in enumerate(("cand-over", "cand-held")):
            session.add(
                Draft(namespace=SPACE, id=name, run_id="run-1", candidate_id=name, kind="rule", drafter="d",
                      inference_id=f"confirmed-{place:03}", mode="strategic", prompt_hash="none", created_at=now,
                      content={"when_to_use": f"words of {name}"})
            )  # fmt: skip
    add_step(database, "verify", result={"held_back": [
        {"candidate": "cand-held", "check": "independence", "why": "2 groups alone"}]})  # fmt: skip
    told = {"unchanged": ["cand-same"], "closed": ["cand-closed"], "over_cap": ["cand-over"], "voided": ["cand-gone"]}
    add_step(
        database,
        "stage",
        result={
            "told": told,
            "asked_for": {"arrived": ["cand-back"]},
            "unchanged": 1,
            "closed": 1,
            "over_cap": 1,
            "voided": 1,
        },
    )
    page = browse().get(night).text
    assert faults_of(page) == []
    for heading, named in (
        ("New", "cand-new"), ("Refreshed", "cand-again"), ("What was asked for arrived", "cand-back"),
        ("Exemplars", "cand-example"), ("Unchanged", "cand-same"),
        ("Decided before", "cand-closed"), ("Over the cap", "words of cand-over"),
        ("Held back by a check", "words of cand-held"), ("Withdrawn", "cand-gone"),
    ):  # fmt: skip
        part = page.split(f"<h3>{heading} <", 1)[1].split("</ul>", 1)[0]
        assert named in part, heading
        assert part.count("<li>") == 1, heading
    assert "<code>independence</code> 2 groups alone" in page


def test_counts_of_an_older_run_are_told_where_it_kept_no_names(browse: Browse, database: Database, night: str) -> None:
    add_step(database, "stage", result={"unchanged": 3, "closed": 0})
    page = browse().get(night).text
    assert '<h3>Unchanged <span class="muted">3</span></h3>' in page
    assert "Decided before" not in page


def test_a_finding_that_needs_too_much_is_said_to_be_out_of_reach_with_both_figures(
    browse: Browse, database: Database, night: str
) -> None:
    strata = [{"stratum": "a", "success_with": 1, "success_without": 4, "failure_with": 9, "failure_without": 8}]
    for name, wanted in (("far", 60), ("near", 40)):
        needs = {"failures": 400, "successes": wanted, "tasks": 30, "words": "needs more"}
        with database.write() as session:
            session.add(
                inference(name, "insufficient", f"{name} may be", statistics={"needs": needs, "strata": strata})
            )
    page = browse().get(f"{night}/findings/needs-more").text
    assert faults_of(page) == []
    told = {name: page.split(f"{name} may be", 1)[1].split("</li>", 1)[0] for name in ("far", "near")}
    assert "it would take about 60 more successes, and all nights so far compared 5" in told["far"]
    assert "Out of reach" not in told["near"]


def test_what_a_model_used_stands_against_what_was_allowed_that_night(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    make_choice(database, SPACE, "run-1", clock(), "cluster-1")
    allowed = {"calls": 60, "tokens": 500_000, "seconds": 180.0}
    results(database, "draft", model_calls=15, model_tokens=52_300, model_seconds=61.5, allowed=allowed)
    rosa = browse()
    page = rosa.get(night).text
    for said in ("15 of 60 allowed", "52,300 of 500,000 allowed", "1 min 1 s of 3 min 0 s allowed", 'value="25"'):
        assert said in page, said
    results(database, "draft", model_calls=15, model_tokens=1)
    assert "what was allowed was not recorded" in rosa.get(night).text


def test_a_parked_shard_says_what_happened_and_what_to_run(browse: Browse, database: Database, night: str) -> None:
    add_step(database, "contrast", "parked", "orders", attempts=3, error="MemoryError: too many features")
    with database.write() as session:
        run = session.get_one(Run, "run-1")
        run.state, run.problems = (
            "partial",
            [{"stage": "contrast", "shard": "orders", "error": "MemoryError: too many"}],
        )
    page = browse().get(night).text
    assert faults_of(page) == []
    assert "1 problem" in page
    assert f"slowwave consolidate --namespace {SPACE} --local" in page
    assert "2 shards: done 1, parked 1" in page
    assert "parked, 3 attempts: MemoryError: too many features" in page


def test_a_repair_says_what_was_kept_restored_and_left_for_a_person(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    now = clock()
    factories.make_candidate(
        database, SPACE, "cand-1", now, content=factories.content_for(SPACE, when_to_use="leaned on it"), state="void"
    )
    with database.write() as session:
        session.add(
            Run(id="fix", namespace=SPACE, kind="repair", key="rule-7@2", state="completed", requested_by="rosa",
                started_at=now, finished_at=now)
        )  # fmt: skip
        session.flush()
        done = {"voided": ["cand-1"], "restored": [{"rule": "rule-8", "version": 1, "why": "12 groups stand"}],
                "to_review": [{"rule": "rule-9", "version": 3, "why": "1 group is left"}]}  # fmt: skip
        session.add(RunStep(id="fix-1", run_id="fix", namespace=SPACE, stage="repair", state="done", attempts=1,
                            started_at=now, finished_at=now, result=done))  # fmt: skip
    page = browse().get("/runs/fix").text
    assert faults_of(page) == []
    for said in ("Repair rule-7@2", "rule-8 version 1", "12 groups stand", "rule-9 version 3", "1 group is left",
                 "leaned on it", "Withdrawn"):  # fmt: skip
        assert said in page, said
    assert page.index("served again") < page.index("rule-8 version 1") < page.index("rule-9 version 3")
    assert "Found, and not found" not in page


def test_conflicts_that_the_night_noted_are_counted_and_listed(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    side = {"says": "x", "support": 1, "counter": 0, "episodes": []}
    with database.write() as session:
        for name, run_id in (("c1", "run-1"), ("c2", "run-1"), ("c3", "another")):
            refs = (f"episode:{name}a#s", f"episode:{name}b#s")
            sides = {ref: {"title": f"{name} said", **side} for ref in refs}
            row = {"id": name, "kind": "contradiction", "form": "changed", "detail": name, "sides": sides}
            note(session, SPACE, refs, row, run_id, clock())
    rosa = browse()
    page = rosa.get(night).text
    assert "contradiction</span>\n 2" in page.replace("\n\n", "\n")
    link = f"/conflicts?namespace={SPACE.replace('/', '%2F')}&run=run-1&state=all"
    assert link in page.replace("&amp;", "&")
    listed = rosa.get(link).text
    assert faults_of(listed) == []
    assert "c1 said" in listed
    assert "c3 said" not in listed
