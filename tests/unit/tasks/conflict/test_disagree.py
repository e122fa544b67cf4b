"""Which stated facts cannot both be current."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.conflict.disagree import disagreements
from tasks.conflict.statements import Statement, sentences_of
from tasks.conflict.times import ALWAYS, Interval

SAID = datetime(2026, 11, 1, tzinfo=UTC)


def said(*texts: str, at: tuple[int, ...] = ()) -> list[Statement]:
    """What these texts state, one episode each, a day apart unless said otherwise."""
    found = []
    for number, text in enumerate(texts):
        when = SAID + timedelta(days=at[number] if at else number)
        found += [
            replace(each, episode_id=f"e{number}", step_id="s", number=place)
            for place, each in enumerate(sentences_of(text, when))
        ]
    return found


def told(*texts: str, **options: Any) -> list[tuple[str, str]]:
    return [(hit.kind, hit.form) for hit in disagreements(said(*texts, **options))]


@pytest.mark.parametrize(
    "texts",
    [
        ("Ana manages releases", "Ana approves DNS"),
        ("Ana manages releases", "Ana manages payments"),
        ("Orchid uses P", "Orchid uses Q"),
        ("Orchid uses P", "Lily moved from P to Q"),
        ("Ana is tall", "Ana is a nurse"),
        ("Bo is on call in January", "Bo is on call in June"),
        ("Orchid's owner is Ana in January 2026", "Orchid's owner is Bo in June 2026"),
        ("Orchid's owner is Ana until March 2026", "Orchid's owner is Bo since March 2026"),
        ("The limit is 20 requests", "The limit is 5 minutes"),
        ("Orchid uses P", "Orchid does not use Q"),
        ("Orchid's database is P", "Orchid's owner is Q"),
        ("Orchid uses P until March 2026", "Orchid moved from P to Q in April 2026"),
        ("Orchid's database is P", "ORCHID's database is `p`"),
        ("Orchid moved from P to Q", "Orchid uses Q"),
    ],
)
def test_facts_that_can_both_be_so_are_no_conflict(texts: tuple[str, ...]) -> None:
    assert told(*texts) == []


@pytest.mark.parametrize(
    ("texts", "kind", "form"),
    [
        (("Orchid uses P", "Orchid moved from P to Q"), "supersession", "changed"),
        (("Orchid's database is P", "Orchid's database changed from P to Q"), "supersession", "changed"),
        (("Orchid uses P", "Orchid no longer uses P"), "supersession", "changed"),
        (("Orchid's database is P", "Orchid's database is Q"), "supersession", "other-value"),
        (("The limit is 20 requests", "The limit is 30 requests"), "supersession", "other-value"),
        (("The flag is enabled", "The flag is disabled"), "supersession", "other-value"),
        (("Orchid uses P", "Orchid does not use P"), "supersession", "denied"),
        (("Orchid uses P", "Orchid moved from P to Q", "Orchid uses P"), "contradiction", "changed"),
    ],
)
def test_one_value_that_took_anothers_place_is_one_conflict(texts: tuple[str, ...], kind: str, form: str) -> None:
    assert told(*texts) == [(kind, form)]


def test_two_values_said_at_one_time_contradict_and_neither_is_proposed() -> None:
    assert told("Orchid's database is P", "Orchid's database is Q", at=(0, 0)) == [("contradiction", "other-value")]


def test_a_change_that_was_taken_back_is_no_conflict() -> None:
    back = ("Orchid uses P", "Orchid moved from P to Q", "Orchid moved from Q to P", "Orchid uses P")
    assert told(*back) == []


def test_a_fact_said_often_is_one_conflict_that_counts_its_sessions() -> None:
    repeated = said("Orchid uses P", "Orchid uses P", "Orchid uses P", "Orchid moved from P to Q")
    (hit,) = disagreements(repeated)
    assert len(hit.left) == 3
    assert hit.refs == ("episode:e0#s", "episode:e3#s")
    assert hit.identity == disagreements(repeated[2:])[0].identity


def test_a_value_that_changes_all_the_time_is_one_conflict_of_its_newest_two() -> None:
    (hit,) = disagreements(said(*(f"The balance of Orchid is {n} euro" for n in range(50))))
    assert (hit.left[0].value, hit.right[0].value) == ("48 euro", "49 euro")
    assert "50 values were stated" in hit.detail


NAMES = st.sampled_from(["Orchid", "Lily"])
VALUES = st.sampled_from(["P", "Q", "R", "20", "30"])
TIMES = st.integers(0, 9).map(lambda n: SAID + timedelta(days=n))
INTERVALS = st.one_of(
    st.just(ALWAYS),
    st.tuples(st.integers(0, 8), st.integers(1, 4)).map(
        lambda pair: Interval(SAID + timedelta(days=pair[0]), SAID + timedelta(days=sum(pair)))
    ),
)
STATEMENTS = st.lists(
    st.builds(
        Statement, NAMES, st.sampled_from(["us", "database", "is"]), VALUES, TIMES,
        previous=st.sampled_from(["", "", "", "P", "Q"]), denied=st.booleans(), single=st.booleans(), valid=INTERVALS,
        episode_id=st.integers(0, 5).map(lambda n: f"e{n}"), step_id=st.sampled_from(["a", "b"]),
        number=st.integers(0, 3),
    ),
    max_size=12,
)  # fmt: skip


@given(STATEMENTS, st.randoms(use_true_random=False))
def test_the_order_in_which_facts_come_changes_nothing(drawn: list[Statement], shuffler: Any) -> None:
    mixed = list(drawn)
    shuffler.shuffle(mixed)
    assert disagreements(drawn) == disagreements(mixed)


@given(STATEMENTS)
def test_each_pair_of_values_is_told_once_and_never_across_subjects(drawn: list[Statement]) -> None:
    found = disagreements(drawn)
    assert len({hit.identity for hit in found}) == len(found)
    for hit in found:
        assert {each.subject for each in (*hit.left, *hit.right)} == {hit.left[0].subject}


@given(STATEMENTS)
def test_facts_without_a_common_moment_never_conflict(drawn: list[Statement]) -> None:
    """Each fact gets a year of its own; a change has no end, so it is left out."""
    years = [datetime(2000 + n, 1, 1, tzinfo=UTC) for n in range(len(drawn) + 1)]
    apart = [replace(each, previous="", valid=Interval(*years[n : n + 2])) for n, each in enumerate(drawn)]
    assert disagreements(apart) == []
