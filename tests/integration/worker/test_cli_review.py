"""What the command line shows of candidates, rules and runs, and what a revocation does where no worker runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from storage.engine import Database
from storage.queries import runs as queries
from storage.tables import Candidate, CandidateRevision, ModeChoice, Run
from support.modes import night_of, put_in_cluster
from support.reviewing import Desk, finding
from worker.cli.root import run


class Terminal:
    """Runs commands of one home folder as a person or, with ``--json``, as a program."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def read(self, *arguments: str) -> str:
        self._capsys.readouterr()
        assert run(list(arguments)) == 0
        return self._capsys.readouterr().out

    def json(self, *arguments: str) -> Any:
        return json.loads(self.read(*arguments, "--json"))


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    terminal = Terminal(capsys)
    token = terminal.json("user", "add", "mira")["token"]
    monkeypatch.setenv("SLOWWAVE_TOKEN", token)
    return terminal


@pytest.fixture
def shop(terminal: Terminal, tmp_path: Path, secret: bytes) -> Iterator[Desk]:
    database = Database(f"sqlite:///{tmp_path / 'slowwave.db'}")
    yield Desk(database, datetime(2026, 11, 30, 3, 0, tzinfo=UTC), secret).open()
    database.dispose()


def waiting(shop: Desk) -> Candidate:
    shop.night(finding(shop))
    return shop.only()


def open_repairs(shop: Desk) -> list[str]:
    with shop.database.read() as session:
        return [run.id for run in queries.repairs_open(session, shop.namespace)]


def test_a_candidate_is_shown_with_what_to_do_why_and_the_command_to_type(terminal: Terminal, shop: Desk) -> None:
    candidate = waiting(shop)
    page = terminal.read("show", candidate.id)
    assert "cancel_order" in page
    assert "2 of 31 successes" in page
    assert "held-out" in page
    assert f"slowwave approve {candidate.id} --hash {candidate.content_hash} --reason" in page
    assert not page.lstrip().startswith("{")


def test_a_decided_candidate_is_shown_with_who_decided_and_without_a_command(terminal: Terminal, shop: Desk) -> None:
    candidate = waiting(shop)
    terminal.json("reject", candidate.id, "--hash", candidate.content_hash, "--reason", "true for [red]one[/red] shop")
    page = terminal.read("show", candidate.id)
    assert "true for [red]one[/red] shop" in page, "what others wrote is never read as markup"
    assert "mira" in page
    assert "slowwave approve" not in page


def test_a_rule_and_a_run_are_pages_too(terminal: Terminal, shop: Desk) -> None:
    rule_id, _ = shop.promoted(finding(shop))
    page = terminal.read("show", rule_id)
    assert "version 1" in page
    assert f"slowwave revoke {rule_id} --reason" in page
    night = terminal.json("runs", "-n", shop.namespace)[0]["run_id"]
    assert "contrast" in terminal.read("show", night)


def test_a_revocation_is_repaired_at_once_where_no_worker_runs(terminal: Terminal, shop: Desk) -> None:
    rule_id, _ = shop.promoted(finding(shop))
    done = terminal.json("revoke", rule_id, "--reason", "it misleads")
    assert (done["changed"], done["repair_state"]) == (True, "completed")
    assert open_repairs(shop) == []
    again = terminal.json("revoke", rule_id, "--reason", "it misleads")
    assert (again["changed"], again["epoch"], again["repair_run_id"]) == (False, done["epoch"], done["repair_run_id"])


def test_a_local_night_first_finishes_what_a_revocation_left_open(terminal: Terminal, shop: Desk) -> None:
    rule_id, _ = shop.promoted(finding(shop))
    shop.revoke(rule_id)
    assert len(open_repairs(shop)) == 1
    assert (
        terminal.json("consolidate", "-n", shop.namespace, "--night", "2026-12-01", "--local")["state"] == "completed"
    )
    assert open_repairs(shop) == []


def test_a_run_tells_what_it_found_and_how_each_cluster_was_taken_up(terminal: Terminal, shop: Desk) -> None:
    one = finding(shop)
    put_in_cluster(shop, one.episodes)
    night, _ = night_of(shop, one.episodes, one)
    told = terminal.json("runs", night.id)
    assert (told["regime"], told["cost"]) == ("auto", {"calls": 0, "tokens": 0})
    assert [each["verdict"] for each in told["findings"]] == ["confirmed"]
    (choice,) = told["choices"]
    assert (choice["label"], choice["action"], choice["mode"]) == ("orders", "consolidate", "corrective")
    assert {score["mode"] for score in choice["scores"]["modes"]} == {"none", "imitation", "strategic", "corrective"}
    assert terminal.json("show", night.id) == told
    shown = terminal.read("show", night.id)
    for part in ("found, and not found", "corrective", "draft"):
        assert part in shown
    assert terminal.read("runs", night.id) == shown
    assert run(["runs", "nowhere"]) == 1


