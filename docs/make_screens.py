"""Takes the pictures of README and guides from the demo: a real stack, a real Chromium. ``make screens``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from slowwave_client import Memory

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
COMMAND = [sys.executable, "-m", "worker.cli"]
NAMESPACE = "demo/support"
SIZE = {"width": 1280, "height": 860}
SCALE = 1.5
"""Sharp enough on most screens; together the pictures stay under two and a half megabytes."""
MARGIN = 14
"""Room around what is cut out of a page, in CSS pixels."""
REASON = "Read three failures and the runs against it: each repeated the call and got the same answer."


def main() -> None:
    """Make the demo in a folder of its own, start the stack, walk from the queue to an event, take the pictures."""
    with tempfile.TemporaryDirectory(prefix="slowwave-screens-") as home:
        env = {**os.environ, "SLOWWAVE_HOME": home, "PYTHONPATH": str(ROOT)}
        login = run(env, "demo", "--no-up")["login"]
        token = run(env, "token", "create", "--role", "agent", "--namespace", NAMESPACE)["token"]
        with stack(env) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE, device_scale_factor=SCALE)  # type: ignore[arg-type]
            log_in(page, address, login)
            with Memory(address, token, NAMESPACE) as memory:
                walk(page, address, memory)
            browser.close()


def run(env: dict[str, str], *arguments: str) -> Any:
    """Run a command; returns its one document."""
    argv = [*COMMAND, *arguments, "--json"]
    done = subprocess.run(argv, env=env, cwd=ROOT, check=True, stdout=subprocess.PIPE)  # noqa: S603 - our own command
    return json.loads(done.stdout)


@contextmanager
def stack(env: dict[str, str]) -> Iterator[str]:
    """The stack on a free port, until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [*COMMAND, "up", "--port", str(port)]
    with subprocess.Popen(argv, env=env, cwd=ROOT, stdout=subprocess.DEVNULL) as process:  # noqa: S603
        address = f"http://127.0.0.1:{port}"
        try:
            wait_for(f"{address}/health/ready")
            yield address
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def wait_for(url: str) -> None:
    """Until it answers with success, half a minute at most."""
    for _ in range(300):
        try:
            urllib.request.urlopen(url, timeout=1).close()  # noqa: S310 - our own address
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"{url} does not answer")


def log_in(page: Page, address: str, login: dict[str, str]) -> None:
    """As the reviewer of the demo."""
    page.goto(f"{address}/login")
    page.get_by_label("Name").fill(login["name"])
    page.get_by_label("Password or token").fill(login["password"])
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Queue").wait_for()


def walk(page: Page, address: str, memory: Memory) -> None:
    """The walk-through of docs/review.md, photographed at each stop."""
    take(page, "queue", until=".queue-row:nth-child(4)")
    page.goto(f"{address}/queue?namespace={NAMESPACE}")
    page.get_by_role("button", name="Take the next one").click()
    page.get_by_role("button", name="Approve this hash").wait_for()
    candidate = page.url
    take(page, "review")
    take(page, "effect", of="#effect")
    take(page, "evidence", of="#evidence", most=640)
    memory.wait_until_connected(timeout=20)
    page.get_by_label("In your own words").fill(REASON)
    page.get_by_role("button", name="Approve this hash").click()
    page.get_by_role("link", name="See the rule it became").click()
    page.get_by_role("heading", name="Versions").wait_for()
    rule = page.url
    served(memory)
    page.goto(rule)
    take(page, "rule")
    page.goto(f"{address}/events")
    reload_until(page, "1 of 1 reader has it")
    take(page, "events", until=".rows")
    page.goto(f"{address}/runs?namespace={NAMESPACE}")
    page.locator("a.row-link").first.click()
    page.get_by_role("heading", name="Found, and not found").wait_for()
    take(page, "run")
    page.goto(f"{address}/queue?namespace={NAMESPACE}")
    page.locator("a.row-link").first.click()
    assert page.url != candidate, "a decided candidate is no longer in the queue"
    edit(page)
    take(page, "edited", until="section:has(> #difference-night)")


def served(memory: Memory) -> None:
    """Some sessions of an agent read the rule, so that its page has readers to show."""
    memory.wait_for_epoch(1, timeout=20)
    for number in range(1, 6):
        assert len(memory.rules("the customer was charged twice", session_id=f"run-{number}")) == 1


def reload_until(page: Page, words: str) -> None:
    """A client confirms with its next renewal of the lease: some seconds."""
    for _ in range(60):
        if page.get_by_text(words).count():
            return
        time.sleep(0.5)
        page.reload()
    raise TimeoutError(f"the page does not come to say: {words}")


def edit(page: Page) -> None:
    """Add a step to the text of the candidate on the page."""
    page.get_by_text("Edit the text", exact=True).click()
    steps = page.get_by_label("What to do, one step a line")
    steps.fill(f"{steps.input_value().rstrip()}\nTell the customer what you will do next.")
    page.get_by_label("Why you change it").fill("the customer has to know")
    page.get_by_role("button", name="Save as a new revision").click()
    page.get_by_text("another reviewer has to approve your words").wait_for()


def take(page: Page, name: str, *, of: str = "", until: str = "", most: int = 860) -> None:
    """A picture of the page's first screen, down to the end of ``until``; or of what ``of`` selects."""
    page.mouse.move(0, 0)
    clip = {"x": 0.0, "y": 0.0, "width": float(SIZE["width"]), "height": float(most)}
    if of:
        box = page.locator(of).first.bounding_box()
        assert box is not None, f"{of} is not on the page"
        left, top = max(0.0, box["x"] - MARGIN), max(0.0, box["y"] - MARGIN)
        clip = {"x": left, "y": top, "width": box["width"] + 2 * MARGIN, "height": min(most, box["height"] + MARGIN)}
    elif until:
        box = page.locator(until).first.bounding_box()
        assert box is not None, f"{until} is not on the page"
        clip["height"] = box["y"] + box["height"] + MARGIN
    page.screenshot(path=IMAGES / f"{name}.png", clip=clip, full_page=True)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
