"""Template filters: hostile text made visible, times in the reader's zone, figures in words: finished, safe markup."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from babel.dates import format_datetime
from markupsafe import Markup

from review_ui.hidden import pieces
from review_ui.reader import reader, zone
from review_ui.words import BABEL, _

_HIDDEN = Markup('<span class="hidden-char" title="{why}">{label}</span>')
_MIXED = Markup('<span class="mixed-script" title="{why}">{text}<span class="script-note">{label}</span></span>')
_CODE_SPAN = re.compile(r"`[^`\n]{1,120}`")
_CODE = Markup("<code>{}</code>")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_FOLD = Markup('<details class="fold"><summary>{length} more characters</summary>{rest}</details>')
_TIME = Markup('<time datetime="{iso}" title="{hover}">{text}</time>')


def visible(value: object) -> Markup:
    """Escaped text in which nothing is hidden: invisible characters written out, mixed-script words flagged."""
    if isinstance(value, Markup):
        return value
    made = Markup()
    for piece in pieces("" if value is None else str(value)):
        if piece.kind == "hidden":
            made += _HIDDEN.format(why=piece.why, label=piece.label)
        elif piece.kind == "mixed":
            made += _MIXED.format(why=piece.why, text=piece.text, label=piece.label)
        else:
            made += Markup.escape(piece.text)
    return made


def prose(value: object) -> Markup:
    """Visible text in which what stands between backticks is set as code; the backticks stay, they are in the text."""
    if isinstance(value, Markup):
        return value
    text, made, at = "" if value is None else str(value), Markup(), 0
    for match in _CODE_SPAN.finditer(text):
        made += visible(text[at : match.start()]) + _CODE.format(visible(match.group()))
        at = match.end()
    return made + visible(text[at:])


def plain(value: object) -> str:
    """The same as text without markup, for attributes, titles and drawings; the template escapes it."""
    found = pieces("" if value is None else str(value))
    return "".join(f"⟦{piece.label}⟧" if piece.kind == "hidden" else piece.text for piece in found)


def when(value: datetime | None) -> Markup:
    """A time in the reader's zone, with UTC for machines and on hover."""
    if value is None:
        return Markup.escape(_("not yet"))
    utc = value.astimezone(UTC)
    words = _written(value, "d MMM y, HH:mm") + (" UTC" if reader().zone == "UTC" else "")
    return _TIME.format(iso=utc.strftime("%Y-%m-%dT%H:%M:%SZ"), hover=utc.strftime("%Y-%m-%d %H:%M:%S UTC"), text=words)


def day(value: datetime | None) -> Markup:
    """The date of a time in the reader's zone."""
    if value is None:
        return Markup.escape(_("no date set"))
    utc = value.astimezone(UTC)
    words = _written(value, "d MMM y")
    return _TIME.format(iso=utc.strftime("%Y-%m-%d"), hover=utc.strftime("%Y-%m-%d %H:%M:%S UTC"), text=words)


def _written(value: datetime, pattern: str) -> str:
    return format_datetime(value, pattern, tzinfo=zone(), locale=BABEL[reader().language])


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
        return "infinite"
    if value < 0.01:
        return "under 0.01"
    if value >= 100:
        return "over 100"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def span_words(seconds: float | None) -> str:
    """A duration in words: 0.4 s, 12 s, 3 min 5 s, 2 h 10 min."""
    if seconds is None:
        return "–"
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def age_words(since: datetime, now: datetime) -> str:
    """How long ago, in one coarse word pair."""
    seconds = (now - since).total_seconds()
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        count = int(seconds // size)
        if count >= 1:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def shortened(text: str, most: int) -> str:
    """A text for a link or a label: cut at ``most`` characters, and marked so."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def folded(value: object, most: int = 600) -> Markup:
    """Visible text; what goes past ``most`` characters unfolds on request and says how long it is."""
    text = "" if value is None else str(value)
    if len(text) <= most + 80:
        return prose(text)
    return prose(text[:most]) + _FOLD.format(length=f"{len(text) - most:,}", rest=prose(text[most:]))
