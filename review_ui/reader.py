"""How a reader wants the pages: language, time zone, keyboard shortcuts. Of the browser, unless the reader chose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from zoneinfo import ZoneInfo, available_timezones

from babel import negotiate_locale
from starlette.datastructures import MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LANGUAGES = {"en": "English", "zh-Hans": "简体中文"}
"""Tags of the languages the pages speak, with their own names."""

LANGUAGE_COOKIE = "slowwave_language"
ZONE_COOKIE = "slowwave_zone"
SHORTCUTS_COOKIE = "slowwave_shortcuts"
_ALIASES = {"zh": "zh-Hans", "zh-cn": "zh-Hans", "zh-sg": "zh-Hans", "zh-hans-cn": "zh-Hans"}


@dataclass(frozen=True)
class Reader:
    """``zone`` is a name of the time zone database; ``shortcuts`` whether single keys act."""

    language: str = "en"
    zone: str = "UTC"
    shortcuts: bool = True


_EVERYBODY = Reader()
_READER: ContextVar[Reader] = ContextVar("reader", default=_EVERYBODY)


def reader() -> Reader:
    """Whoever is answered now."""
    return _READER.get()


def zone() -> ZoneInfo:
    """The reader's time zone."""
    return ZoneInfo(reader().zone)


@contextmanager
def answering(who: Reader) -> Iterator[None]:
    """Answer this reader inside the block."""
    token = _READER.set(who)
    try:
        yield
    finally:
        _READER.reset(token)


def language_for(accepted: str) -> str:
    """The best of our languages for an Accept-Language header; English where none fits."""
    tags = [(part.partition(";")[0].strip().lower(), _weight(part)) for part in accepted[:1000].split(",")]
    wanted = [tag for tag, weight in sorted(tags, key=lambda each: -each[1]) if tag and weight > 0]
    names = [_ALIASES.get(tag, tag).lower() for tag in wanted]
    ours = {tag.lower(): tag for tag in LANGUAGES}
    return ours.get(str(negotiate_locale(names, list(ours), sep="-")).lower(), "en")


def _weight(part: str) -> float:
    _, found, value = part.partition("q=")
    try:
        return float(value) if found else 1.0
    except ValueError:
        return 0.0


def reader_of(cookies: dict[str, str], accepted: str) -> Reader:
    """The reader behind a request. A cookie chooses among what there is; anything else is as if it were absent."""
    chosen, named = cookies.get(LANGUAGE_COOKIE, ""), cookies.get(ZONE_COOKIE, "").replace("%2F", "/")
    return Reader(
        language=chosen if chosen in LANGUAGES else language_for(accepted),
        zone=named if named in _zones() else "UTC",
        shortcuts=cookies.get(SHORTCUTS_COOKIE) != "off",
    )


_ZONES: set[str] = set()


def _zones() -> set[str]:
    if not _ZONES:
        _ZONES.update(available_timezones())
    return _ZONES


class Readers:
    """Tells the pages, for the length of a request, who reads them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        named = {name: value.decode("latin-1") for name, value in scope["headers"]}
        who = reader_of(cookie_parser(named.get(b"cookie", "")), named.get(b"accept-language", ""))

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).setdefault("Content-Language", who.language)
            await send(message)

        with answering(who):
            await self.app(scope, receive, send_named)
