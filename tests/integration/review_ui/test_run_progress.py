"""A run under way shows how far it is to a page that is open; two runs stand side by side; the list is filtered."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from sqlmodel import select

from storage.engine import Database
from storage.tables import Run, RunStep
from support import factories
from support.html_check import faults_of
from support.review_pages import SPACE, Browse, Clock
from support.run_pages import make_night


@pytest.fixture
def night(app: FastAPI, database: Database, clock: Clock) -> str:
    """The address of a finished night."""
    return make_night(database, clock())


def test_an_open_page_gets_what_changes_and_the_rest_once_the_run_is_over(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    factories.make_run(database, SPACE, "run-2", clock(), state="running", key="2026-12-01")
    rosa, ours = browse(), {"hx-request": "true"}
    whole = rosa.get("/runs/run-2").text
    assert 'data-events="/runs/run-2/events"' in whole
    assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in whole
    assert "Under way: Contrast." in whole
    part = rosa.get("/runs/run-2?told=contrast", headers=ours).text
    assert faults_of(part) == []
    assert "2 of 4 steps known so far" in part
    assert "cancel_order" not in part
    assert 'id="run-said"' not in part, "the same stage is not read out again"
    assert 'id="run-said"' in rosa.get("/runs/run-2?told=cluster", headers=ours).text
    with database.write() as session:
        session.get_one(Run, "run-2").state = "completed"
    over = rosa.get("/runs/run-2?told=contrast", headers=ours).text
    assert "data-events" not in over
    assert "The run is over: completed." in over
    assert "cancel_order" in over


def test_the_bar_of_a_run_never_falls_when_a_stage_brings_many_steps(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    factories.make_run(database, SPACE, "run-2", clock(), state="running", key="2026-12-01")
    rosa = browse()
    shown = []
    for place in range(3):
        shown.append(int(rosa.get("/runs/run-2").text.split("<progress", 1)[1].split('value="', 1)[1].split('"', 1)[0]))
        with database.write() as session:
            session.add(RunStep(id=f"more-{place}", run_id="run-2", namespace=SPACE, stage="verify", shard=str(place),
                                state="pending", attempts=0))  # fmt: skip
    assert shown == sorted(shown)
    assert 0 < shown[0] < 100


def test_two_nights_stand_side_by_side(browse: Browse, database: Database, clock: Clock, night: str) -> None:
    factories.make_run(database, SPACE, "run-2", clock(), key="2026-12-01")
    with database.write() as session:
        for step in session.exec(select(RunStep).where(RunStep.stage == "contrast")).all():
            step.shard = "orders"
    rosa = browse()
    alone = rosa.get("/runs/run-2").text
    assert '<option value="run-1" selected>Night 2026-11-30: completed</option>' in alone
    page = rosa.get("/runs/run-2?against=run-1").text
    assert faults_of(page) == []
    assert page.index("Night 2026-11-30</a>") < page.index("Night 2026-12-01</a>"), "the earlier one is on the left"
    assert "Vanished" in page
    assert "unconfirmed 000" in page
    assert "Same verdict: 3" in page
    assert "Time of each stage" in page
    assert rosa.get("/runs/run-1?against=run-2").text.count("Vanished") == page.count("Vanished")
    for other in ("run-1", "nowhere"):
        assert rosa.get(f"/runs/run-1?against={other}").status_code == 404


def test_a_run_is_compared_with_none_of_another_namespace(
    browse: Browse, database: Database, clock: Clock, night: str
) -> None:
    factories.make_namespace(database, "acme/travel", clock())
    factories.make_run(database, "acme/travel", "run-2", clock())
    rosa = browse()
    assert "run-2" not in rosa.get(night).text
    assert rosa.get(f"{night}?against=run-2").status_code == 404


@pytest.mark.parametrize(
    ("query", "named"), [("state=partial", {"run-2"}), ("kind=repair", {"run-3"}), ("", {"run-1", "run-2", "run-3"}),
                         ("state=nonsense&kind=x", {"run-1", "run-2", "run-3"}), ("namespace=nowhere", set())],
)  # fmt: skip
def test_runs_are_filtered_by_namespace_state_and_kind(
    browse: Browse, database: Database, clock: Clock, night: str, query: str, named: set[str]
) -> None:
    factories.make_run(database, SPACE, "run-2", clock(), key="2026-12-01", state="partial")
    factories.make_run(database, SPACE, "run-3", clock(), key="rule-7@1", kind="repair")
    page = browse().get(f"/runs?{query}").text
    assert faults_of(page) == []
    assert {name for name in ("run-1", "run-2", "run-3") if f'href="/runs/{name}"' in page} == named
