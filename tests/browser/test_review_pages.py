"""The review pages in a real Chromium: without JavaScript, by keyboard, on a small screen, in both colour schemes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import log_in, opened
from support.local import Home
from support.processes import free_port, wait_until
from support.servers import short_folder

NAMESPACE = "demo/shopping"
LEAST_CONTRAST = 4.5
"""WCAG 2.2, level AA, for text."""

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@dataclass
class Site:
    """The running review pages, and who may log in."""

    url: str
    name: str
    secret: str
    home: Home


@pytest.fixture(scope="module")
def site(demo_template: Path) -> Iterator[Site]:
    """The review pages alone over a finished night."""
    home = Home(short_folder())
    shutil.copytree(demo_template, home.folder, dirs_exist_ok=True)
    account = home.json("user", "add", "rosa", "--role", "reviewer")
    port = free_port()
    child = home.start("web", "--app", "review", "--port", str(port), name="web")
    try:
        wait_until("the pages answer", lambda: "running on" in child.output(), seconds=60, alive=child)
        yield Site(f"http://127.0.0.1:{port}", "rosa", account["token"], home)
    finally:
        child.stop()
        shutil.rmtree(home.folder)


def open_everything(page: Page, site: Site) -> list[str]:
    """Follow the links of each kind of page; returns the addresses seen."""
    run_id = site.home.json("runs", "--namespace", NAMESPACE)[0]["run_id"]
    candidate = site.home.json("queue", "--namespace", NAMESPACE)[0]["id"]
    seen = []
    for path in (
        "/queue",
        f"/candidates/{NAMESPACE}/{candidate}",
        "/conflicts",
        "/rules",
        "/runs",
        f"/runs/{run_id}",
        "/audit",
    ):
        answer = page.goto(site.url + path)
        assert answer is not None
        assert answer.status == 200, path
        expect(page.locator("h1")).to_be_visible()
        seen.append(page.url)
    page.goto(f"{site.url}/candidates/{NAMESPACE}/{candidate}")
    page.locator(".evidence a").first.click()
    expect(page.locator("h1")).to_be_visible()
    return [*seen, page.url]


def test_every_page_works_without_javascript_and_loads_nothing_from_elsewhere(browser: Browser, site: Site) -> None:
    with opened(browser, java_script_enabled=False) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        log_in(page, site.url, site.name, site.secret)
        open_everything(page, site)
        assert [url for url in asked if not url.startswith(site.url)] == []


@pytest.mark.parametrize("width", [360, pytest.param(820, marks=pytest.mark.long)])
def test_no_page_is_wider_than_a_small_screen(browser: Browser, site: Site, width: int) -> None:
    with opened(browser, viewport={"width": width, "height": 780}) as page:
        log_in(page, site.url, site.name, site.secret)
        for url in open_everything(page, site):
            page.goto(url)
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, f"{url} is {overflow} pixels wider than the screen"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_both_colour_schemes(browser: Browser, site: Site, scheme: str) -> None:
    with opened(browser, color_scheme=scheme) as page:
        log_in(page, site.url, site.name, site.secret)
        for url in open_everything(page, site):
            page.goto(url)
            assert page.evaluate(FAINT, LEAST_CONTRAST) == [], url


def candidate_of(site: Site) -> str:
    """The address of a candidate with more evidence on both sides than a page shows."""
    waiting = site.home.json("queue", "--namespace", NAMESPACE)
    found = next(row["id"] for row in waiting if min(row["evidence"]["support"], row["evidence"]["counter"]) > 4)
    return f"{site.url}/candidates/{NAMESPACE}/{found}"


@pytest.mark.parametrize("width", [360, 1280])
def test_cited_steps_are_in_view_without_javascript(browser: Browser, site: Site, width: int) -> None:
    with opened(browser, java_script_enabled=False, viewport={"width": width, "height": 900}) as page:
        log_in(page, site.url, site.name, site.secret)
        page.goto(candidate_of(site))
        regions = page.locator(".excerpt").all()
        assert len(regions) > 4
        for region in regions:
            box, cited = region.bounding_box(), region.locator(".cited .step-head").first.bounding_box()
            assert box is not None
            assert cited is not None
            assert box["y"] <= cited["y"], "not above what is shown of the region"
            assert cited["y"] + cited["height"] <= box["y"] + box["height"], "nor below it"


def test_one_column_of_evidence_is_turned_and_the_rest_of_the_page_stays(page: Page, site: Site) -> None:
    log_in(page, site.url, site.name, site.secret)
    page.goto(candidate_of(site))
    page.get_by_label("In your own words").fill("half a reason")
    page.locator("#support-next").scroll_into_view_if_needed()
    before = page.locator("#counter").inner_html()
    page.locator("#support-next").click()
    expect(page.locator("#support-pager")).to_contain_text("5 to 8 of")
    expect(page.get_by_label("In your own words")).to_have_value("half a reason")
    expect(page.locator("#support-next")).to_be_focused()
    assert "support=2" in page.url
    assert page.locator("#counter article").count() == before.count("<article")
    page.locator("#counter-next").click()
    expect(page.locator("#counter-pager")).to_contain_text("5 to 8 of")
    assert "support=2" in page.url, "the other column keeps its place"
    assert "counter=2" in page.url


def test_a_decision_can_be_made_by_keyboard_alone(browser: Browser, site: Site) -> None:
    entry = site.home.json("queue", "--namespace", "demo/travel")[0]
    with opened(browser) as page:
        page.goto(f"{site.url}/login")
        expect(page.get_by_label("Name")).to_be_focused()
        page.keyboard.type(site.name)
        page.keyboard.press("Tab")
        page.keyboard.type(site.secret)
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Log out")).to_be_visible()
        page.goto(f"{site.url}/candidates/demo/travel/{entry['id']}")
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        reach(page, "textarea[name=reason]")
        page.keyboard.type("holds in one release only")
        reach(page, "button:has-text('Reject')")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", "focus shows"
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_contain_text("Rejected")
    assert entry["id"] not in [each["id"] for each in site.home.json("queue", "--namespace", "demo/travel")]


def reach(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus."""
    target = page.locator(selector).first
    for _ in range(200):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached by Tab")


FAINT = """
least => {
  const numbers = text => {
    const found = (text.match(/[\\d.]+/g) || []).map(Number);
    // A mixed colour comes as color(srgb 0.9 0.9 0.9 / 1): parts of one, not of 255.
    return text.startsWith('color(srgb') ? [...found.slice(0, 3).map(part => part * 255), ...found.slice(3)] : found;
  };
  const light = ([r, g, b]) => {
    const part = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
  };
  const found = new Set();
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.offsetParent || element.closest('svg')) continue;
    const style = getComputedStyle(element);
    if (style.visibility === 'hidden') continue;
    const [a, b] = [light(numbers(style.color)), light(behind(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < least) found.add(`${element.tagName}.${element.className}: ${contrast.toFixed(2)}`);
  }
  return [...found];
}
"""
"""The elements whose text is fainter than asked against what is behind it."""
