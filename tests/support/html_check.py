"""What a page may hold: known elements, closed in order, nothing that runs, nothing from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "hr"}
SVG_EMPTY = {"rect", "path", "circle", "line", "polygon", "polyline"}
KNOWN = VOID | SVG_EMPTY | {
    "html", "head", "title", "body", "a", "header", "nav", "div", "span", "strong", "form", "button", "main", "footer",
    "p", "section", "article", "aside", "h1", "h2", "h3", "h4", "ol", "ul", "li", "dl", "dt", "dd", "label", "select",
    "optgroup", "option", "textarea", "fieldset", "legend", "details", "summary", "code", "pre", "time", "table",
    "thead", "tbody", "tr", "th", "td", "progress", "svg", "g", "text", "desc", "script", "noscript", "dialog", "kbd",
    "ins", "del", "mark", "figure", "figcaption", "caption", "small", "em", "tspan",
}  # fmt: skip
BLOCKS = {"div", "p", "ul", "ol", "dl", "details", "section", "table", "form", "h1", "h2", "h3", "pre", "article"}
INTERACTIVE = {"a", "button", "input", "select", "textarea", "details", "label"}
HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u00ad\u034f\u3164\U000e0000-\U000e007f\ud800-\udfff]")


class _Checker(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.faults: list[str] = []
        self.labelled: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in KNOWN:
            self.faults.append(f"element {tag}")
        if tag == "script" and not re.match(
            r"/static/(vendor/)?[a-z]+(\.min)?\.js\?[0-9a-f]{12}$", given.get("src") or ""
        ):
            self.faults.append(f"a script that is not ours at line {self.getpos()[0]}")
        if "p" in self.open and tag in BLOCKS:
            self.faults.append(f"{tag} inside p at line {self.getpos()[0]}")
        if "a" in self.open and tag in INTERACTIVE:
            self.faults.append(f"{tag} inside a at line {self.getpos()[0]}")
        for name, value in attrs:
            if name.startswith(("on", "hx-on")) or name == "style" or name == "srcdoc":
                self.faults.append(f"attribute {name}")
            if name in ("href", "src", "action", "formaction", "hx-get", "hx-post") and not re.match(
                r"[/#](?!/)", value or ""
            ):
                self.faults.append(f"{name} leads to {value!r}")
        if "id" in given:
            self.ids.append(given["id"] or "")
        self.labelled += (given.get("aria-labelledby") or "").split()
        if tag not in VOID:
            self.open.append(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script" and data.strip():
            self.faults.append("an inline script")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"stray end of {tag} at line {self.getpos()[0]}")


def faults_of(page: str) -> list[str]:
    """Everything that is wrong with a page; an empty list for a good one."""
    checker = _Checker()
    checker.feed(page)
    checker.close()
    found = checker.faults + [f"{tag} is not closed" for tag in checker.open]
    found += [f"id {one} twice" for one in {one for one in checker.ids if checker.ids.count(one) > 1}]
    found += [f"nothing has the id {one}" for one in checker.labelled if one not in checker.ids]
    found += [f"hidden character U+{ord(char):04X}" for char in set(HIDDEN.findall(page))]
    return found
