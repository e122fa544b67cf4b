"""A diff keeps every word of both texts, shows what changed, and never takes long."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_ui import diff
from review_ui.diff import Line, Run, lines_of, runs_of, tokens, words_changed

WORDS = st.lists(
    st.sampled_from(["call", "`get_order`", "the", " ", "  ", ",", "\u202e", "取消", "a\u200bb", "\n", "_"])
)
TEXT = st.one_of(st.text(max_size=80), WORDS.map("".join))


def old_of(runs: tuple[Run, ...]) -> str:
    return "".join(run.text for run in runs if run.kind != "ins")


def new_of(runs: tuple[Run, ...]) -> str:
    return "".join(run.text for run in runs if run.kind != "del")


@given(TEXT)
def test_tokens_joined_give_the_text_back(text: str) -> None:
    assert "".join(tokens(text)) == text


@given(TEXT, TEXT)
def test_every_word_of_both_texts_is_kept(before: str, after: str) -> None:
    runs = runs_of(before, after)
    assert (old_of(runs), new_of(runs)) == (before, after)
    assert all(one.kind != two.kind for one, two in pairwise(runs)), "runs of one kind are one run"


@given(st.lists(TEXT, max_size=8), st.lists(TEXT, max_size=8))
def test_every_line_of_both_lists_is_kept_in_its_order(before: list[str], after: list[str]) -> None:
    lines = lines_of(before, after)
    assert [old_of(line.runs) for line in lines if line.before] == before
    assert [new_of(line.runs) for line in lines if line.after] == after
    assert [line.before for line in lines if line.before] == list(range(1, len(before) + 1))
    assert [line.after for line in lines if line.after] == list(range(1, len(after) + 1))
    for line in lines:
        assert (line.state == "added", line.state == "removed") == (not line.before, not line.after)


@given(TEXT)
def test_a_text_against_itself_has_no_change(text: str) -> None:
    assert words_changed(runs_of(text, text)) == (0, 0)
    assert {run.kind for run in runs_of(text, text)} <= {"same"}


def test_only_the_words_that_differ_are_marked() -> None:
    runs = runs_of("Call `get_order` and read `status` first.", "Call `get_order` and read `state` before that.")
    assert runs == (
        Run("same", "Call `get_order` and read "),
        Run("del", "`status` first"),
        Run("ins", "`state` before that"),
        Run("same", "."),
    )
    assert words_changed(runs) == (2, 3)


def test_a_hidden_character_is_a_change_like_any_other() -> None:
    assert runs_of("pay now", "pay n\u200bow") == (Run("same", "pay "), Run("del", "now"), Run("ins", "n\u200bow"))


def test_chinese_is_compared_by_character() -> None:
    assert runs_of("请先取消航班", "请先改签航班") == (
        Run("same", "请先"), Run("del", "取消"), Run("ins", "改签"), Run("same", "航班"),
    )  # fmt: skip


def test_a_reworded_line_is_compared_and_a_new_one_is_new() -> None:
    before = ["Read the order first.", "Cancel it with `cancel_order`.", "Tell the customer."]
    after = ["Read the order and its status first.", "Offer a label.", "Cancel it with `cancel_order`."]
    states = [(line.state, line.before, line.after) for line in lines_of(before, after)]
    assert states == [("changed", 1, 1), ("added", 0, 2), ("same", 2, 3), ("removed", 3, 0)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x" * 600_000, "y" * 600_000),
        ("a " * 11_000, "b " * 11_000),
        (" ".join(map(str, range(4_000))), " ".join(map(str, range(4_000, 0, -1)))),
    ],
    ids=["a megabyte", "all other words", "the other way round"],
)
def test_what_takes_too_long_is_shown_as_wholly_changed(
    before: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0
    walked = diff._myers

    def counted(old: list[str], new: list[str], budget: int) -> object:
        nonlocal steps
        steps += 1
        return walked(old, new, budget)

    monkeypatch.setattr(diff, "_myers", counted)
    runs = runs_of(before, after)
    assert runs == (Run("del", before), Run("ins", after))
    assert steps == (len(before) + len(after) <= diff.LONGEST)


def test_many_lines_of_one_kind_are_paired_by_no_search() -> None:
    lines = lines_of([f"old {n}" for n in range(300)], [f"new {n}" for n in range(300)])
    assert [line.state for line in lines] == ["removed"] * 300 + ["added"] * 300
    assert isinstance(lines[0], Line)
