"""Every word of every page goes through the catalogue; nothing that is stored does."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from review_ui import words
from storage.engine import Database
from support.html_check import faults_of
from support.review_pages import Browse, Clock
from support.spoken import Disguise, disguised, left_in_latin
from support.stocked import Said, fill
from support.tour import Tour

STORED = "기록"
"""What every stored text is: of a script that no page speaks."""

DATA = re.compile(
    "|".join(
        (
            r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b",
            r"Slowwave", r"UTC", r"JSON", r"English", r"U\+[0-9A-F]{4,6}",
            r"acme/support2?", r"\brosa\b", r"\b(?:cand|ep|run|rule|session-ep)-\d\b", r"\b[0-9a-f]{8,64}\b",
            r"\borders/\d\b", r"\borders-api\b", r"\bv\d\b",
            r"\bada\b", r"\bavoid-get-order-cancel-order-[a-z0-9-]+(?:@\d)?", r"\bcanonical\b",
            r"(?:candidate|conflict|rule|token):\S*", r"\b(?:candidate|conflict|rule|token)\.[a-z-]+\b", r"\blogin\b",
            r"^(?:auto|false)$",
        )
    )
)  # fmt: skip
"""Names that are the same in every language, ids of the store, and names of acts as the audit log has them."""

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
MakeTour = Callable[[Callable[[str, str], None]], Tour]


@pytest.fixture
def walk(app: FastAPI, browse: Browse, anonymous: TestClient, database: Database, clock: Clock) -> MakeTour:
    """Makes a tour of readers of Chinese; each page that they are shown is handed to what is given."""

    def make(look: Callable[[str, str], None]) -> Tour:
        said = Said(STORED, odd=False)
        fill(database, clock(), said)
        rosa, ada = browse("rosa"), browse("ada", role="admin")
        for browser in (rosa, ada, anonymous):
            browser.headers["accept-language"] = "zh-CN,zh;q=0.9,en;q=0.5"

        def see(browser: TestClient, path: str, status: int) -> str:
            answer = browser.get(path)
            assert answer.status_code == status, path
            assert answer.headers["content-language"] == "zh-Hans", path
            look(path, answer.text)
            return answer.text

        return Tour(database, clock(), said, rosa, ada, anonymous, see, look)

    return make


def test_no_word_of_a_page_is_left_untranslated(walk: MakeTour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "catalogue", lambda language: Disguise())
    left: dict[str, list[str]] = {}

    def look(path: str, page: str) -> None:
        for text in left_in_latin(page, DATA):
            left.setdefault(text, []).append(path)

    walk(look).walk()
    assert not left, "\n".join(f"{text!r} on {paths[0]}" for text, paths in left.items())


def test_every_page_is_whole_in_chinese(walk: MakeTour) -> None:
    seen: list[str] = []

    def look(path: str, page: str) -> None:
        assert '<html lang="zh-Hans">' in page, path
        assert faults_of(page) == [], path
        assert disguised("Queue") not in page
        seen.append(path)

    tour = walk(look)
    tour.walk()
    assert len(seen) > len(tour.pages) > 20
    assert "待审队列" in tour.pages["/queue"]


def test_a_word_that_is_not_in_the_catalogue_would_be_found(database: Database) -> None:
    page = (
        f'<p title="Hover">{disguised("All of it")} acme/support</p><button aria-label="Go">x</button><code>run</code>'
    )
    assert left_in_latin(page, DATA) == ["Go", "Hover", "x"]
