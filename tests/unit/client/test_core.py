"""What a client may serve, decided without any input or output."""

from __future__ import annotations

from typing import Any

import pytest

from slowwave_client import MemoryStale, MemoryUnavailable
from slowwave_client._impl.core import Core

from .conftest import Clock, answer

KEY = ("task",)


def cached(core: Core, epoch: int = 1, *rules: str, key: tuple[str, ...] = KEY, grant: float = 600) -> None:
    ticket = core.ticket()
    assert core.learn(ticket, epoch, 15, 0)
    assert core.store(key, "s", ticket, answer(epoch, *rules), grant)


def event(kind: str, rule: str = "check-first") -> list[dict[str, Any]]:
    return [{"event": kind, "rule": rule, "version": 1}]


def test_an_answer_is_served_from_the_cache_within_its_lease(core: Core, clock: Clock) -> None:
    cached(core)
    clock.pass_(14.9)
    assert core.hit(KEY, "s") is not None


def test_nothing_is_served_once_the_lease_has_ended(core: Core, clock: Clock) -> None:
    cached(core)
    clock.pass_(15)
    assert core.hit(KEY, "s") is None


def test_a_lease_runs_from_when_the_request_was_sent(core: Core, clock: Clock) -> None:
    ticket = core.ticket()
    clock.pass_(4)
    core.learn(ticket, 1, 15, 0)
    assert core.deadline == ticket.at + 15


def test_a_lease_is_shortened_by_the_age_of_what_the_server_knew(core: Core) -> None:
    ticket = core.ticket()
    core.learn(ticket, 1, 15, 5)
    assert core.deadline == ticket.at + 10


def test_the_shorter_of_both_leases_counts(clock: Clock) -> None:
    core = Core(namespace="n", instance="i", lease=3, clock=clock)
    core.learn(core.ticket(), 1, 15, 0)
    assert core.deadline == clock() + 3


def test_an_answer_that_arrives_late_never_shortens_a_lease(core: Core, clock: Clock) -> None:
    early = core.ticket()
    clock.pass_(5)
    core.learn(core.ticket(), 1, 15, 0)
    deadline = core.deadline
    core.learn(early, 1, 15, 0)
    assert core.deadline == deadline


def test_a_cached_answer_outlives_no_grant(core: Core, clock: Clock) -> None:
    cached(core, grant=5)
    clock.pass_(5)
    assert core.hit(KEY, "s") is None


def test_a_session_that_was_never_declared_gets_no_hit(core: Core) -> None:
    cached(core)
    assert core.hit(KEY, "stranger") is None


@pytest.mark.parametrize("kind", ["revoked", "quarantined", "expired", "purged"])
def test_a_removal_drops_the_answers_that_hold_the_rule_and_no_others(core: Core, kind: str) -> None:
    cached(core)
    cached(core, 1, "other", key=("else",))
    core.apply(2, event(kind))
    assert core.hit(KEY, "s") is None
    assert core.hit(("else",), "s") is not None


@pytest.mark.parametrize("kind", ["promoted", "superseded", "restored", "something new"])
def test_a_change_that_may_add_drops_every_answer(core: Core, kind: str) -> None:
    cached(core, 1, "other")
    core.apply(2, event(kind))
    assert core.hit(KEY, "s") is None


def test_a_gap_in_the_epochs_drops_every_answer(core: Core) -> None:
    cached(core, 1, "other")
    core.apply(3, event("revoked"))
    assert core.hit(KEY, "s") is None
    assert core.epoch == 3


def test_an_event_seen_before_changes_nothing(core: Core) -> None:
    cached(core, 2)
    core.apply(2, event("revoked"))
    core.apply(1, event("revoked"))
    assert core.hit(KEY, "s") is not None


def test_a_fill_older_than_the_last_epoch_seen_is_refused(core: Core) -> None:
    core.learn(core.ticket(), 1, 15, 0)
    ticket = core.ticket()
    core.apply(2, event("revoked"))
    assert core.learn(ticket, 1, 15, 0)
    assert not core.store(KEY, "s", ticket, answer(1), 600)
    assert core.hit(KEY, "s") is None


def test_a_fill_of_a_newer_epoch_drops_what_was_cached_before_it(core: Core) -> None:
    cached(core)
    cached(core, 3, "other", key=("else",))
    assert core.hit(KEY, "s") is None
    assert core.hit(("else",), "s") is not None


