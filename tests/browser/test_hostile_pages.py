"""Pages of hostile text in a real Chromium with scripts on: nothing of it runs, loads, asks or leads elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from support.browser import log_in
from support.hostile import HOSTILE
from support.served import Served, served
from support.stocked import Said

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite_file: Path) -> Iterator[Served]:
    """The pages over a store in which every text is hostile."""
    with served(tmp_path_factory.mktemp("pages"), migrated_sqlite_file, Said(HOSTILE)) as site:
        yield site


class Watch:
    """Whatever a page did that it should not."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url, self.faults = page, url, list[str]()
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.faults.append(f"error {error}"))
        page.on("console", lambda said: self.said(said.type, said.text))
        page.on("request", lambda asked: self.asked(asked.url))

    def said(self, kind: str, text: str) -> None:
        """A line of the console; that a page of the tour is not found is as it should be."""
        if kind in ("error", "warning") and "status of 404" not in text:
            self.faults.append(f"console {text}")

    def asked(self, url: str) -> None:
        """A request for something that is not ours, or that only a hostile attribute could have sent."""
        if not url.startswith(f"{self.url}/") or url.endswith(("/logout", "/x")):
            self.faults.append(f"request {url}")


def test_hostile_text_does_nothing(browser: Browser, site: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    watch = Watch(page, site.url)
    log_in(page, site.url, site.name, site.secret)
    for path, status in site.paths.items():
        answer = page.goto(site.url + path)
        assert answer is not None
        assert answer.status == status, path
        page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert page.evaluate(HANDLERS) == [], path
        assert (path, watch.faults) == (path, [])
    assert len(site.paths) > 20
    context.close()


HANDLERS = """
() => [...document.querySelectorAll('*')].flatMap(each => [...each.attributes]
  .filter(({name, value}) => name.startsWith('on') || name === 'style' || name.startsWith('hx-on')
    || (['href', 'src', 'action', 'hx-get', 'hx-post'].includes(name) && /^\\s*[a-z]+:/i.test(value)))
  .map(({name, value}) => `${each.tagName} ${name}=${value}`))
"""
"""Attributes that would run or lead elsewhere, in the page as the browser has it."""


def test_the_watch_sees_what_runs_and_what_is_asked(browser: Browser, site: Served) -> None:
    page = browser.new_page()
    watch = Watch(page, site.url)
    page.goto(f"{site.url}/login")
    page.evaluate("() => { console.error('x'); fetch('/x').catch(() => 0); alert(1); }")
    assert {fault.partition(" ")[0] for fault in watch.faults} >= {"console", "request", "dialog"}
