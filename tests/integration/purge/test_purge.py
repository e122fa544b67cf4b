"""Purging: the barrier at once, the erasing afterwards, and what still stands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import Session, SQLModel, select

from storage import audit
from storage.bodies import load_bodies
from storage.engine import Database
from storage.ids import keyed_hash
from storage.queries import rules as rule_queries
from storage.queries.purging import exports_holding
from storage.queries.runs import run_by_id, steps_of_run
from storage.runs import insert_run
from storage.tables import Episode, Evidence, OutboxEvent, RuleVersion, Run
from support.reviewing import Desk, Found, Ran, avoid, those_with, tried
from tasks import pipeline
from tasks.pipeline import Worker
from tasks.promote.errors import ReasonMissing
from tasks.promote.export_step import export_rules
from tasks.revoke.purge import OWN, WEAK
from tasks.revoke.purge_step import EpisodeUnknown, PurgeResult, plan, purge

CALL = "cancel_order"
NAME = "Ottokar7"
Rule = tuple[str, int]


def purged(desk: Desk, *ids: str, **changes: Any) -> PurgeResult:
    given = {"reason": "they asked", "actor": "operator:test", "now": desk.now, "secret": desk.secret}
    return purge(desk.database, desk.namespace, ids, **(given | changes))


def erased(desk: Desk, result: PurgeResult, database: Database | None = None) -> Run:
    worker = Worker("test", desk.secret, clock=lambda: desk.now, retry_seconds=0)
    return pipeline.drive(database or desk.database, str(result.run_id), worker)


def told(run: Run, desk: Desk) -> dict[str, Any]:
    with desk.database.read() as session:
        (step,) = steps_of_run(session, run.id)
    return step.result


def version(desk: Desk, key: Rule) -> RuleVersion:
    with desk.database.read() as session:
        row = rule_queries.version(session, desk.namespace, *key)
    assert row is not None
    return row


def resting(desk: Desk, runs: list[Ran], call: str = CALL) -> tuple[Rule, tuple[str, ...]]:
    """A rule on these runs, and the runs that make its call, which is a word that others know."""
    desk.record(Ran("t9", "success", ("look",), text=f"do not {CALL}"))
    shown = those_with(desk.record(*runs), call, runs)
    return desk.promoted(Found(avoid(call), shown)), shown


def holding(database: Database, word: str) -> set[str]:
    """Tables, opened bodies among them, in which a word stands."""
    found = set()
    with database.read() as session:
        for table in SQLModel.metadata.sorted_tables:
            found |= {table.name for row in session.execute(sa.select(table)) if word in str(tuple(row))}
        for row in session.exec(select(Episode)):
            found |= {"body"} if word in str(load_bodies(session, row.namespace, [row.id])) else set()
    return found


def test_a_rule_that_others_carry_stays_with_its_figures_and_evidence_less_what_went(desk: Desk) -> None:
    one, *others = tried(CALL)
    key, shown = resting(desk, [Ran(one.task, one.outcome, one.calls, text=f"I am {NAME}"), *others])
    before = version(desk, key)
    assert {"body"} <= holding(desk.database, NAME)
    result = purged(desk, shown[0])
    after = version(desk, key)
    assert (result.expired, result.quarantined) == ([], [])
    assert [(c["event"], c["rule"]) for c in _changes(desk, result)] == [("restored", key[0])], "its figures are others"
    assert (after.state, after.content, after.content_hash) == ("active", before.content, before.content_hash)
    assert after.evidence["support"] == before.evidence["support"] - 1
    assert after.evidence["independent_groups"] == before.evidence["independent_groups"] - 1
    run = erased(desk, result)
    assert (run.state, told(run, desk)["erased"]) == ("completed", 1)
    assert holding(desk.database, NAME) == set()
    with desk.database.read() as session:
        links = session.exec(select(Evidence).where(Evidence.episode_id == shown[0])).all()
        assert {(link.is_stale, tuple(link.step_ids)) for link in links} == {(True, ())}
        assert audit.verify(session).ok


def test_a_tombstone_says_when_by_whom_and_a_digest_of_why(desk: Desk) -> None:
    (episode,) = desk.record(Ran("t0", "success", ("look",), session=f"s-{NAME}"))
    erased(desk, purged(desk, episode, reason=f"{NAME} asked"))
    assert holding(desk.database, NAME) == set()
    with desk.database.read() as session:
        row = session.get_one(Episode, (desk.namespace, episode))
    assert row.purged_at == desk.now
    noted = row.details["purge"]
    assert (noted["by"], noted["reason"]) == (
        "operator:test", keyed_hash(desk.secret, "reason", f"{NAME} asked"),
    )  # fmt: skip
    assert (row.task, row.session_id, row.outcome, row.n_steps) == ("[purged]", None, "success", 2)


def test_what_rests_on_it_alone_is_withdrawn_in_the_same_moment_and_left_to_a_person(desk: Desk) -> None:
    key, shown = resting(desk, tried(CALL, tasks=1))
    result = purged(desk, *shown)
    assert result.quarantined == [key]
    assert (version(desk, key).state, version(desk, key).state_reason) == ("quarantined", WEAK)
    with desk.database.read() as session:
        event = session.get_one(OutboxEvent, (desk.namespace, result.epoch))
    assert [(c["event"], c["rule"], c["version"]) for c in event.changes] == [("quarantined", *key)]
    run = erased(desk, result)
    assert [(one["rule"], one["version"]) for one in told(run, desk)["to_review"]] == [key]
    assert version(desk, key).evidence["support"] == 0


def test_what_is_withdrawn_for_want_of_cited_runs_comes_back_on_those_that_were_not_cited(desk: Desk) -> None:
    runs = tried(CALL)
    shown = those_with(desk.record(*runs), CALL, runs)
    key = desk.promoted(Found(avoid(CALL), shown[:2]))
    result = purged(desk, *shown[:2])
    assert result.quarantined == [key]
    run = erased(desk, result)
    assert [one["rule"] for one in told(run, desk)["restored"]] == [key[0]]
    assert version(desk, key).state == "active"


def test_a_claim_in_the_words_of_the_erased_alone_goes_for_good(desk: Desk) -> None:
    call = f"mail_{NAME}"
    key, _ = resting(desk, tried(call), call)
    with desk.database.read() as session:
        everyone = [row.id for row in session.exec(select(Episode)) if row.outcome == "failure"]
    made = export_rules(desk.database, desk.namespace, format="jsonl", actor="ops", export_id="x-1", now=desk.now)
    assert call in made.text
    result = purged(desk, *everyone)
    assert (result.expired, result.quarantined) == ([key], [])
    assert exports_with(desk, result.expired) == ["x-1"]
    assert exports_with(desk, [("another", 1)]) == exports_with(desk, []) == []
    assert (version(desk, key).state, version(desk, key).state_reason) == ("expired", OWN)
    erased(desk, result)
    assert holding(desk.database, call) == set()
    assert [change["event"] for change in _changes(desk, result)] == ["purged"]


def exports_with(desk: Desk, keys: list[Rule]) -> list[str]:
    with desk.database.read() as session:
        return [row.target for row in exports_holding(session, desk.namespace, keys)]


def _changes(desk: Desk, result: PurgeResult) -> list[dict[str, Any]]:
    with desk.database.read() as session:
        return list(session.get_one(OutboxEvent, (desk.namespace, result.epoch)).changes)


def test_a_word_that_another_run_says_too_is_nobodys_own(desk: Desk) -> None:
    key, shown = resting(desk, tried(CALL))
    before = version(desk, key).content
    result = purged(desk, *shown[:-1])
    erased(desk, result)
    assert version(desk, key).content == before, "the last one still calls it so"


def test_every_revision_of_a_record_goes_with_it(desk: Desk) -> None:
    first, second, other = desk.record(*(Ran("t0", "success", ("look",), text=NAME) for _ in range(3)))
    with desk.database.write() as session:
        for name in (first, second):
            row = session.get_one(Episode, (desk.namespace, name))
            row.source_id, row.is_current = "trial-1", name == second
    result = purged(desk, second)
    assert result.episodes == [first, second]
    erased(desk, result)
    with desk.database.read() as session:
        assert set(load_bodies(session, desk.namespace, [first, second, other])) == {other}


def test_done_again_it_changes_nothing(desk: Desk) -> None:
    _, shown = resting(desk, tried(CALL, tasks=1))
    erased(desk, purged(desk, *shown))
    before = _counts(desk.database)
    again = purged(desk.later(), *shown)
    assert (again.changed, again.run_id, again.epoch) == (False, None, None)
    assert _counts(desk.database) == before


def _counts(database: Database) -> dict[str, int]:
    with database.read() as session:
        every = SQLModel.metadata.sorted_tables
        return {one.name: session.execute(sa.select(sa.func.count()).select_from(one)).scalar_one() for one in every}


def test_nothing_happens_without_a_reason_or_to_a_stranger(desk: Desk) -> None:
    (episode,) = desk.record(Ran("t0", "success", ("look",)))
    before = _counts(desk.database)
    with pytest.raises(ReasonMissing):
        purged(desk, episode, reason=" ")
    with pytest.raises(EpisodeUnknown, match="e-nobody"):
        purged(desk, episode, "e-nobody")
    assert plan(desk.database, desk.namespace, [episode]).fresh
    assert _counts(desk.database) == before


def test_while_a_night_runs_it_is_withdrawn_and_erased_once_the_night_is_closed(desk: Desk) -> None:
    key, shown = resting(desk, tried(CALL, tasks=1))
    with desk.database.write() as session:
        night = insert_run(session, namespace=desk.namespace, kind="night", key="2027-01-01", requested_by="t",
                           now=desk.now)  # fmt: skip
    first = erased(desk, purged(desk, *shown))
    assert (first.state, version(desk, key).state) == ("partial", "quarantined")
    assert night.id in first.problems[0]["error"]
    with desk.database.write() as session:
        session.get_one(Run, night.id).state = "completed"
    again = purged(desk, *shown)
    assert (again.changed, again.run_id != first.id) == (False, True)
    assert erased(desk, again).state == "completed"
    with desk.database.read() as session:
        assert load_bodies(session, desk.namespace, shown) == {}


class Killed(BaseException):
    """As a kill: nothing catches it."""


class Failing(Database):
    """A store whose ``at``-th transaction that writes is never committed."""

    def __init__(self, database: Database, at: int) -> None:
        self.__dict__.update(database.__dict__)
        self.left = at

    @contextmanager
    def write(self, *, patience_ms: int | None = None) -> Iterator[Session]:
        self.left -= 1
        with super().write(patience_ms=patience_ms) as session:
            yield session
            if self.left == 0:
                raise Killed


def test_killed_at_any_write_it_comes_to_the_same_end(desk: Desk) -> None:
    one, *others = tried(CALL, tasks=2)
    key, shown = resting(desk, [Ran(one.task, one.outcome, one.calls, text=f"I am {NAME}"), *others])
    result = purged(desk, shown[0], shown[1])
    at = 1
    while True:
        failing = Failing(desk.database, at)
        worker = Worker(f"test-{at}", desk.secret, clock=lambda: desk.now, retry_seconds=0, max_attempts=99,
                        is_dead=lambda _: True)  # fmt: skip
        try:
            run = pipeline.drive(failing, str(result.run_id), worker)
            break
        except Killed:
            at += 1
    assert at > 10
    assert run.state == "completed"
    assert holding(desk.database, NAME) == set()
    with desk.database.read() as session:
        assert load_bodies(session, desk.namespace, shown[:2]) == {}
        assert run_by_id(session, run.id) is not None
    assert version(desk, key).evidence["support"] == 2
    assert purged(desk.later(), shown[0]).run_id is None
