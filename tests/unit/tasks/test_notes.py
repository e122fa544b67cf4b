"""What was noted of an episode is told in words, whichever importer noted it."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.ingest.notes import PLACED, notes_of


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("not_kept", {"thinking without text": 3, "image": 1}, ("not kept", "thinking without text: 3; image: 1")),
        ("cleaned", {"nul": 2}, ("characters replaced", "nul: 2")),
        ("clock", "ended before it started", ("clock", "ended before it started")),
        ("renamed_steps", 2, ("steps renamed", "2")),
        ("evaluations_disagree", True, ("evaluations disagree", "yes")),
        ("models", ["a", "b"], ("models", "a; b")),
        ("copies", [{"file": "a.jsonl", "filled": ["agent", "model"]}],
         ("learnt from copies", "file: a.jsonl, filled: agent, model")),
        ("renditions", [{"importer": 1, "redactor": 2}], ("earlier readings", "importer: 1, redactor: 2")),
        ("memory_reads", [["r-1", 2], ["r-2", 3]], ("says it read", "r-1 version 2; r-2 version 3")),
        ("something_new", {"a": {"b": None}}, ("something new", "a: b: none")),
    ],
)  # fmt: skip
def test_every_entry_is_told_in_words(key: str, value: Any, told: tuple[str, str]) -> None:
    assert notes_of({key: value}) == [told]


def test_what_has_a_place_of_its_own_and_what_is_empty_is_no_note() -> None:
    assert notes_of({**dict.fromkeys(PLACED, "x"), "not_kept": {}, "exception": None, "order": ""}) == []
