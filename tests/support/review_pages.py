"""What a person does on the review pages: log in, fill in a form."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from html.parser import HTMLParser
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


Sent = dict[str, str | list[str]]


class _Forms(HTMLParser):
    """Every form of a page that is posted: where it may be sent, and what a browser would send, nothing being typed."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[set[str], Sent]] = []
        self.inside = False
        self.area = self.choice = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form" and given.get("method") == "post":
            self.inside = True
            self.forms.append(({given.get("action", "")}, {}))
        if not self.inside:
            return
        targets, sent = self.forms[-1]
        name, value = given.get("name", ""), given.get("value", "")
        if tag == "button":
            targets.add(given.get("formaction", ""))
        elif tag == "textarea":
            self.area = name
            self._add(name, "")
        elif tag == "select":
            self.choice = name
        elif tag == "option" and self.choice and (self.choice not in sent or "selected" in given):
            sent[self.choice] = value
        elif tag == "input" and (given.get("type") not in ("radio", "checkbox") or "checked" in given):
            self._add(name, value)

    def _add(self, name: str, value: str) -> None:
        sent = self.forms[-1][1]
        before = sent.get(name)
        sent[name] = value if before is None else [*([before] if isinstance(before, str) else before), value]

    def handle_data(self, data: str) -> None:
        if self.area:
            sent = self.forms[-1][1]
            sent[self.area] = f"{sent[self.area]}{data}".removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.area = ""
        elif tag == "select":
            self.choice = ""
        elif tag == "form":
            self.inside = False


def filled(page: str, action: str) -> Sent:
    """What a browser would send to ``action`` from this page, with its form as the page has it filled in."""
    read = _Forms()
    read.feed(page)
    for targets, sent in read.forms:
        if action in targets:
            return dict(sent)
    raise AssertionError(f"no form of this page goes to {action}: {[targets for targets, _ in read.forms]}")


def fields(page: str, action: str) -> dict[str, str]:
    """The hidden fields of the form that a button of this page sends to ``action``."""
    for form in re.findall(r"<form.*?</form>", page, re.DOTALL):
        if f'action="{action}"' in form:
            return dict(re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)"', form))
    raise AssertionError(f"no form of this page goes to {action}")


def without_masks(page: str) -> str:
    """A page without the tokens of its forms, which are masked anew each time."""
    return re.sub(r'name="csrf" value="[0-9a-f.]+"', "", page)
