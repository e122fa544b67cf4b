"""How an event spread, from the steps that readers took."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_ui.views.events import drawing_of, time_words
from review_ui.views.spread import Spread, Told, quantile, spread_of
from storage.queries.pages_events import Behind, Span
from storage.tables import OutboxEvent

AT = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
LEASE = 15.0


def after(seconds: float) -> datetime:
    return AT + timedelta(seconds=seconds)


def spread(spans: list[Span], behind: list[Behind] | None = None, epoch: int = 7) -> Spread:
    return spread_of(epoch, AT, spans, behind or [], LEASE)


def test_an_event_is_told_by_the_step_that_goes_over_it() -> None:
    spans = [Span("a", 6, 7, after(0.3)), Span("b", 3, 9, after(2)), Span("c", 7, 8, after(9)), Span("d", 5, 6, AT)]
    found = spread(spans)
    assert [(one.consumer, one.state, one.seconds) for one in found.readers] == [("b", "told", 2.0), ("a", "told", 0.3)]
    assert (found.reached, found.concerned, found.times) == (2, 2, [0.3, 2.0])


def test_who_comes_after_the_lease_is_told_apart_and_left_out_of_the_times() -> None:
    found = spread([Span("a", 6, 7, after(0.5)), Span("b", 6, 7, after(LEASE + 1))])
    assert found.times == [0.5]
    assert (found.reached, len(found.of("late"))) == (2, 1)
    assert found.slowest is not None
    assert found.slowest.consumer == "b"
    assert time_words(found) == "within 0.5 s; 1 after its lease"


def test_a_reader_with_a_grant_at_the_time_stops_with_its_lease_at_the_latest() -> None:
    behind = [
        Behind("long", 6, after(-50), after(400)),
        Behind("short", 6, after(-50), after(4)),
        Behind("gone", 6, after(-900), after(-300)),
        Behind("never", 2, after(-900), None),
        Behind("ahead", 7, after(1), after(400)),
    ]
    found = spread([], behind)
    assert {one.consumer: (one.state, one.until) for one in found.readers} == {
        "long": ("waiting", after(LEASE)),
        "short": ("waiting", after(4)),
        "gone": ("away", None),
        "never": ("away", None),
    }
    assert (found.reached, found.concerned) == (0, 2)


def test_clocks_that_differ_make_no_negative_time() -> None:
    assert spread([Span("a", 6, 7, after(-2))]).times == [0.0]


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_a_value_that_enough_do_not_exceed(times: list[float], part: float) -> None:
    times.sort()
    found = quantile(times, part)
    assert found in times
    assert sum(one <= found for one in times) >= part * len(times) - 1e-9


def test_the_drawing_stays_inside_whatever_the_times() -> None:
    seconds = [0.0, 0.004, 0.3, 14.0, 9e6]
    events = [
        (OutboxEvent(namespace="a", epoch=n, created_at=AT), Spread((Told("x", "told", one),)))
        for n, one in enumerate(seconds)
    ]
    drawing = drawing_of(events, LEASE)
    assert drawing is not None
    assert len(drawing.marks) == len(seconds)
    for mark in drawing.marks:
        assert drawing.left <= mark.x <= drawing.width
        assert 0 <= mark.y_most <= mark.y <= drawing.height
    assert "5 events" in drawing.words
    assert drawing_of([(events[0][0], Spread(()))], LEASE) is None


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([], ""),
        ([0.3], "within 0.3 s"),
        ([0.1, 0.2, 4.0], "half within 0.2 s, 95 % within 4.0 s, all within 4.0 s"),
    ],
)
def test_times_are_said_in_one_phrase(times: list[float], words: str) -> None:
    assert time_words(Spread(tuple(Told(str(n), "told", one) for n, one in enumerate(times)))) == words
