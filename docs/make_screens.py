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

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
COMMAND = [sys.executable, "-m", "worker.cli"]
NAMESPACE = "demo/shopping"
SIZE = {"width": 1280, "height": 860}


def main() -> None:
    """Make the demo in a folder of its own, start the stack, take the picture."""
    with tempfile.TemporaryDirectory(prefix="slowwave-screens-") as home:
        env = {**os.environ, "SLOWWAVE_HOME": home, "PYTHONPATH": str(ROOT)}
        login = run(env, "demo", "--no-up")["login"]
        candidate = run(env, "queue", "--namespace", NAMESPACE)[0]["id"]
        with stack(env) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE, device_scale_factor=2)  # type: ignore[arg-type]
            take(page, address, login, candidate)
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


def take(page: Page, address: str, login: dict[str, str], candidate: str) -> None:
    """Log in and photograph the candidate's page."""
    page.goto(f"{address}/login")
    page.get_by_label("Name").fill(login["name"])
    page.get_by_label("Password or token").fill(login["password"])
    page.get_by_role("button", name="Log in").click()
    page.goto(f"{address}/candidates/{NAMESPACE}/{candidate}")
    page.get_by_role("button", name="Approve this hash").wait_for()
    page.screenshot(path=IMAGES / "review.png")


if __name__ == "__main__":
    main()
