"""What agents and reviewers read of a recovery that was found among the steps of all sessions."""

from __future__ import annotations

from typing import Any

from tasks.contrast.predicate import Predicate
from tasks.contrast.recoveries import EVERYWHERE
from tasks.draft.drafter import Brief, Cited
from tasks.draft.statistical import StatisticalDrafter
from tasks.draft.wording import guidance, title, when_to_use


def claim(then: str, family: str = EVERYWHERE) -> dict[str, Any]:
    return Predicate("recovery", ("pytest", "No module named '…'", then), "do").canonical(family)


def test_the_error_says_when_and_the_remedy_comes_first() -> None:
    assert when_to_use(claim("pip install -e ."), "steps of all sessions") == (
        "When `pytest` fails with “No module named '…'”."
    )
    first = "Run `pip install -e .` first, then run `pytest` again"
    assert guidance(claim("pip install -e ."), mixed=False)[0] == f"{first}."
    assert title(claim("pip install -e ."), mixed=False) == first


def test_a_retry_made_otherwise_is_told_as_it_is_made() -> None:
    assert title(claim("again:uv run pytest"), mixed=False) == "Run `pytest` again as `uv run pytest`"


def test_a_recovery_of_one_family_keeps_its_own_words() -> None:
    assert when_to_use(claim("look_up", "f1"), "bookings").endswith(", where “bookings” is used.")
    assert title(claim("look_up", "f1"), mixed=False) == "Call `look_up` next"


def test_the_packet_says_where_it_comes_from_and_shows_a_retry_that_failed() -> None:
    cited = tuple(
        Cited(f"e{n}", ("1", "3"), "counter" if n == 2 else "support", f"g{n}", "t", "unknown", "recorded", "ops")
        for n in range(3)
    )
    brief = Brief(
        "lab", "steps of all sessions", claim("pip install -e ."), "s", {"strata": []}, cited, "o", "2027-01-01"
    )
    packet = StatisticalDrafter().draft(brief).packet
    assert packet["counter_example"]["episode_id"] == "e2"
    assert packet["counter_example"]["why"].endswith("and the next try failed again")
    assert "exit codes and error flags" in packet["authoritative_source"]
    assert "same retry" in packet["verification_method"]
