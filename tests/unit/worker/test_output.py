from __future__ import annotations

from worker.cli.output import visible


def test_a_terminal_obeys_nothing_in_a_text() -> None:
    assert visible("a\x1b[2Jb\u202ec\u200b") == "a\\u001b[2Jb\\u202ec\\u200b"


def test_ordinary_text_of_any_script_is_left_alone() -> None:
    assert visible("naïve café 漢字 مرحبا") == "naïve café 漢字 مرحبا"
