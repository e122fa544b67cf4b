"""Every page against WCAG 2.2 AA by axe, in a real Chromium: light and dark, wide and narrow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page

from support.browser import log_in
from support.served import Served, served
from support.stocked import Said

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
GRAVE = ("serious", "critical")
PLAIN = "Read the order before it is cancelled"

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite_file: Path) -> Iterator[Served]:
    """The pages over a store in which every text is ordinary."""
    with served(tmp_path_factory.mktemp("pages"), migrated_sqlite_file, Said(PLAIN, odd=False)) as site:
        yield site


def kinds(site: Served) -> list[str]:
    """One address of each kind of page: with a query only where it makes another page of it."""
    queried = re.compile(r"[?](against|namespace=acme|state=parked|other=cand-9)")
    plain = [path for path in site.paths if "?" not in path or queried.search(path)]
    again = re.compile(
        r"cand-[2345]$|/findings/(needs|conf)|runs/(fix-1|nowhere)|candidates/.*/nowhere|rules/.*/nowhere"
    )
    return [path for path in plain if not again.search(path) and path != "/login"]


@pytest.mark.parametrize("width", [1280, pytest.param(360, marks=pytest.mark.long)])
def test_no_page_has_a_serious_fault(browser: Browser, site: Served, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    schemes = ("light", "dark") if width > 1000 else ("light",)  # the colours are the same on a small screen
    found = faults_of_page(page, f"{site.url}/login", schemes)
    log_in(page, site.url, site.name, site.secret)
    paths = kinds(site)
    for path in paths:
        found += faults_of_page(page, site.url + path, schemes)
    context.close()
    assert len(paths) > 20
    assert not found, "\n".join(found)


def faults_of_page(page: Page, address: str, schemes: tuple[str, ...]) -> list[str]:
    """The grave faults of a page, everything unfolded; what is less than grave is printed."""
    page.emulate_media(color_scheme="light")
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.evaluate(AXE_SCRIPT)
    found = run_axe(page, {"runOnly": {"type": "tag", "values": TAGS}})
    if "dark" in schemes:  # another scheme is other colours and nothing else
        page.emulate_media(color_scheme="dark")
        found += run_axe(page, {"runOnly": {"type": "rule", "values": ["color-contrast"]}})
    for fault in found:
        if fault["impact"] not in GRAVE:
            print(f"{address}: {told(fault)}")
    return [f"{address}: {told(fault)}" for fault in found if fault["impact"] in GRAVE]


def run_axe(page: Page, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The violations that axe finds."""
    given = json.dumps(options | {"resultTypes": ["violations"]})
    answer: dict[str, Any] = page.evaluate(f"axe.run({given})")
    found: list[dict[str, Any]] = answer["violations"]
    return found


def told(fault: dict[str, Any]) -> str:
    """A violation with the first places of it."""
    places = [f"{node['html'][:160]} ({node['failureSummary'][:160]})" for node in fault["nodes"][:3]]
    return f"{fault['id']} [{fault['impact']}] {len(fault['nodes'])}: {places}"


def test_axe_finds_a_fault_where_there_is_one(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><input><p style='color:#bbb'>faint</p></main>")
    page.evaluate(AXE_SCRIPT)
    found = {fault["id"] for fault in run_axe(page, {"runOnly": {"type": "tag", "values": TAGS}})}
    assert {"label", "color-contrast"} <= found
