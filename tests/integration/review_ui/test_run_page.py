"""A run's page tells what was found and how far it may go, what was left out, and how each cluster was taken up."""

from __future__ import annotations

from datetime import datetime

import pytest
from fastapi import FastAPI

from storage.engine import Database
from storage.tables import Draft
from support import factories
from support.html_check import faults_of
from support.modes import make_choice
from support.review_pages import SPACE, Browse, Clock
from support.run_pages import conclude, inference, make_night, results


@pytest.fixture
def night(app: FastAPI, database: Database, clock: Clock) -> str:
    """The address of a finished night."""
    return make_night(database, clock())


def test_conclusions_stand_under_what_they_are(browse: Browse, night: str) -> None:
    page = browse().get(night).text
    assert faults_of(page) == []
    headings = ["Confirmed <", "Needs more evidence", "Strong but confounded", "Confounded by agent", "Hypotheses"]
    places = [page.index(f"<h3>{heading}") for heading in headings]
    assert places == sorted(places)
    assert "needs about 14 more failures on at least 5 tasks" in page
    assert "2 other explanations ruled out" in page
    assert "not chance: seen again on 20 groups" in page


def test_what_was_found_comes_before_how_the_night_went(browse: Browse, night: str) -> None:
    page = browse().get(night).text
    assert page.index('id="found-title"') < page.index('id="stages-title"')


def test_a_next_step_that_the_sentence_holds_is_not_told_again(browse: Browse, database: Database, night: str) -> None:
    with database.write() as session:
        session.add(
            inference("again", "insufficient", "it may be; needs about 33 more.", next_step="needs about 33 more")
        )
    page = browse().get(f"{night}/findings/needs-more").text
    assert page.count("needs about 33 more") == 1
    assert "Next: needs about 14 more" in page


