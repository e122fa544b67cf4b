"""In which order comparable rules come, and which are needless beside another."""

from __future__ import annotations

import pytest

from read_api.diversity import Ranked, alike, said_of, spread
from read_api.shelf import CONFIRMED, MEASURED, NONE, kind_of_evidence

CHECK = "Before cancelling look at the status of the order and at the day on which it was shipped to the customer"
REFUND = "When money goes back ask the payment service for the original method and wait until it has answered"


def one(at: int, score: float, text: str = "", kind: int = NONE) -> Ranked:
    return Ranked(at, f"r{at}", score, kind, text or f"text of its own number{'abcdefgh'[at]}")


def test_among_comparable_scores_the_better_evidence_comes_first() -> None:
    pool = [one(0, 1.0), one(1, 0.95, kind=MEASURED), one(2, 0.93, kind=CONFIRMED)]
    assert spread(pool, 3)[0] == [2, 1, 0]


def test_a_clearly_better_score_beats_better_evidence() -> None:
    assert spread([one(0, 1.0), one(1, 0.8, kind=CONFIRMED)], 2)[0] == [0, 1]


def test_equals_come_by_id() -> None:
    assert spread([one(2, 1.0), one(0, 1.0), one(1, 1.0)], 3)[0] == [0, 1, 2]


def test_a_text_is_not_served_twice() -> None:
    taken, same = spread([one(0, 1.0, CHECK), one(1, 0.9, CHECK.upper() + " ."), one(2, 0.5, REFUND)], 3)
    assert taken == [0, 2]
    assert same == [(1, 0)]


def test_what_says_nearly_the_same_gives_way_to_what_says_something_else() -> None:
    nearly = CHECK.replace("customer", "client").replace("Before", "Prior to")
    assert spread([one(0, 1.0, CHECK), one(1, 0.9, nearly), one(2, 0.75, REFUND)], 2)[0] == [0, 2]


def test_another_figure_is_another_rule() -> None:
    pool = [one(0, 1.0, f"{CHECK} within 5 days"), one(1, 0.9, f"{CHECK} within 50 days")]
    assert spread(pool, 2) == ([0, 1], [])


def test_no_order_of_the_pool_shows() -> None:
    pool = [one(0, 1.0, CHECK), one(1, 0.97, CHECK, CONFIRMED), one(2, 0.9, REFUND)]
    assert spread(pool, 3) == spread(pool[::-1], 3)


@pytest.mark.parametrize(
    ("one_text", "other", "least", "most"), [("", "", 0, 0), ("a b", "A  b", 1, 1), (CHECK, REFUND, 0, 0.1)]
)
def test_likeness(one_text: str, other: str, least: float, most: float) -> None:
    assert least <= alike(said_of(one_text), said_of(other)) <= most


@pytest.mark.parametrize(
    ("evidence", "kind"),
    [
        ({}, NONE),
        ({"support": 0, "lift": {"odds_ratio": None, "low": None, "high": None}}, NONE),
        ({"support": 3, "lift": None}, MEASURED),
        ({"support": 3, "lift": {"odds_ratio": None, "low": 0.1, "high": 0.6}}, CONFIRMED),
    ],
)
def test_kinds_of_evidence(evidence: dict[str, object], kind: int) -> None:
    assert kind_of_evidence(evidence) == kind
