from __future__ import annotations

from tasks.select.reasons import why


def ask(**changes: object) -> str:
    given = {"session": "s", "task": "t", "outcome": "failure", "is_revision": False, "missed": {"s"}, "failed": {"t"}}
    return why(**{**given, **changes})  # type: ignore[arg-type]


def test_a_search_that_found_nothing_comes_before_a_repeated_mistake() -> None:
    assert ask() == "its search found nothing"
    assert ask(missed=set()) == "repeated mistake"


def test_a_success_repeats_no_mistake() -> None:
    assert ask(missed=set(), outcome="success") == "new"
    assert ask(missed=set(), outcome="success", is_revision=True) == "corrected record"
