"""Two runs side by side: what is the same finding, what moved, and what is not known."""

from __future__ import annotations

from typing import Any

from review_ui.views.compare import Comparison, FoundGroup, Night, compare, effect_words
from storage.queries.pages_runs import Figures, Written

SPACE = "acme/support"
EFFECT = {"odds_ratio": 0.11, "low": 0.03, "high": 0.38}


def figures(name: str, verdict: str = "unconfirmed", family: str = "orders", **effect: float | None) -> Figures:
    return Figures(name, family, verdict, f"{name} goes with failure.", effect or EFFECT)


def night(name: str, *findings: Figures, **given: Any) -> Night:
    values: dict[str, Any] = {"episodes": 100, "stages": {}, "families": frozenset({"orders"})}
    return Night(name=name, link=f"/runs/{name}", findings=findings, **(values | given))


def beside(before: Night, after: Night) -> Comparison:
    return compare(SPACE, before, after)


def group(two: Comparison, name: str) -> FoundGroup | None:
    return next((each for each in two.groups if each.name == name), None)


def line(two: Comparison, name: str) -> tuple[str, str, str]:
    (found,) = [each for each in (*two.lines, *two.stages) if each.name == name]
    return found.before, found.after, found.difference


def test_a_finding_is_the_same_by_its_predicate_and_its_figures_stand_side_by_side() -> None:
    was = figures("p1", "insufficient")
    now = Figures("p1", "orders", "confirmed", "Said in other words.", {"odds_ratio": 0.2, "low": 0.1, "high": 0.5})
    found = group(beside(night("one", was), night("two", now)), "changed")
    assert found is not None
    (one,) = found.lines
    assert one.statement == "Said in other words."
    assert (one.before_verdict, one.after_verdict) == (
        "Too little evidence yet", "Confirmed on groups it was not found on",
    )  # fmt: skip
    assert (one.before, one.after) == ("odds ratio 0.11 (0.03 to 0.38)", "odds ratio 0.20 (0.10 to 0.50)")
    assert one.rises


def test_what_appeared_and_what_vanished_are_told_apart() -> None:
    two = beside(night("one", figures("old"), figures("both")), night("two", figures("both"), figures("new")))
    named = {each.name: [one.statement for one in each.lines] for each in two.groups}
    assert named == {
        "appeared": ["new goes with failure."], "vanished": ["old goes with failure."],
        "same": ["both goes with failure."],
    }  # fmt: skip


def test_a_finding_of_a_family_that_was_not_compared_again_did_not_vanish() -> None:
    before = night("one", figures("p1", family="travel"), families=frozenset({"orders", "travel"}))
    two = beside(before, night("two"))
    assert group(two, "vanished") is None
    left = group(two, "left")
    assert left is not None
    assert left.folded
    assert "nothing is known" in left.meaning


def test_a_finding_of_a_family_that_only_the_later_run_compared_did_not_appear() -> None:
    after = night("two", figures("p1", family="travel"), families=frozenset({"travel"}))
    two = beside(night("one"), after)
    assert [each.name for each in two.groups] == ["first"]


def test_what_may_go_farthest_comes_first_and_a_long_list_keeps_its_number() -> None:
    many = [figures(f"p{place:03}") for place in range(80)] + [figures("zz", "confirmed")]
    found = group(beside(night("one"), night("two", *many)), "appeared")
    assert found is not None
    assert found.total == 81
    assert len(found.lines) == 50
    assert found.lines[0].statement == "zz goes with failure."


def test_counts_and_times_have_a_difference_with_its_sign() -> None:
    before = night("one", figures("p1", "confirmed"), episodes=1200, stages={"contrast": 4.0, "draft": 1.0})
    after = night("two", episodes=300, stages={"contrast": 6.5, "draft": 1.0, "verify": 2.0})
    two = beside(before, after)
    assert line(two, "episodes read") == ("1,200", "300", "−900")
    assert line(two, "confirmed") == ("1", "0", "−1")
    assert line(two, "Contrast") == ("4.0 s", "6.5 s", "+2.5 s")
    assert line(two, "Draft") == ("1.0 s", "1.0 s", "=")
    assert line(two, "Verify") == ("–", "2.0 s", "–"), "a stage that one run never came to has no difference"
    assert line(two, "all stages") == ("5.0 s", "9.5 s", "+4.5 s")


def test_candidates_of_the_later_run_are_named_as_new_changed_and_withdrawn() -> None:
    written = [Written("a", 1, "New one", "staged", "rule"), Written("b", 3, "Changed one", "staged", "rule")]
    two = beside(night("one"), night("two", written=written, withdrawn=[("c", "Gone one")]))
    assert two.candidates == (
        ("New", (("New one", f"/candidates/{SPACE}/a"),)),
        ("Changed", (("Changed one", f"/candidates/{SPACE}/b"),)),
        ("Withdrawn", (("Gone one", f"/candidates/{SPACE}/c"),)),
    )
    assert line(two, "candidates new") == ("0", "1", "+1")
    assert line(two, "candidates withdrawn") == ("0", "1", "+1")


def test_what_a_model_cost_is_compared_where_one_was_asked() -> None:
    assert not [each for each in beside(night("one"), night("two")).lines if "model" in each.name]
    two = beside(night("one"), night("two", spent={"calls": 14, "tokens": 52_300, "seconds": 61.5}))
    assert line(two, "model calls") == ("0", "14", "+14")
    assert line(two, "model tokens") == ("0", "52,300", "+52,300")
    assert line(two, "waiting for the model") == ("0.0 s", "1 min 1 s", "+1 min 1 s")


def test_an_infinite_ratio_is_said_and_a_missing_effect_is_not() -> None:
    assert effect_words({"odds_ratio": None, "low": 2.7, "high": None}) == "odds ratio ∞ (2.70 to ∞)"
    assert effect_words({}) == ""