def test_a_run_tells_what_the_model_said_of_each_cluster(terminal: Terminal, shop: Desk) -> None:
    one = finding(shop)
    put_in_cluster(shop, one.episodes)
    night, _ = night_of(shop, one.episodes, one)
    assert "What the model said" not in terminal.read("runs", night.id)
    said = {"state": "refused", "why": "uncited", "calls": 2, "tokens": 900}
    with shop.database.write() as session:
        choice = session.exec(select(ModeChoice)).one()
        choice.scores = {**choice.scores, "model": said}
    assert terminal.json("runs", night.id)["choices"][0]["model"] == said
    shown = terminal.read("runs", night.id).partition("What the model said of each cluster")[2]
    assert shown.split()[:5] == ["orders", "refused", "2", "calls", "uncited"]


def test_the_list_of_runs_tells_what_each_came_to_and_what_went_wrong(terminal: Terminal, shop: Desk) -> None:
    one = finding(shop)
    night, _ = night_of(shop, one.episodes, one)
    with shop.database.write() as session:
        row = session.get_one(Run, night.id)
        row.stats = {"episodes": 1, "clusters": 2, "tests": 3, "candidates": 1}
        row.problems = [{"stage": "contrast", "shard": "orders", "error": "went [red]wrong[/red]"}]
        session.add(row)
    page = terminal.read("runs", "-n", shop.namespace)
    assert "1 episode, 2 clusters, 3 tests, 1 candidate; started" in page
    for said in (page, terminal.read("show", night.id)):
        assert "contrast" in said
        assert "went [red]wrong[/red]" in said


def test_without_a_namespace_what_waits_and_what_holds_is_listed_for_all(terminal: Terminal, shop: Desk) -> None:
    candidate = waiting(shop)
    assert [each["namespace"] for each in terminal.json("queue")] == [shop.namespace]
    assert f"waiting in {shop.namespace}" in terminal.read("queue")
    assert candidate.id in terminal.read("queue")
    assert terminal.json("rules") == []
    assert terminal.read("rules").strip() == "No rule yet."
    assert terminal.json("queue", "-n", "another/place") == []


def test_the_queue_is_narrowed_and_put_in_order(terminal: Terminal, shop: Desk) -> None:
    shop.night(finding(shop, "cancel_order"), finding(shop, "look"))
    (one, _), (two, _) = shop.candidates()
    with shop.database.write() as session:
        session.get_one(Candidate, (shop.namespace, one.id)).tier = "low"
        for identity, reach in ((one.id, 5), (two.id, 9)):
            session.get_one(Candidate, (shop.namespace, identity)).reach = reach

    def listed(*arguments: str) -> list[str]:
        return [each["id"] for each in terminal.json("queue", "-n", shop.namespace, *arguments)]

    assert listed("--sort", "reach") == [two.id, one.id]
    assert listed("--tier", "low") == [one.id]
    assert listed("--kind", "exemplar") == []
    first = terminal.json("queue", "-n", shop.namespace)[0]
    assert (first["why_now"], first["parked"]) == (["new"], None)
    assert run(["queue", "--tier", "middling"]) == run(["queue", "--sort", "colour"]) == 2


def test_what_waits_for_evidence_comes_after_the_others_and_says_for_what(
    terminal: Terminal, shop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shop.night(finding(shop, "cancel_order"), finding(shop, "look"))
    (first, _), (second, _) = shop.candidates()
    with shop.database.write() as session:
        row = session.get_one(Candidate, (shop.namespace, first.id))
        row.parked_at, row.wanted = shop.now, {"runs": 5, "agent": "support-bot"}
    assert [each["id"] for each in terminal.json("queue")] == [second.id, first.id]
    assert terminal.json("queue")[1]["parked"]["for"] == "5 more judged runs of support-bot"
    page = terminal.read("queue")
    assert page.index(second.id) < page.index("waiting for evidence") < page.index(first.id)
    assert "5 more judged runs of support-bot" in page


def test_an_endless_odds_ratio_is_said_in_words(
    terminal: Terminal, shop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    candidate = waiting(shop)
    with shop.database.write() as session:
        row = session.get_one(CandidateRevision, (shop.namespace, candidate.id, candidate.number))
        row.packet = {**row.packet, "effect": {**row.packet["effect"], "odds_ratio": None, "low": 27.0, "high": None}}
        session.add(row)
    assert "infinite (from 27.00)" in terminal.read("queue", "-n", shop.namespace)
