"""Ranking by words and pieces of words, in any script."""

from __future__ import annotations

import pytest

from read_api.ranking import build

TEXTS = [
    "Before cancel_reservation: check that the fare can be refunded",
    "When a search returns nothing, widen the dates before asking again",
    "退货之前先查询订单状态，不要直接取消",
    "Когда клиент просит вернуть деньги, сначала проверьте заказ",
]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("the customer wants to cancel the reservation", 0),
        ("cancelReservation failed", 0),
        ("cancelling reservations", 0),
        ("nothing found by the search", 1),
        ("客户要求取消订单", 2),
        ("вернуть деньги за заказы", 3),
    ],
)
def test_the_rule_that_shares_most_comes_first(query: str, best: int) -> None:
    assert int(build(TEXTS).scores(query).argmax()) == best


def test_nothing_shared_scores_nothing() -> None:
    assert build(TEXTS).scores("zzzz qqqq").tolist() == [0.0] * 4


@pytest.mark.parametrize("texts", [[], ["", ""]])
def test_an_empty_index_answers(texts: list[str]) -> None:
    assert build(texts).scores("cancel").tolist() == [0.0] * len(texts)


def test_a_word_that_is_everywhere_counts_for_little() -> None:
    ranking = build(["order kettle", "order lamp", "order chair"])
    common, rare = ranking.scores("order"), ranking.scores("lamp")
    assert common.max() < rare.max()
