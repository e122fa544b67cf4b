"""A real Chromium, where one is installed. Its absence is told loudly, and is a failure where it was promised."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
PATIENCE_MS = 20_000


def chromium_path() -> str | None:
    """Where Chromium is: SLOWWAVE_CHROMIUM, or the system's."""
    given = os.environ.get("SLOWWAVE_CHROMIUM")
    return given or next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A browser for one test. Playwright's loop runs in the main thread while it is open: kept, it would make every
    later ``asyncio.run`` of the suite fail."""
    path = chromium_path()
    if path is None:
        missing = "Chromium is not installed (Debian: apt-get install chromium; or name one in SLOWWAVE_CHROMIUM)"
        if os.environ.get("SLOWWAVE_REQUIRE_BROWSER"):
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, **options: Any) -> Iterator[Page]:
    """A page with a session of its own. An error in its console, a refused load included, fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert problems == []


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page as most people have it."""
    with opened(browser) as page:
        yield page


def log_in(page: Page, url: str, name: str, secret: str) -> None:
    """Log in through the form."""
    page.goto(f"{url}/login")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password or token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
