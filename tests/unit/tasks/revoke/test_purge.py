"""Which words tell, what is blacked out, and how figures shrink."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tasks.revoke.purge import blacked, counted_without, derived_words, letter_words, without_example, words_of


def test_words_are_levelled_and_everyday_ones_and_short_numbers_left_out() -> None:
    told = {"text": "Before OTTOKAR called, 12 of 4711 runs failed", "who": ["Äon", 2026, True]}
    assert words_of(told) == {"ottokar", "4711", "äon", "2026"}


def test_of_a_script_without_spaces_each_pair_of_letters_is_a_word() -> None:
    assert words_of("王小明买票") == {"王小", "小明", "明买", "买票"}
    assert blacked("给王小明买的票", {"王小", "小明"}) == "给[purged]买的票"


def test_what_is_structure_holds_no_words_and_stays() -> None:
    predicate = {"kind": "missing-check", "direction": "avoid", "call": "mail_ottokar", "family": "ottokar"}
    assert derived_words(predicate) == {"mail_ottokar"}
    assert blacked(predicate, {"mail_ottokar", "missing", "ottokar"}) == predicate | {"call": "[purged]"}
    dated = {"scope": {"recheck_at": "2026-11-30", "environment": {"Ottokar": "3"}}}
    assert blacked(dated, {"2026", "ottokar"}) == {
        "scope": {"recheck_at": "2026-11-30", "environment": {"[purged]": "3"}}
    }


@pytest.mark.parametrize("value", ["Ottokar's", "(ottokar)", ["x", {"y": "OTTOKAR"}], {"z": {"y": ["a ottokar."]}}])
def test_nothing_that_was_found_is_left(value: Any) -> None:
    assert "ottokar" in derived_words(value)
    assert "ottokar" not in derived_words(blacked(value, {"ottokar"}))


def test_numbers_and_truths_are_no_text_and_stay() -> None:
    assert blacked({"lift": [1.5, None, True]}, {"purged", "true", "none"}) == {"lift": [1.5, None, True]}


@pytest.mark.parametrize(
    "data",
    [b'{"task": "Ottokar\\nasks"', b"Ottokar, plain", json.dumps({"a": "\u00e4 Ottokar"}).encode(), b"\xff Ottokar"],
)
def test_a_refused_record_is_read_however_broken_it_is(data: bytes) -> None:
    assert "ottokar" in letter_words(data)


def test_escapes_hide_no_word_of_a_refused_record() -> None:
    assert "ottokar" in letter_words(b'{"task": "\\u004fttokar"}')


def test_the_text_of_an_example_goes_with_its_run_and_another_stays() -> None:
    content = {"when_to_use": "w", "exemplar": {"episode_id": "e", "task": "t", "calls": ["c"], "steps": 3}}
    assert without_example(content, ["other"]) == content
    emptied = without_example(content, ["e"])
    assert emptied["exemplar"] == {"episode_id": "e", "task": "[purged]", "calls": [], "steps": 0}


def test_figures_drop_by_the_groups_that_went_once() -> None:
    packet = {"evidence": {"groups": {"support": ["a", "b"]}}}
    first = counted_without({"support": 2, "independent_groups": 4, "lift": {}}, packet, {"a", "z"}, ["a"])
    assert (first["support"], first["independent_groups"], first["purged_groups"]) == (1, 2, ["a", "z"])
    assert counted_without(first, packet, {"a", "z"}, ["a"]) == first
    last = counted_without(first, packet, {"b"}, ["b"])
    assert (last["support"], last["independent_groups"]) == (0, 1)


def test_support_is_never_more_than_the_groups_that_are_left() -> None:
    fewer = counted_without({"support": 3, "independent_groups": 3}, {}, {"x", "y"}, [])
    assert (fewer["support"], fewer["independent_groups"]) == (1, 1)


def test_nothing_changes_where_no_group_is_lost() -> None:
    evidence = {"support": 3, "independent_groups": 3}
    assert counted_without(evidence, {}, set(), []) == evidence
