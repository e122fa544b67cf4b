"""Finished values of the pages of rules and episodes, without a store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from review_ui.reader import Reader, answering
from review_ui.timeline import SHAPES
from review_ui.views import names
from review_ui.views.episodes import NOTES
from review_ui.views.readers import edges_of
from review_ui.views.replay import ICONS
from review_ui.views.revocation import calls_after
from review_ui.views.rule_history import happenings
from review_ui.views.ties import WHY
from review_ui.views.versions import MEANS
from storage.tables import AuditEntry, Decision, OutboxEvent
from storage.tables.episodes import OUTCOMES
from storage.tables.night import RECHECK_VERDICTS
from storage.tables.review import CANDIDATE_STATES, TIERS
from storage.tables.rules import VERSION_STATES
from storage.tables.runs import RUN_STATES
from tasks.ingest.notes import NAMES
from tasks.ingest.outcome import SOURCE_WORDS
from tasks.select.reasons import why

NOW = datetime(2026, 3, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "stored"),
    [
        (names.VERSION_STATES, VERSION_STATES),
        (MEANS, VERSION_STATES),
        (names.TIERS, TIERS),
        (names.OUTCOMES, OUTCOMES),
        (names.CANDIDATE_STATES, CANDIDATE_STATES),
        (names.RUN_STATES, RUN_STATES),
        (names.RECHECKS, RECHECK_VERDICTS),
        (names.SOURCES, tuple(SOURCE_WORDS)),
        (names.STEP_KINDS, tuple(ICONS)),
    ],
)
def test_every_name_that_is_stored_has_words(words: dict[str, str], stored: tuple[str, ...]) -> None:
    assert set(words) == set(stored)


def test_sources_say_what_the_rest_of_the_system_says() -> None:
    assert names.SOURCES == SOURCE_WORDS


def test_every_note_that_ingest_words_is_worded_here() -> None:
    assert set(NOTES) == set(NAMES.values())


def test_every_reason_to_take_an_episode_up_has_words() -> None:
    plain = {"session": "s", "task": "t", "outcome": "failure", "is_revision": False, "missed": (), "failed": ()}
    found = [why(**plain | given) for given in ({}, {"missed": ["s"]}, {"failed": ["t"]}, {"is_revision": True})]
    assert sorted(found) == sorted(WHY)


def test_every_event_but_a_purge_has_a_shape_in_the_drawing() -> None:
    assert set(names.EVENTS) - set(SHAPES) == {"purged"}


def test_calls_are_counted_from_where_the_rule_was_read() -> None:
    steps = [
        {"id": "1", "kind": "tool_call", "name": "before"},
        {"id": "2", "kind": "memory_read", "rule": "r", "version": 2},
        {"id": "3", "kind": "tool_call", "name": "pay"},
        {"id": "4", "kind": "observation", "of": "3"},
        {"id": "5", "kind": "tool_call", "name": "pay"},
        {"id": "6", "kind": "tool_call"},
    ]
    assert calls_after({"steps": steps}, {("r", 2)}) == {"pay": 2, "?": 1}
    assert calls_after({"steps": steps}, {("r", 1)}) == {"before": 1, "pay": 2, "?": 1}
    assert calls_after({"steps": ["odd"]}, set()) == {}


def test_days_are_the_readers_and_the_one_that_begins_summer_time_is_shorter() -> None:
    with answering(Reader(zone="Europe/Berlin")):
        edges = edges_of(False, NOW)
    lengths = [after - before for before, after in pairwise(edges)]
    assert len(lengths) == 30
    assert sorted(set(lengths)) == [timedelta(hours=23), timedelta(hours=24)]
    assert lengths[-2] == timedelta(hours=23)
    assert edges[-2] <= NOW < edges[-1]


def test_hours_end_with_the_one_that_runs() -> None:
    edges = edges_of(True, NOW + timedelta(minutes=40))
    assert len(edges) == 49
    assert edges[-2] == NOW


def event(epoch: int, at: datetime, *changes: tuple[str, str, int]) -> OutboxEvent:
    told = [{"event": kind, "rule": rule, "version": version, "reason": "why"} for kind, rule, version in changes]
    return OutboxEvent(namespace="n", epoch=epoch, changes=told, created_at=at)


def entry(action: str, target: str, actor: str, at: datetime, **detail: str) -> AuditEntry:
    return AuditEntry(seq=1, at=at, actor=actor, action=action, target=target, detail=detail, previous_hash="", hash="")


def test_who_was_behind_an_event_is_whoever_acted_in_the_same_transaction() -> None:
    later, last = NOW + timedelta(days=1), NOW + timedelta(days=2)
    events = [
        event(3, last, ("restored", "r", 1)),
        event(2, later, ("revoked", "r", 1), ("quarantined", "other", 1)),
        event(1, NOW, ("superseded", "r", 1), ("promoted", "r", 2)),
    ]
    acts = [
        entry("rule.revoked", "rule:r", "user:u1", later),
        entry("rule.restored", "rule:r@1", "worker", last, run="run-9"),
    ]
    decision = Decision(namespace="n", id="d", candidate_id="c", number=1, content_hash="h", packet_hash="p",
                        verdict="approve", reviewer_id="u2", reason="x", at=NOW)  # fmt: skip
    told = happenings("r", events, acts, [(decision, "bo")], {"u1": "ana"})
    assert [(one.kind, one.version, one.by, one.run_link) for one in told] == [
        ("restored", 1, "a repair, by itself", "/runs/run-9"),
        ("revoked", 1, "ana", ""),
        ("promoted", 2, "bo", ""),
        ("superseded", 1, "bo", ""),
    ]
