"""What evidence can be asked for, and which runs answer it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from tasks.promote.errors import WantedRefused
from tasks.stage.wanted import Arrived, Wanted, wanted_of

TODAY = date(2026, 11, 30)


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Wanted(0), "ask for 1 to"),
        (Wanted(10_001), "ask for 1 to"),
        (Wanted(True), "ask for 1 to"),
        (Wanted(1, version="3"), "of what"),
        (Wanted(1, outcome="maybe"), "no outcome"),
        (Wanted(1, agent="x" * 201), "no agent"),
        (Wanted(1, task="a\x1bb"), "no task"),
        (Wanted(1, until="soon"), "no date"),
        (Wanted(1, until="2026-11-30"), "a day after"),
        (Wanted(1, until="2027-12-02"), "within a year"),
        (Wanted(1, words="x" * 1001), "keep them under"),
    ],
)
def test_what_cannot_be_counted_is_refused(wanted: Wanted, told: str) -> None:
    with pytest.raises(WantedRefused, match=told):
        wanted.checked(TODAY)


def test_a_request_is_kept_whole_with_its_last_day() -> None:
    made = Wanted(5, agent=" support \n bot ", words=" why\x00 ", seen=3).checked(TODAY)
    assert made == Wanted(5, agent="support bot", words="why\ufffd", until="2026-12-30")
    assert wanted_of(made.as_row()) == made
    assert Wanted(5, until="2027-01-05").checked(TODAY).until == "2027-01-05"


@pytest.mark.parametrize("row", [None, {}, {"runs": 0}])
def test_no_request_is_none(row: dict[str, Any] | None) -> None:
    assert wanted_of(row) is None


def test_what_a_later_version_wrote_is_read_as_far_as_it_is_known() -> None:
    assert wanted_of({"runs": 2, "colour": "red"}) == Wanted(2)


RUN = Arrived("g1", "bot", {"api": "3.3"}, "t1", "success")


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (Wanted(1), True),
        (Wanted(1, agent="bot"), True),
        (Wanted(1, agent="Bot"), False),
        (Wanted(1, component="api"), True),
        (Wanted(1, component="web"), False),
        (Wanted(1, component="api", version="3.3"), True),
        (Wanted(1, component="api", version="3.3.0"), True),
        (Wanted(1, component="api", version=">=3.1,<=3.4"), True),
        (Wanted(1, component="api", version=">=3.4"), False),
        (Wanted(1, task="t1", outcome="success"), True),
        (Wanted(1, task="t2"), False),
        (Wanted(1, outcome="failure"), False),
    ],
)
def test_a_run_answers_every_part_of_a_request(wanted: Wanted, fits: bool) -> None:
    assert wanted.matches(RUN) is fits


def test_runs_count_by_independent_group() -> None:
    assert Wanted(5).count([RUN, RUN, Arrived("g2", outcome="failure")]) == 2


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted(5, "support-bot", "airline-api", "3.3"), "5 more judged runs of support-bot on airline-api 3.3"),
        (Wanted(1), "1 more judged run"),
        (Wanted(2, component="api", task="t1", outcome="failure"), "2 more failed runs on api in task t1"),
    ],
)
def test_a_request_is_told_in_words(wanted: Wanted, words: str) -> None:
    assert wanted.what() == words


def test_a_request_ends_when_it_is_met_or_its_day_has_come() -> None:
    made = Wanted(2, until="2026-12-03")
    assert (made.is_met, Wanted(2, seen=2).is_met) == (False, True)
    assert (made.is_late(date(2026, 12, 2)), made.is_late(date(2026, 12, 3))) == (False, True)
