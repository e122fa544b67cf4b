"""What the script adds in a real Chromium: single keys, the reader's zone and language, parts that look again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from storage.tables import Candidate
from support.browser import log_in, opened
from support.review_pages import SPACE
from support.served import Served, served
from support.stocked import Said

PLAIN = "Read the order before it is cancelled"
ROWS = "main .rows > li a.row-link"

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite_file: Path) -> Iterator[Served]:
    """The pages over a store in which every text is ordinary."""
    with served(tmp_path_factory.mktemp("pages"), migrated_sqlite_file, Said(PLAIN, odd=False)) as site:
        yield site


@pytest.fixture
def page(browser: Browser, site: Served) -> Iterator[Page]:
    """A page in which somebody is logged in, with the queue open."""
    with opened(browser) as page:
        log_in(page, site.url, site.name, site.secret)
        page.goto(f"{site.url}/queue")
        yield page


def state_of(site: Served, candidate: str) -> str:
    with site.database.read() as session:
        return session.get_one(Candidate, (SPACE, candidate)).state


def test_j_and_k_move_over_the_rows_and_o_opens_one(page: Page) -> None:
    rows = page.locator(ROWS)
    for keys, row in (("j", 0), ("j", 1), ("k", 0), ("k", 0)):
        page.keyboard.press(keys)
        expect(rows.nth(row)).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", "focus shows"
    wanted = rows.nth(1).get_attribute("href")
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url(re.compile(f"{re.escape(wanted or '')}($|[?])"))


def test_a_and_r_make_ready_and_decide_nothing(page: Page, site: Served) -> None:
    page.goto(f"{site.url}/candidates/{SPACE}/cand-5")
    for key, button in (("a", "approve"), ("r", "reject")):
        page.keyboard.press(key)
        expect(page.get_by_label("In your own words")).to_be_focused()
        expect(page.locator(".readied")).to_have_count(1)
        expect(page.locator(f"[data-decides={button}]")).to_have_class(re.compile("readied"))
        expect(page.locator("#said")).to_contain_text(button)
        page.keyboard.press("Escape")
        expect(page.locator(".readied")).to_have_count(0)
    assert state_of(site, "cand-5") == "staged"
    page.keyboard.press("r")
    page.keyboard.type("jkar? is only text here")
    expect(page.get_by_label("In your own words")).to_have_value("jkar? is only text here")
    page.keyboard.press("Control+Enter")
    expect(page.locator("main [role=status]").first).to_be_visible()
    assert state_of(site, "cand-5") == "rejected"


def test_e_opens_the_form_that_edits(page: Page, site: Served) -> None:
    page.goto(f"{site.url}/candidates/{SPACE}/cand-6")
    page.keyboard.press("e")
    expect(page.locator("details#edit")).to_have_attribute("open", "")
    assert page.evaluate("document.activeElement.closest('details#edit') !== null")


def test_j_goes_from_a_candidate_to_the_next_one(page: Page, site: Served) -> None:
    page.locator(ROWS).first.click()
    following = page.locator("main a[rel~=next]:not(.pager a)").first.get_attribute("href")
    page.keyboard.press("j")
    page.wait_for_url(f"{site.url}{following}")


def test_the_help_opens_with_a_question_mark_and_closes_with_escape(page: Page) -> None:
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator(f"{ROWS}:focus")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    expect(dialog).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


def test_keys_with_a_modifier_and_keys_in_a_field_are_left_alone(page: Page) -> None:
    page.keyboard.press("Alt+j")
    page.keyboard.press("Control+Shift+?")
    expect(page.locator(f"{ROWS}:focus")).to_have_count(0)
    page.locator("main select").first.focus()
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(f"{ROWS}:focus")).to_have_count(0)


def test_shortcuts_can_be_turned_off_and_stay_off(page: Page, site: Served) -> None:
    with page.expect_navigation():
        page.get_by_label("Single-key shortcuts").uncheck()
    expect(page.locator("body")).to_have_attribute("data-shortcuts", "off")
    page.goto(f"{site.url}/rules")
    page.goto(f"{site.url}/queue")
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(page.locator(f"{ROWS}:focus")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_times_are_the_readers_own_from_the_first_page_on(browser: Browser, site: Served) -> None:
    with opened(browser, timezone_id="Asia/Shanghai") as page:
        log_in(page, site.url, site.name, site.secret)
        page.context.clear_cookies(name="slowwave_zone")
        page.goto(f"{site.url}/audit")
        assert page.locator("body").get_attribute("data-zone") == "UTC", "the server did not know"
        told = page.locator("main time").all_inner_texts()
        expect(page.locator("[data-zone-name]")).to_have_text("Asia/Shanghai")
        page.reload()
        assert page.locator("body").get_attribute("data-zone") == "Asia/Shanghai"
        assert page.locator("main time").all_inner_texts() == told, "script and server write times alike"
        assert told
        assert all(time.startswith("1 Dec 2026, 04:") for time in told)


def test_the_language_is_the_browsers_until_one_is_chosen(browser: Browser, site: Served) -> None:
    with opened(browser, locale="zh-CN", timezone_id="Asia/Shanghai") as page:
        page.goto(f"{site.url}/login")
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
        with page.expect_navigation():
            page.locator("select[name=language]").select_option("en")
        expect(page.locator("html")).to_have_attribute("lang", "en")
        log_in(page, site.url, site.name, site.secret)
        expect(page.locator("html")).to_have_attribute("lang", "en")
        with page.expect_navigation():
            page.locator("select[name=language]").select_option("zh-Hans")
        page.context.clear_cookies(name="slowwave_zone")
        page.goto(f"{site.url}/audit")
        told = page.locator("main time").all_inner_texts()
        page.reload()
        assert page.locator("main time").all_inner_texts() == told
        assert all(time.startswith("2026年12月1日 04:") for time in told)


PART = """
const part = document.createElement('div');
part.id = 'probe';
part.innerHTML = '<input name=reason value=kept><button hx-get="{path}" hx-target="#probe">Ask</button>';
document.querySelector('main').append(part);
htmx.process(part);
"""


def test_an_error_is_told_at_the_top_and_replaces_nothing(browser: Browser, site: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    log_in(page, site.url, site.name, site.secret)
    page.goto(f"{site.url}/queue")
    page.evaluate(PART.replace("{path}", "/nowhere"))
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#trouble")).to_contain_text("There is no page at this address.")
    expect(page.locator("#probe input")).to_have_value("kept")
    page.route("**/nowhere", lambda route: route.abort())
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    page.unroute("**/nowhere")
    page.route("**/nowhere", lambda route: route.fulfill(status=200, content_type="text/html", body="<p>all well</p>"))
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#probe")).to_have_text("all well")
    expect(page.locator("#trouble")).to_be_empty()
    context.close()


def test_a_part_asked_for_after_the_session_ended_takes_the_whole_page_to_the_login(
    browser: Browser, site: Served
) -> None:
    context = browser.new_context()
    page = context.new_page()
    log_in(page, site.url, site.name, site.secret)
    page.goto(f"{site.url}/rules")
    page.evaluate(PART.replace("{path}", "/queue"))
    context.clear_cookies(name="slowwave_session")
    page.get_by_role("button", name="Ask").click()
    page.wait_for_url(f"{site.url}/login?next=%2Frules")
    context.close()


FRAGMENT = '<p>page {n}</p><a id="{n}" rel="next" href="/x?page={n}" hx-get="/x?page={n}" hx-target="#probe">Next</a>'


def test_the_focus_stays_on_what_stands_in_place_of_what_was_pressed(page: Page) -> None:
    page.route("**/x?page=*", lambda route: turn(route))
    page.evaluate(PART.replace("{path}", "/x?page=1"))
    page.get_by_role("button", name="Ask").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#probe")).to_contain_text("page 2")
    expect(page.locator("#probe")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#probe")).to_contain_text("page 3")
    expect(page.locator("#probe a")).to_be_focused()


def turn(route: Route) -> None:
    """The fragment after the one that was asked for."""
    body = FRAGMENT.replace("{n}", str(int(route.request.url.rpartition("=")[2]) + 1))
    route.fulfill(status=200, content_type="text/html", body=body)


LIVE = """
const part = document.createElement('div');
part.innerHTML = '<p id=live data-events="/s?seen=0" hx-get="/p" hx-trigger="refresh" hx-swap="outerHTML">0</p>';
document.querySelector('main').append(part);
htmx.process(part);
document.dispatchEvent(new CustomEvent('htmx:afterSwap', {detail: {xhr: {}, target: part}}));
"""


def test_a_stream_refreshes_its_part_and_polling_takes_its_place(browser: Browser, site: Served) -> None:
    """The part names another address after each refresh; it is one stream all the same."""
    context = browser.new_context()
    page = context.new_page()
    log_in(page, site.url, site.name, site.secret)
    page.goto(f"{site.url}/queue")
    asked: list[str] = []
    streams: list[str] = []

    def stream(route: Route) -> None:
        streams.append(route.request.url)
        if len(streams) == 1:
            route.fulfill(status=200, content_type="text/event-stream", body="retry: 10\nevent: progress\ndata: 1\n\n")
        else:
            route.fulfill(status=404, body="")

    def part(route: Route) -> None:
        asked.append(route.request.url)
        body = f'<p id="live" data-events="/s?seen={len(asked)}" hx-get="/p" hx-trigger="refresh" hx-swap="outerHTML">'
        route.fulfill(status=200, content_type="text/html", body=f"{body}{len(asked)}</p>")

    page.clock.install()
    page.route("**/s?*", stream)
    page.route("**/p", part)
    page.evaluate(LIVE)
    expect(page.locator("#live")).to_have_text("1")
    for wanted in ("2", "3"):
        with page.expect_response("**/p"):
            page.clock.run_for(5_100)
        expect(page.locator("#live")).to_have_text(wanted)
    assert [url.rpartition("/")[2] for url in streams] == ["s?seen=0", "s?seen=0"]
    context.close()
