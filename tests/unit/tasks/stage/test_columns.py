"""What the queue shows of a candidate: its checks, and why it waits now."""

from __future__ import annotations

from typing import Any

import pytest

from review_ui.views.queue import KINDS, ORDERS, STANDINGS, WHY_NOW
from storage.queries import queue
from tasks.recheck.proposal import RETIRING
from tasks.stage import columns
from tasks.stage.columns import joined, queue_columns, reasons, with_reason
from tasks.stage.refresh import Kind
from tasks.stage.snapshot import Snapshot

OLD = Snapshot("text", support=frozenset({"a"}), low=0.1, high=0.5)


def checks(*verdicts: str) -> dict[str, Any]:
    return {"checks": [{"name": f"check {place}", "verdict": verdict} for place, verdict in enumerate(verdicts)]}


def test_failing_and_warning_checks_are_counted_apart() -> None:
    found = queue_columns(checks("pass", "fail", "warn", "fail", "warn", "warn", "odd"), [columns.NEW])
    assert found == {"failing": 2, "warning": 3, "glance": {}, "why_now": "new"}


@pytest.mark.parametrize("packet", [{}, {"checks": None}, {"checks": ["odd", None]}])
def test_a_packet_without_checks_has_none_that_fail(packet: dict[str, Any]) -> None:
    assert queue_columns(packet) == {"failing": 0, "warning": 0, "glance": {}, "why_now": ""}


def test_a_glance_keeps_the_figures_of_a_row_and_no_text() -> None:
    packet = {
        "effect": {"odds_ratio": 0.1, "low": 0.05, "high": 0.2, "words": "of an episode"},
        "held_out": {"p_value": 0.01, "alpha": 0.05, "same_direction": True, "groups": 9},
        "evidence": {"independent_groups": 12, "groups": {"support": ["a"]}},
        "forced": True,
        "checks": [],
    }
    assert queue_columns(packet)["glance"] == {
        "effect": {"odds_ratio": 0.1, "low": 0.05, "high": 0.2},
        "held_out": {"p_value": 0.01, "alpha": 0.05, "same_direction": True},
        "evidence": {"independent_groups": 12},
        "forced": True,
    }


@pytest.mark.parametrize(
    ("kind", "after", "said"),
    [
        ("reopen", Snapshot("text"), columns.BACK),
        ("refresh", Snapshot("other"), columns.REWORDED),
        ("refresh", Snapshot("text", counter=frozenset({"b"}), low=0.1, high=0.5), columns.AGAINST),
        ("refresh", Snapshot("text", counter_count=2, low=0.1, high=0.5), columns.AGAINST),
        ("refresh", Snapshot("text", low=0.4, high=1.2), columns.VOIDED),
        ("refresh", Snapshot("text", support=frozenset({"a", "b"}), low=0.2, high=0.5), columns.MORE_RUNS),
    ],
)
def test_a_night_says_what_came_of_a_candidate(kind: Kind, after: Snapshot, said: str) -> None:
    assert reasons({}, kind, OLD, after) == [said]


def test_a_first_night_says_that_it_is_new_and_what_else_is_so() -> None:
    packet = {
        "revoked_before": {"rule": "a"},
        "conflicts": [
            {"with": "rule:a@3", "kind": "supersession", "supersedes": True},
            {"with": "candidate:b", "kind": "contradiction"},
            {"with": "candidate:c", "kind": "overlap"},
        ],
    }
    found = reasons(packet, "create", None, OLD, selected=["new", "its search found nothing"], withdraws=True)
    assert joined(found) == "after-revocation withdraws new search-failed replaces=rule:a@3 conflict=candidate:b"


def test_reasons_are_kept_once_the_weightiest_first_and_nothing_else() -> None:
    assert joined(["repeated", "new", "repeated", "nonsense", "conflict=two words", "edited"]) == "edited new repeated"
    assert with_reason("new conflict=rule:a@1", columns.EDITED) == "edited new conflict=rule:a@1"
    assert with_reason("conflict=rule:a@1", "conflict=rule:b@1") == "conflict=rule:b@1"


def test_the_page_has_words_for_all_that_is_kept() -> None:
    assert set(WHY_NOW) == set(columns.REASONS)
    assert set(KINDS) == {"rule", "exemplar"} | RETIRING
    assert set(ORDERS) == set(queue.Order.__args__)  # type: ignore[attr-defined]
    assert set(STANDINGS) == set(queue.INDEXED)
