"""The product in one test: a night's finding, a person in a browser, an agent that reads, a revocation that arrives.

Every part is a real process: the stack of ``slowwave up``, Chromium, and the client that agents install.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlmodel import col, select

from slowwave_client import Memory, MemoryStale
from storage.tables import Exposure, OutboxEvent
from support.browser import log_in
from support.local import Home, Up, wait_until_ready

NAMESPACE = "demo/shopping"
LEASE_SECONDS = 4.0
REVOKED_WITHIN_SECONDS = 1.0
"""What we promise a connected client, from the moment the revocation is dated."""

pytestmark = [pytest.mark.processes, pytest.mark.browser]


@pytest.fixture
def stack(demo_home: Home) -> Iterator[Up]:
    """The running stack, with a short lease so that its end can be waited for."""
    demo_home.settings["SLOWWAVE_LEASE_SECONDS"] = str(LEASE_SECONDS)
    up = demo_home.up()
    wait_until_ready(up.url, up.child)
    yield up
    up.stop()


@pytest.fixture
def memory(demo_home: Home, stack: Up) -> Iterator[Memory]:
    """An agent's client, connected."""
    token = demo_home.json("token", "create", "--role", "agent", "--namespace", NAMESPACE)["token"]
    with Memory(stack.url, token, NAMESPACE) as memory:
        memory.wait_until_connected(timeout=20)
        yield memory


def log_in_as_reviewer(page: Page, stack: Up, home: Home) -> None:
    secret = home.json("user", "add", "rosa", "--role", "reviewer")["token"]
    log_in(page, stack.url, "rosa", secret)


def approve(page: Page, stack: Up, candidate: dict[str, Any]) -> None:
    page.goto(f"{stack.url}/candidates/{NAMESPACE}/{candidate['id']}")
    shown = candidate["guidance"][0].replace("`", "")  # what stands between backticks is set as code
    expect(page.get_by_text(shown).first).to_be_visible()
    page.get_by_label("In your own words").fill("read three episodes of either side")
    page.get_by_role("button", name="Approve this hash").click()
    expect(page.get_by_role("status").first).to_contain_text("promoted")


def open_revocation(page: Page, stack: Up, rule_id: str) -> None:
    page.goto(f"{stack.url}/rules/{NAMESPACE}/{rule_id}")
    page.get_by_role("link", name="Preview a revocation").click()
    page.get_by_label("In your own words").fill("the shop changed its policy")


def test_approved_in_the_browser_served_revoked_in_the_browser_gone(
    demo_home: Home, stack: Up, memory: Memory, page: Page
) -> None:
    candidate = demo_home.json("queue", "--namespace", NAMESPACE)[0]
    task = candidate["when_to_use"]
    assert len(memory.rules(task)) == 0, "nothing reaches an agent before a person decided"

    log_in_as_reviewer(page, stack, demo_home)
    approve(page, stack, candidate)
    (served,) = memory.rules(task, session_id="run-1")
    assert (served.when_to_use, list(served.guidance)) == (candidate["when_to_use"], candidate["guidance"])
    assert exposures(demo_home) == [("run-1", served.id, served.version)]
    assert len(memory.rules(task, session_id="run-1")) == 1, "from the cache"

    open_revocation(page, stack, served.id)
    dropped = Dropped(memory, task)
    page.get_by_role("button", name="Revoke now").click()
    seconds = (dropped.at() - revoked_at(demo_home)).total_seconds()
    print(f"a connected client dropped the revoked rule after {seconds * 1000:.0f} ms")
    assert seconds < REVOKED_WITHIN_SECONDS
    expect(page.get_by_role("status").first).to_be_visible()
    assert memory.check(session_id="run-1").verdict != "fine"


def test_with_the_web_process_stopped_the_client_fails_closed_at_the_end_of_its_lease_and_says_why(
    demo_home: Home, stack: Up, memory: Memory, page: Page
) -> None:
    candidate = demo_home.json("queue", "--namespace", NAMESPACE)[0]
    task = candidate["when_to_use"]
    log_in_as_reviewer(page, stack, demo_home)
    approve(page, stack, candidate)
    assert len(memory.rules(task)) == 1

    stack.part("web").suspend()  # the connection stays up: only silence tells
    stopped = time.monotonic()
    refused, last_served = read_until_refused(memory, task)
    served_for = last_served - stopped
    print(f"the client last served {served_for:.1f} s after the server fell silent (lease {LEASE_SECONDS} s)")
    assert served_for <= LEASE_SECONDS
    assert "may have been revoked" in str(refused) or "lease" in str(refused)
    assert refused.seconds is not None
    assert refused.last_error

    stack.part("web").resume()
    wait_until_ready(stack.url, stack.child)
    memory.wait_until_connected(timeout=20)
    assert len(memory.rules(task)) == 1


class Dropped:
    """Notes the moment at which a client that is told of a new epoch no longer serves the rule."""

    def __init__(self, memory: Memory, task: str) -> None:
        self._memory, self._task = memory, task
        self._next = (memory.epoch or 0) + 1
        self._at: datetime | None = None
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._wait)
        self._thread.start()

    def _wait(self) -> None:
        try:
            self._memory.wait_for_epoch(self._next, timeout=30)
            at = datetime.now(UTC)
            assert len(self._memory.rules(self._task)) == 0
            self._at = at
        except BaseException as problem:
            self._problem = problem

    def at(self) -> datetime:
        """When it was."""
        self._thread.join(40)
        if self._problem is not None:
            raise self._problem
        assert self._at is not None
        return self._at


def read_until_refused(memory: Memory, task: str) -> tuple[MemoryStale, float]:
    """Read until the client refuses; returns the refusal and when it last served.

    An answer from the cache takes no time, so this sees the very end of the lease. The call that is refused takes
    longer: it asks the silent server once more.
    """
    last_served = time.monotonic()
    end = last_served + 5 * LEASE_SECONDS
    while time.monotonic() < end:
        try:
            memory.rules(task)
        except MemoryStale as refused:
            return refused, last_served
        last_served = time.monotonic()
        time.sleep(0.02)
    raise AssertionError("the client never refused")


def exposures(home: Home) -> list[tuple[str, str, int]]:
    database = home.database()
    with database.read() as session:
        found = session.exec(select(Exposure.session_id, Exposure.rule_id, Exposure.version)).all()
    database.dispose()
    return [(str(row[0]), str(row[1]), int(row[2])) for row in found]


def revoked_at(home: Home) -> datetime:
    database = home.database()
    with database.read() as session:
        newest = select(OutboxEvent).where(OutboxEvent.namespace == NAMESPACE).order_by(col(OutboxEvent.epoch).desc())
        event = session.exec(newest).first()
    database.dispose()
    assert event is not None
    assert event.changes[0]["event"] == "revoked"
    return event.created_at
