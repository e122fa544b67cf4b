"""A run that is under way, in a real Chromium: its page goes on by itself, by the stream and without it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from pydantic import SecretStr
from sqlmodel import col, select

from review_ui.app import create_app
from storage.engine import Database
from storage.runs import close_run
from storage.settings import Settings
from storage.tables import Run, RunStep
from support import factories
from support.browser import log_in, opened
from support.review_pages import Clock
from support.served import NOW, Served, listening

SPACE = "acme/nights"
RUN = "run-live"

PATIENCE_MS = 20_000
"""How long a change may take to be seen: without a stream a page asks every five seconds."""

pytestmark = [pytest.mark.browser, pytest.mark.processes]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite_file: Path) -> Iterator[Served]:
    """The pages over a store with one reviewer."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copy(migrated_sqlite_file, folder / "slowwave.db")
    database = Database(f"sqlite:///{folder / 'slowwave.db'}")
    factories.make_namespace(database, SPACE, NOW)
    _, token = factories.make_person(database, "rosa", NOW)
    settings = Settings(home=folder, secret_key=SecretStr("a secret for tests, 32 bytes long"))
    try:
        with listening(create_app(settings, database, Clock(NOW))) as url:
            yield Served(url, "rosa", token, database, {})
    finally:
        database.dispose()


@pytest.fixture
def run_id(request: pytest.FixtureRequest, site: Served) -> Iterator[str]:
    """A night with two of four steps done, closed at the end: a namespace has one open night."""
    name = f"{RUN}-{request.node.name}"[:60]
    factories.make_run(site.database, SPACE, name, NOW, state="running", key=name)
    yield name
    finish(site.database, name)


def do_a_step(database: Database, run_id: str) -> None:
    with database.write() as session:
        waiting = select(RunStep).where(RunStep.run_id == run_id, col(RunStep.state).in_(("leased", "pending")))
        step = session.exec(waiting.order_by(col(RunStep.id))).first()
        assert step is not None
        step.state, step.started_at, step.finished_at = "done", NOW, NOW


def finish(database: Database, run_id: str) -> None:
    with database.write() as session:
        close_run(session, session.get_one(Run, run_id), state="completed", stats={}, problems=[])


def look_on(page: Page, site: Served, run_id: str) -> None:
    log_in(page, site.url, site.name, site.secret)
    page.goto(f"{site.url}/runs/{run_id}")
    expect(page.locator("#live progress")).to_be_visible()
    page.evaluate("window.sameDocument = true")


def test_a_page_goes_on_with_the_run_and_ends_with_what_was_found(browser: Browser, site: Served, run_id: str) -> None:
    with opened(browser) as page:
        look_on(page, site, run_id)
        said = page.locator("#run-said")
        expect(said).to_have_text("Under way: Contrast.")
        do_a_step(site.database, run_id)
        expect(page.locator("#live")).to_contain_text("3 of 4 steps known so far", timeout=PATIENCE_MS)
        expect(said).to_have_text("Under way: Draft.")
        finish(site.database, run_id)
        expect(page.locator("#run-head .badge")).to_have_text("completed", timeout=PATIENCE_MS)
        expect(said).to_have_text("The run is over: completed.")
        expect(page.locator("#run-rest")).to_contain_text("without get_order before it goes with failure")
        expect(page.locator("[data-events]")).to_have_count(0)
        assert page.evaluate("window.sameDocument"), "nothing was reloaded"


def test_a_page_goes_on_where_no_stream_comes_through(browser: Browser, site: Served, run_id: str) -> None:
    with opened(browser) as page:
        page.route("**/events", lambda route: route.fulfill(status=204))
        look_on(page, site, run_id)
        do_a_step(site.database, run_id)
        expect(page.locator("#live")).to_contain_text("3 of 4 steps known so far", timeout=PATIENCE_MS)
        finish(site.database, run_id)
        expect(page.locator("#run-head .badge")).to_have_text("completed", timeout=PATIENCE_MS)
        assert page.evaluate("window.sameDocument"), "nothing was reloaded"


def test_without_a_script_the_page_reloads_itself(browser: Browser, site: Served, run_id: str) -> None:
    with opened(browser, java_script_enabled=False) as page:
        log_in(page, site.url, site.name, site.secret)
        page.goto(f"{site.url}/runs/{run_id}")
        expect(page.locator("#live")).to_contain_text("2 of 4 steps known so far")
        do_a_step(site.database, run_id)
        expect(page.locator("#live")).to_contain_text("3 of 4 steps known so far", timeout=PATIENCE_MS)
