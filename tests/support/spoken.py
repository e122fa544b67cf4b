"""A made-up language that disguises every message, and what is left in Latin letters on a page that speaks it."""

from __future__ import annotations

import gettext
import re
from html.parser import HTMLParser

from support.html_check import VOID

KEPT = re.compile(r"%\([a-z_]+\)s|%%|\{[a-z0-9_]*(?::[^}]*)?\}|</?[a-z][^>]*>|&[a-z]+;")
LATIN = re.compile(r"[A-Za-z][A-Za-z'’-]*")
SAID_BY = {"aria-label", "title", "placeholder", "alt", "label", "data-unreachable", "data-approve", "data-reject"}
SILENT = {"code", "pre", "kbd", "script", "style", "textarea"}
"""Commands, ids and keys, written the same in every language; and what somebody wrote or will write."""


def disguised(message: str) -> str:
    """The message in letters of another script; placeholders and markup stay."""
    made, at = "", 0
    for match in KEPT.finditer(message):
        made += _yi(message[at : match.start()]) + match.group()
        at = match.end()
    return made + _yi(message[at:])


def _yi(text: str) -> str:
    return "".join(chr(0xA000 + ord(char)) if char.isascii() and char.isalpha() else char for char in text)


class Disguise(gettext.NullTranslations):
    """A catalogue that has every message."""

    def gettext(self, message: str) -> str:
        """The message in the made-up language."""
        return disguised(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """The message that counts, with the plural forms of English."""
        return disguised(msgid1 if n == 1 else msgid2)


class _Heard(HTMLParser):
    """What a page says in its own language: what is marked as written in another is not heard."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.texts: list[str] = []

    @property
    def silent(self) -> bool:
        return any(silent for _, silent in self.open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        foreign = tag != "html" and "lang" in given
        if not foreign and not self.silent:
            self.texts += [value or "" for name, value in attrs if name in SAID_BY]
        if tag not in VOID:
            self.open.append((tag, tag in SILENT or foreign))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if self.open:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.texts.append(data)


def left_in_latin(page: str, data: re.Pattern[str]) -> list[str]:
    """Texts and spoken attributes of a page that still hold Latin letters once ``data`` is taken out of them."""
    heard = _Heard()
    heard.feed(page)
    heard.close()
    return sorted({text.strip() for text in heard.texts if LATIN.search(data.sub("", text))})
