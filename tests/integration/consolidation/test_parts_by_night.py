"""A real night confirms a claim, a reviewer splits it, and each part is asked about on the groups that confirmed it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.engine import Database
from storage.queries import candidates as candidate_queries
from storage.queries.consolidation import LOOK_FOLDS
from storage.queries.parts import looks_at
from storage.tables import Candidate, CandidateRevision
from support import factories
from tasks import pipeline
from tasks.context import PipelineSettings
from tasks.pipeline import Worker
from tasks.promote.errors import PacketIncomplete
from tasks.promote.people import Reviewer
from tasks.promote.step import approve
from tasks.stage.split_step import Split, choices_of, split

SPACE, SECRET = "lab", b"k" * 32
START = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
SETTINGS = PipelineSettings()
Records = list[dict[str, Any]]


def at_version(records: Records, version: str) -> Records:
    return [{**record, "environment": {"desk": version}} for record in records]


@pytest.fixture
def nights(database: Database, worker: Worker) -> Callable[[int], dict[str, Any]]:
    """Runs a whole night; returns what its last stage did."""

    def run(number: int) -> dict[str, Any]:
        now = START + timedelta(days=number)
        made = pipeline.open_run(database, SPACE, now.date().isoformat(), "test", now)
        closed = pipeline.drive(database, made.id, replace(worker, clock=lambda: now))
        assert closed.state == "completed"
        with database.read() as session:
            steps = pipeline.queries.steps_of_run(session, made.id)
        return next(step.result for step in steps if step.stage == "stage")

    return run


@pytest.fixture
def ana(database: Database) -> Reviewer:
    return factories.make_person(database, "ana", START)[0]


def waiting(database: Database) -> list[tuple[Candidate, CandidateRevision]]:
    with database.read() as session:
        return list(candidate_queries.queue(session, SPACE))


def hasty(database: Database) -> Candidate:
    """The candidate on paying without a look at the fare."""
    (found,) = [row for row, text in waiting(database) if set(text.content["predicate"].values()) & {"get_fare"}]
    return found


def parted(database: Database, ana: Reviewer, whole: Candidate) -> Split:
    return split(
        database, SPACE, whole.id, content_hash=whole.content_hash, by="desk<=1.0", reviewer=ana, now=START,
        reason="2.0 shows the fare by itself", secret=SECRET, settings=SETTINGS,
    )  # fmt: skip


def decide(database: Database, name: str, row: Candidate) -> str:
    reviewer, _ = factories.make_person(database, name, START)
    done = approve(
        database, SPACE, row.id, content_hash=row.content_hash, packet_hash=row.packet_hash, now=START,
        reviewer=reviewer, reason="seen", secret=SECRET,
    )  # fmt: skip
    return done.state


def test_a_part_that_the_groups_of_the_whole_confirm_can_be_approved_and_the_other_cannot(
    database: Database,
    bring: Callable[..., Any],
    desk: Callable[..., Records],
    nights: Callable[..., Any],
    ana: Reviewer,
) -> None:
    bring([*at_version(desk(1, tasks=30), "1.0"), *at_version(desk(2, tasks=30, runs=5, harm=0.1), "2.0")])
    nights(0)
    whole = hasty(database)
    choices = {one.key: one for one in choices_of(database, SPACE, whole.id, SETTINGS).choices}
    assert choices.keys() == {"desk<=1.0", "agent=bot-0", "agent=bot-1", "agent=bot-2"}
    choice = choices["desk<=1.0"]
    assert [side.left.stands for side in choice.sides] == [True, False]
    done = parted(database, ana, whole)
    found = {row.id: (row, text) for row, text in waiting(database)}
    (old, old_text), (new, new_text) = (found[part] for part in done.parts)
    with database.read() as session:
        above = {look.fold: look.alpha for look in looks_at(session, SPACE, whole.predicate_id) if look.confirmed}
        below = looks_at(session, SPACE, old.predicate_id)
    assert below
    assert all(look.alpha == pytest.approx(above[look.fold % LOOK_FOLDS] / 8) for look in below)
    assert old_text.packet["held_out"]["confirmed"] is True
    assert new_text.packet["held_out"]["confirmed"] is False
    with pytest.raises(PacketIncomplete, match="held-out"):
        decide(database, "bo", new)
    assert decide(database, "cy", old) == "promoted"


def test_the_whole_is_drafted_every_night_and_stays_closed_while_its_parts_wait(
    database: Database,
    bring: Callable[..., Any],
    desk: Callable[..., Records],
    nights: Callable[..., Any],
    ana: Reviewer,
) -> None:
    bring([*at_version(desk(1, tasks=30), "1.0"), *at_version(desk(2, tasks=30, runs=5), "2.0")])
    nights(0)
    whole = hasty(database)
    done = parted(database, ana, whole)
    bring([*at_version(desk(3, tasks=30, runs=5), "1.0"), *at_version(desk(4, tasks=30, runs=5), "2.0")])
    stage = nights(1)
    states = {row.id: row.state for row, _ in waiting(database)}
    assert whole.id not in states
    assert set(done.parts) <= states.keys()
    assert stage["parts"] == {"refreshed": 2, "voided": 0, "unchanged": 0}
    assert whole.id in stage["told"]["closed"]