def test_a_newer_epoch_told_by_a_lease_drops_every_answer(core: Core) -> None:
    cached(core)
    core.learn(core.ticket(), 2, 15, 0)
    assert core.hit(KEY, "s") is None


def test_a_server_that_went_back_in_time_renews_no_lease(core: Core, clock: Clock) -> None:
    core.learn(core.ticket(), 5, 15, 0)
    deadline = core.deadline
    clock.pass_(5)
    assert not core.learn(core.ticket(), 4, 15, 0)
    assert core.deadline == deadline
    assert "older than 5" in (core.last_error or "")


def test_a_resync_drops_every_answer(core: Core) -> None:
    cached(core, 4)
    core.refresh(4)
    assert core.hit(KEY, "s") is None


def test_after_its_lease_a_client_says_since_when_and_why(core: Core, clock: Clock) -> None:
    cached(core)
    core.failed(MemoryUnavailable("connection refused"))
    clock.pass_(40)
    with pytest.raises(MemoryStale, match=r"40\.0 s ago .* 25\.0 s ago.*connection refused") as raised:
        core.last_resort(KEY, "s", MemoryUnavailable("down"))
    assert raised.value.seconds == 40
    assert raised.value.last_error == "connection refused"


def test_within_its_lease_a_failure_is_not_called_stale(core: Core) -> None:
    cached(core)
    with pytest.raises(MemoryUnavailable) as raised:
        core.last_resort(("else",), "s", MemoryUnavailable("down"))
    assert not isinstance(raised.value, MemoryStale)


def test_old_answers_are_served_marked_only_where_the_caller_insists(clock: Clock) -> None:
    core = Core(namespace="n", instance="i", on_stale="serve_marked", clock=clock)
    cached(core)
    clock.pass_(60)
    assert core.hit(KEY, "s") is None
    served = core.last_resort(KEY, "s", MemoryUnavailable("down"))
    assert served.stale
    assert "60.0 s ago" in served.stale_reason


def test_not_even_a_marked_answer_holds_what_was_seen_to_be_revoked(clock: Clock) -> None:
    core = Core(namespace="n", instance="i", on_stale="serve_marked", clock=clock)
    cached(core)
    core.apply(2, event("revoked"))
    with pytest.raises(MemoryUnavailable):
        core.last_resort(KEY, "s", MemoryUnavailable("down"))


def test_not_even_a_marked_answer_goes_to_a_session_that_the_server_never_heard_of(clock: Clock) -> None:
    core = Core(namespace="n", instance="i", on_stale="serve_marked", clock=clock)
    cached(core)
    clock.pass_(60)
    with pytest.raises(MemoryUnavailable):
        core.last_resort(KEY, "unknown", MemoryUnavailable("down"))
    core.learn(core.ticket(), 1, 15, 0)
    assert core.hit(KEY, "unknown") is None


def test_not_even_a_marked_answer_outlives_its_grant(clock: Clock) -> None:
    core = Core(namespace="n", instance="i", on_stale="serve_marked", clock=clock)
    cached(core)
    clock.pass_(601)
    with pytest.raises(MemoryUnavailable):
        core.last_resort(KEY, "s", MemoryUnavailable("down"))


def test_a_refused_token_ends_serving_at_once(core: Core) -> None:
    cached(core)
    core.lost_access(MemoryUnavailable("this token was revoked"))
    assert core.hit(KEY, "s") is None
    stale = core.stale()
    assert stale is not None
    assert "revoked" in str(stale)


def test_the_cache_is_bounded(clock: Clock) -> None:
    core = Core(namespace="n", instance="i", clock=clock, max_entries=2)
    for name in ("a", "b", "c"):
        cached(core, key=(name,))
    assert core.hit(("a",), "s") is None
    assert core.hit(("c",), "s") is not None


def test_reads_are_journalled_by_session(core: Core) -> None:
    cached(core)
    core.hit(KEY, "s")
    assert core.journal.reads("s") == {("check-first", 1): 2}
    assert core.journal.close("s") == {("check-first", 1): 2}
    assert core.hit(KEY, "s") is None


@pytest.mark.parametrize("given", [{"lease": 0}, {"lease": -1.0}, {"on_stale": "whatever"}])
def test_a_setting_that_makes_no_sense_is_refused(clock: Clock, given: Any) -> None:
    with pytest.raises(ValueError, match="use"):
        Core(namespace="n", instance="i", clock=clock, **given)
