"""The checker of histories: it passes what is right, and catches each thing that is not when it is planted."""

from __future__ import annotations

from dataclasses import replace

from support.history import (
    Committed,
    Declared,
    Event,
    Exposed,
    Granted,
    Indexed,
    Renewed,
    Restarted,
    Seen,
    Served,
    violations,
)

A, B = ("a", 1), ("b", 1)
LEASE = 15.0


def promoted(at: float, epoch: int, *versions: tuple[str, int]) -> Committed:
    return Committed(at, epoch, tuple(("promoted", each) for each in versions))


def revoked(at: float, epoch: int, version: tuple[str, int] = A) -> Committed:
    return Committed(at, epoch, (("revoked", version),))


def first_read(at: float = 1.0, epoch: int = 1) -> list[Event]:
    """A session's first answer: it holds version A, and may be cached for a minute."""
    return [
        Declared(at, "s", "c"),
        Exposed(at, "s", A),
        Granted(at, "c", A, at + 60),
        Seen(at, "c", epoch),
        Renewed(at, "c", at + LEASE),
        Served(at, "c", "s", A),
    ]


def rules_broken(*history: Event) -> list[str]:
    return [found.rule for found in violations(history, LEASE)]


def test_a_history_in_order_has_no_violation() -> None:
    history = [promoted(0, 1, A, B), *first_read(), Served(9, "c", "s", A), revoked(10, 2), Served(11, "c", "s", A),
               Seen(11.5, "c", 2), promoted(20, 3, A), Seen(21, "c", 3), Renewed(21, "c", 40),
               Served(22, "c", "s", A)]  # fmt: skip
    assert rules_broken(*history) == []


def test_a_serve_after_the_epoch_that_withdrew_it_was_seen_is_caught() -> None:
    history = [promoted(0, 1, A), *first_read(), revoked(2, 2), Seen(3, "c", 2), Served(3, "c", "s", A)]
    assert rules_broken(*history) == ["after-seen"]


def test_a_mark_is_no_excuse_for_what_the_client_knew() -> None:
    serve = Served(3, "c", "s", A, marked_stale=True)
    assert rules_broken(promoted(0, 1, A), *first_read(), revoked(2, 2), Seen(3, "c", 2), serve) == ["after-seen"]


def test_a_later_epoch_is_as_good_as_the_one_that_withdrew_it() -> None:
    history = [promoted(0, 1, A), *first_read(), revoked(2, 2), promoted(3, 3, B), Seen(4, "c", 3)]
    assert rules_broken(*history, Served(4, "c", "s", A)) == ["after-seen"]


def test_an_older_epoch_heard_later_makes_a_client_forget_nothing() -> None:
    history = [promoted(0, 1, A), *first_read(), revoked(2, 2), Seen(3, "c", 2), Seen(4, "c", 1)]
    assert rules_broken(*history, Served(4, "c", "s", A)) == ["after-seen"]


def test_what_one_client_saw_binds_no_other_within_the_lease() -> None:
    history = [promoted(0, 1, A), *first_read(), revoked(2, 2), Seen(3, "d", 2), Served(4, "c", "s", A)]
    assert rules_broken(*history) == []


def test_a_serve_before_any_contact_is_caught() -> None:
    read = [event for event in first_read() if not isinstance(event, Seen)]
    assert rules_broken(promoted(0, 1, A), *read) == ["after-seen"]


def test_a_restart_forgets_what_was_seen_and_the_lease() -> None:
    history = [promoted(0, 1, A), *first_read(), Restarted(2, "c"), Served(2, "c", "s", A)]
    assert rules_broken(*history) == ["after-seen", "past-deadline"]


def test_a_serve_later_than_one_lease_after_the_withdrawal_is_caught() -> None:
    long = [promoted(0, 1, A), *first_read(), Renewed(2, "c", 99), revoked(2, 2)]
    assert rules_broken(*long, Served(2 + LEASE, "c", "s", A)) == []
    assert rules_broken(*long, Served(2.1 + LEASE, "c", "s", A)) == ["past-lease"]
    assert rules_broken(*long, Served(2.1 + LEASE, "c", "s", A, marked_stale=True)) == []


def test_a_serve_past_the_clients_own_deadline_is_caught_though_nothing_was_withdrawn() -> None:
    history = [promoted(0, 1, A), *first_read()]
    assert rules_broken(*history, Served(1 + LEASE + 0.1, "c", "s", A)) == ["past-deadline"]
    assert rules_broken(*history, Served(1 + LEASE + 0.1, "c", "s", A, marked_stale=True)) == []


def test_each_way_of_withdrawing_counts() -> None:
    for kind in ("revoked", "quarantined", "superseded", "expired", "purged"):
        gone = Committed(2, 2, ((kind, A),))
        assert rules_broken(promoted(0, 1, A), *first_read(), gone, Seen(3, "c", 2), Served(3, "c", "s", A)) == [
            "after-seen"
        ], kind


def test_what_was_restored_may_be_served_again() -> None:
    back = Committed(3, 3, (("restored", A),))
    history = [promoted(0, 1, A), *first_read(), revoked(2, 2), Seen(2.5, "c", 2), back]
    assert rules_broken(*history, Served(4, "c", "s", A)) == []


def test_a_withdrawn_version_that_a_later_write_brings_back_is_caught() -> None:
    other = replace(promoted(3, 3, B), active=frozenset({A, B}))
    assert rules_broken(promoted(0, 1, A), revoked(2, 2), other) == ["came-back"]
    assert rules_broken(promoted(0, 1, A), revoked(2, 2), replace(other, active=frozenset({B}))) == []


def test_a_withdrawn_version_in_a_rebuilt_index_is_caught() -> None:
    history = [promoted(0, 1, A, B), revoked(2, 2)]
    assert rules_broken(*history, Indexed(3, "web-1", 2, frozenset({A, B}))) == ["came-back"]
    assert rules_broken(*history, Indexed(3, "web-1", 2, frozenset({B}))) == []


def test_an_index_is_held_to_the_epoch_it_is_labelled_with() -> None:
    lagging = Indexed(3, "web-1", 1, frozenset({A}))
    assert rules_broken(promoted(0, 1, A), revoked(2, 2), lagging) == []


def test_a_serve_without_a_row_is_caught() -> None:
    read = [event for event in first_read() if not isinstance(event, Exposed | Granted)]
    assert rules_broken(promoted(0, 1, A), *read) == ["uncovered"]


def test_a_row_that_came_after_the_serve_covers_it_not() -> None:
    read = [replace(event, at=2.0) if isinstance(event, Exposed | Granted) else event for event in first_read()]
    assert rules_broken(promoted(0, 1, A), *read) == ["uncovered"]


def test_another_sessions_row_covers_no_serve_without_a_tie_to_the_cache() -> None:
    history = [promoted(0, 1, A), *first_read()]
    assert rules_broken(*history, Served(2, "c", "t", A)) == ["uncovered"]
    assert rules_broken(*history, Declared(2, "t", "c"), Served(2, "c", "t", A)) == []


def test_a_grant_that_ran_out_covers_nothing() -> None:
    history = [promoted(0, 1, A), *first_read(), Declared(2, "t", "c"), Renewed(70, "c", 90)]
    assert rules_broken(*history, Served(71, "c", "t", A)) == ["uncovered"]