def test_each_confirmed_finding_says_what_became_of_it(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    held = {"said": ("recall", "rule-7 version 2 says this already"), "weak": ("independence", "2 groups alone")}
    with database.write() as session:
        for name in ("new", "said", "weak", "none"):
            session.add(inference(name, "confirmed", f"{name} holds"))
        session.flush()
        for name in ("new", "said", "weak"):
            checks = (
                [{"name": check, "verdict": "fail", "detail": why} for check, why in [held[name]]]
                if name in held
                else []
            )
            session.add(
                Draft(namespace=SPACE, id=name, run_id="run-1", candidate_id=f"cand-{name}", inference_id=name,
                      kind="rule", drafter="d", mode="strategic", prompt_hash="none", checks=checks,
                      created_at=clock())
            )  # fmt: skip
    content = factories.content_for(SPACE, when_to_use="The new one")
    factories.make_candidate(database, SPACE, "cand-new", clock(), content=content, run_id="run-1")
    page = browse().get(f"{night}/findings/confirmed").text
    assert faults_of(page) == []
    told = {name: page.split(f"{name} holds", 1)[1].split("</li>", 1)[0] for name in ("new", "said", "weak", "none")}
    assert f'href="/candidates/{SPACE}/cand-new">The new one</a>' in told["new"]
    assert "A rule says this already:" in told["said"]
    assert f'href="/rules/{SPACE}/rule-7"' in told["said"]
    assert "Held back by the check “independence”: 2 groups alone" in told["weak"]
    assert "No text was made of it." in told["none"]


def test_what_does_not_fit_is_on_a_page_of_its_own(browse: Browse, database: Database, night: str) -> None:
    rosa = browse()
    page = rosa.get(night).text
    assert "unconfirmed 004" in page
    assert "unconfirmed 005" not in page
    assert f'href="{night}/findings/needs-more">All 8' in page
    conclude(database, "confounded", 60)
    first = rosa.get(f"{night}/findings/confounded").text
    second = rosa.get(f"{night}/findings/confounded?page=2").text
    assert faults_of(first) == faults_of(second) == []
    assert "confounded 049" in first
    assert "confounded 059" in second
    assert "confounded 000" not in second
    assert rosa.get(f"{night}/findings/everything").status_code == 404


def test_what_was_left_out_is_said_with_why_and_nothing_where_nothing_was(
    browse: Browse, database: Database, night: str
) -> None:
    rosa = browse()
    assert "Left out of the comparison" not in rosa.get(night).text
    results(database, "contrast", tainted=3, dropped_by_cap=12)
    page = rosa.get(night).text
    assert "3 episodes that ran under a rule which was revoked" in page
    assert "12 runs over what one agent" in page


def test_each_cluster_is_told_with_the_numbers_behind_its_mode(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    for place in range(7):
        make_choice(database, SPACE, "run-1", clock(), f"cluster-{place}", action="keep" if place else "remove")
    results(database, "draft", model_calls=14, model_tokens=52_300, model_seconds=61.5, citations_dropped=2)
    rosa = browse()
    page = rosa.get(night).text
    assert faults_of(page) == []
    for said in ("How each cluster was taken up", "mode strategic", "12 successes, 8 failures", "0.904", "0.62",
                 "both outcomes (12 successes, 8 failures)", "a later night says what it was worth", "All 7 clusters",
                 "14 model calls, 52,300 tokens, 1 min 1 s; 2 citations were in no step"):  # fmt: skip
        assert said in page, said
    assert page.index(">remove<") < page.index(">keep<")
    everything = rosa.get(f"{night}/choices").text
    assert faults_of(everything) == []
    assert everything.count("The numbers behind it") == 7


@pytest.mark.parametrize(
    ("regime", "said"), [("force", "An experiment: text was forced"), ("episodic", "raw episodes only"), ("auto", "")]
)
def test_a_regime_other_than_auto_is_said_at_the_top(
    browse: Browse, database: Database, night: str, regime: str, said: str
) -> None:
    results(database, "draft", regime=regime)
    page = browse().get(night).text
    assert (said in page) if said else "An experiment" not in page and "raw episodes only" not in page


def test_a_forced_candidate_and_an_exemplar_say_what_they_are(
    browse: Browse, app: FastAPI, database: Database, clock: Clock
) -> None:
    forced = factories.packet_for(forced={"why": "drafted under the regime “force”", "approvable": False})
    factories.make_candidate(database, SPACE, "cand-1", clock(), packet=forced)
    factories.make_episode(database, SPACE, "ep-1", clock())
    shown = {"episode_id": "ep-1", "task": "Cancel it", "calls": ["get_order", "get_order"], "steps": 5}
    content = {"when_to_use": "As an example", "exemplar": shown, "scope": factories.content_for(SPACE)["scope"]}
    factories.make_candidate(
        database, SPACE, "cand-2", clock(), content=content, evidence=[("ep-1", "support")], kind="exemplar", tier="low"
    )
    rosa = browse()
    queue = rosa.get("/queue").text
    assert "forced, an experiment" in queue
    assert ">exemplar<" in queue
    page = rosa.get(f"/candidates/{SPACE}/cand-1").text
    assert "An experiment:" in page
    assert "draft it under auto" in page
    example = rosa.get(f"/candidates/{SPACE}/cand-2").text
    assert faults_of(example) == []
    for said in (
        "The run it shows",
        "Cancel it",
        "<code>get_order</code>",
        "× 2",
        f"/episodes/{SPACE}/ep-1",
        "apart from the rules",
    ):
        assert said in example, said
    assert "odds ratio within tasks" not in example


def test_pages_of_a_hidden_namespaces_run_are_not_found(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    make_choice(database, SPACE, "run-1", clock(), "cluster-1")
    otto = browse("otto", namespaces=("acme/travel",))
    for path in (night, f"{night}/choices", f"{night}/findings/confirmed"):
        assert otto.get(path).status_code == 404


def test_a_night_without_clusters_shows_no_empty_table(browse: Browse, night: str, now: datetime) -> None:
    assert "How each cluster was taken up" not in browse().get(night).text
