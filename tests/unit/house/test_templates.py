"""The pages are few: another list or message is a view of what there is, not another page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

MOST = 9


@pytest.fixture
def templates(root: Path) -> dict[str, str]:
    """Each template with its source."""
    return {path.name: path.read_text() for path in (root / "review_ui" / "templates").glob("*.html")}


def test_there_are_under_ten_page_templates(templates: dict[str, str]) -> None:
    pages = {name for name, text in templates.items() if '{% extends "base.html" %}' in text}
    assert 0 < len(pages) <= MOST, sorted(pages)
    assert [name for name in pages if name.startswith("_")] == []


def test_whatever_is_no_page_is_a_partial_and_says_so_by_its_name(templates: dict[str, str]) -> None:
    whole = {name for name, text in templates.items() if "{% extends" in text} | {"base.html"}
    assert {name for name in templates if not name.startswith("_")} == whole


def test_every_partial_is_used(templates: dict[str, str], root: Path) -> None:
    sources = [*templates.values(), *(path.read_text() for path in (root / "review_ui").rglob("*.py"))]
    used = {name for text in sources for name in re.findall(r"[\"'](_[a-z_]+\.html)[\"']", text)}
    assert {name for name in templates if name.startswith("_")} - used == set()
