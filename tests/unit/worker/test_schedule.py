from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from worker.schedule import HourMalformed, last_due, night_of, parse_hour


@pytest.mark.parametrize("text", ["00:00", "02:30", "23:59"])
def test_an_hour_of_the_day_is_taken(text: str) -> None:
    assert parse_hour(text) == text


@pytest.mark.parametrize("text", ["24:00", "2:30", "02:60", "02:30 ", "", "noon", "02:30:00"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(HourMalformed, match="02:30"):
        parse_hour(text)


def test_a_night_is_due_at_its_hour_and_not_a_second_before() -> None:
    hour = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
    assert last_due("02:30", hour) == hour
    assert last_due("02:30", hour - timedelta(seconds=1)) == hour - timedelta(days=1)


@pytest.mark.parametrize("offset", [-8, 0, 1, 9])
def test_the_zone_of_the_clock_does_not_matter(offset: int) -> None:
    moment = datetime(2026, 3, 29, 1, 59, tzinfo=UTC)
    elsewhere = moment.astimezone(timezone(timedelta(hours=offset)))
    assert last_due("01:30", elsewhere) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


def test_a_night_is_named_by_the_utc_date_of_its_hour() -> None:
    assert night_of(datetime(2026, 11, 30, 0, 30, tzinfo=timezone(timedelta(hours=2)))) == "2026-11-29"
