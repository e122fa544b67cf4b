"""What a drill makes of sessions that acted on a rule whose sample was declared incomplete."""

from __future__ import annotations

from typing import Any

from tasks.revoke.drill_sessions import Acted, SessionFindings, judge_sessions

RULES = ["derived", "sample"]


def judged(*sessions: Acted, **given: Any) -> SessionFindings:
    values: dict[str, Any] = {
        "wanted": len(sessions), "lease": 15.0, "limit": None, "expected": RULES, "withdrawn": RULES,
        "still_served": [], "traced": sum(len(one.done) for one in sessions),
    }  # fmt: skip
    return judge_sessions(list(sessions), **(values | given))


STOPPED = Acted("sample", (-1.0, -0.5, 0.1), 7, "stop")
READ_ONLY = Acted("derived", (-0.2,), 9, "read-only")


def test_what_was_done_and_what_was_held_back_is_counted() -> None:
    found = judged(STOPPED, READ_ONLY)
    assert found.passed
    assert (found.done, found.done_after, found.pending) == (4, 1, 16)
    assert found.verdicts == {"read-only": 1, "stop": 1}
    assert found.acted["max"] == 0.1


def test_a_session_that_may_go_on_fails_the_drill() -> None:
    assert judged(STOPPED, Acted("sample", (), 0, "fine")).wrong == ("1 sessions were not stopped",)


def test_an_action_long_after_the_declaration_fails_the_drill() -> None:
    late = Acted("sample", (1.5,), 0, "stop")
    assert judged(late).wrong == ("1 sessions acted more than 1 s after the declaration",)
    assert judged(late, limit=2.0).passed


def test_what_was_derived_has_to_be_withdrawn_and_served_to_nobody() -> None:
    assert judged(STOPPED, withdrawn=["sample"]).wrong == ("not withdrawn: derived",)
    assert judged(STOPPED, still_served=["derived"]).wrong == ("still served: derived",)


def test_every_action_has_to_be_found_by_lineage() -> None:
    assert judged(STOPPED, traced=2).wrong == ("3 actions were done, and lineage finds 2",)


def test_sessions_that_told_nothing_fail_the_drill() -> None:
    assert judged(STOPPED, wanted=2).wrong == ("1 of 2 sessions told nothing",)
