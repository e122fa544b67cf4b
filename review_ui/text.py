"""Template filters: hostile text made visible, times in the reader's zone, figures in words: finished, safe markup."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from babel.dates import format_datetime
from markupsafe import Markup

from review_ui.hidden import Piece, pieces
from review_ui.reader import reader, zone
from review_ui.words import BABEL, _, ngettext

_HIDDEN = Markup('<span class="hidden-char" title="{why}">{label}</span>')
_MIXED = Markup('<span class="mixed-script" title="{why}">{text}<span class="script-note">{label}</span></span>')
_CODE_SPAN = re.compile(r"`[^`\n]{1,120}`")
_CODE = Markup("<code>{}</code>")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_FOLD = Markup('<details class="fold"><summary>{summary}</summary>{rest}</details>')
_TIME = Markup('<time datetime="{iso}" title="{hover}">{text}</time>')
_DAY = Markup('<time datetime="{iso}" title="{hover}" data-day>{text}</time>')
DAYS = {"en": "d MMM y", "zh-Hans": "y年M月d日"}
TIMES = {"en": "d MMM y, HH:mm", "zh-Hans": "y年M月d日 HH:mm"}
"""How each language writes them; the script writes them alike before the server knows the zone."""


def visible(value: object) -> Markup:
    """Escaped text in which nothing is hidden: invisible characters written out, mixed-script words flagged."""
    if isinstance(value, Markup):
        return value
    text = "" if value is None else str(value)
    if text.isascii() and text.isprintable():  # most of a page
        return Markup.escape(text)
    # Joined once, each mark made once: a text may hold tens of thousands of hidden characters.
    known: dict[Piece, Markup] = {}
    made: list[Markup] = []
    for piece in pieces(text):
        if piece.kind == "text":
            made.append(Markup.escape(piece.text))
        else:
            made.append(known[piece] if piece in known else known.setdefault(piece, _mark(piece)))
    return Markup().join(made)


def _mark(piece: Piece) -> Markup:
    if piece.kind == "hidden":
        return _HIDDEN.format(why=piece.why, label=piece.label)
    return _MIXED.format(why=piece.why, text=piece.text, label=piece.label)


def prose(value: object) -> Markup:
    """Visible text in which what stands between backticks is set as code, instead of between backticks."""
    if isinstance(value, Markup):
        return value
    text, at = "" if value is None else str(value), 0
    made: list[Markup] = []
    for match in _CODE_SPAN.finditer(text):
        made += (visible(text[at : match.start()]), _CODE.format(visible(match.group()[1:-1])))
        at = match.end()
    return Markup().join([*made, visible(text[at:])])


def plain(value: object) -> str:
    """The same as text without markup, for attributes, titles and drawings; the template escapes it."""
    found = pieces("" if value is None else str(value))
    return "".join(f"⟦{piece.label}⟧" if piece.kind == "hidden" else piece.text for piece in found)


def when(value: datetime | None) -> Markup:
    """A time in the reader's zone, with UTC for machines and on hover."""
    if value is None:
        return Markup.escape(_("not yet"))
    return _TIME.format(text=when_words(value), **_instant(value))


def day(value: datetime | None) -> Markup:
    """The date of a time in the reader's zone."""
    if value is None:
        return Markup.escape(_("no date set"))
    return _DAY.format(text=_written(value, DAYS), **_instant(value))


def when_words(value: datetime) -> str:
    """A time in the reader's zone, for where no markup can stand."""
    return _written(value, TIMES) + (" UTC" if reader().zone == "UTC" else "")


def _instant(value: datetime) -> dict[str, str]:
    utc = value.astimezone(UTC)
    return {"iso": utc.strftime("%Y-%m-%dT%H:%M:%SZ"), "hover": utc.strftime("%Y-%m-%d %H:%M:%S UTC")}


def _written(value: datetime, patterns: dict[str, str]) -> str:
    language = reader().language
    return format_datetime(value, patterns[language], tzinfo=zone(), locale=BABEL[language])


def figure(value: float | None) -> str:
    """A number at the precision that a reader needs; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if abs(value) < 0.001:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa} × 10{str(int(exponent)).translate(_RAISED)}".replace("-", "−")
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−")


def ratio(value: float) -> str:
    """An odds ratio at the precision that its interval deserves."""
    if math.isinf(value):
        return "∞"
    if value < 0.01:
        return "< 0.01"
    if value >= 100:
        return "> 100"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def span_words(seconds: float | None) -> str:
    """A duration in words: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return _("{n} s").format(n=f"{max(seconds, 0):.1f}")
    if seconds < 60:
        return _("{n} s").format(n=f"{seconds:.0f}")
    if seconds < 3600:
        return _("{minutes} min {seconds} s").format(minutes=int(seconds // 60), seconds=int(seconds % 60))
    return _("{hours} h {minutes} min").format(hours=int(seconds // 3600), minutes=int(seconds % 3600 // 60))


def age_words(since: datetime, now: datetime) -> str:
    """How long ago, in one coarse word pair."""
    seconds = int((now - since).total_seconds())
    if seconds >= 86_400:
        return ngettext("{n} day ago", "{n} days ago", seconds // 86_400).format(n=seconds // 86_400)
    if seconds >= 3600:
        return ngettext("{n} hour ago", "{n} hours ago", seconds // 3600).format(n=seconds // 3600)
    if seconds >= 60:
        return ngettext("{n} minute ago", "{n} minutes ago", seconds // 60).format(n=seconds // 60)
    return _("just now")


def shortened(text: str, most: int) -> str:
    """A text for a link or a label: cut at ``most`` characters, and marked so."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def folded(value: object, most: int = 600) -> Markup:
    """Visible text; what goes past ``most`` characters unfolds on request and says how long it is."""
    text = "" if value is None else str(value)
    if len(text) <= most + 80:
        return prose(text)
    left = len(text) - most
    summary = ngettext("{n} more character", "{n} more characters", left).format(n=f"{left:,}")
    return prose(text[:most]) + _FOLD.format(summary=summary, rest=prose(text[most:]))
