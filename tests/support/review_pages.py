"""What a person does on the review pages: log in, fill in a form."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from starlette.testclient import TestClient

ORIGIN = "http://testserver"
SPACE = "acme/support"
Browse = Callable[..., TestClient]


class Clock:
    """A clock that a test moves."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> None:
        """Let time pass."""
        self.now += timedelta(**span)


def log_in(browser: TestClient, name: str, password: str, **extra: str) -> Any:
    """Fill in the login form as a person does."""
    form = fields(browser.get("/login").text, "/login")
    return browser.post("/login", data=form | {"name": name, "secret": password} | extra)


def fields(page: str, action: str) -> dict[str, str]:
    """The hidden fields of the form that a button of this page sends to ``action``."""
    for form in re.findall(r"<form.*?</form>", page, re.DOTALL):
        if f'action="{action}"' in form:
            return dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', form))
    raise AssertionError(f"no form of this page goes to {action}")
