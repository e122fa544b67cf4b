"""Events: what changed for readers, how it was relayed, how it spread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from review_ui import links
from review_ui.text import span_words
from review_ui.views.spread import Spread, Told, quantile
from review_ui.words import N_, _, ngettext
from storage.tables import OutboxEvent

KINDS = {
    "promoted": N_("promoted"),
    "superseded": N_("superseded"),
    "quarantined": N_("withheld"),
    "restored": N_("restored"),
    "revoked": N_("revoked"),
    "expired": N_("expired"),
    "purged": N_("purged"),
}
BADGES = {"promoted": "good", "restored": "good", "quarantined": "warn", "revoked": "bad", "purged": "bad"}
STATES = {
    "told": N_("has it"),
    "late": N_("came back later"),
    "waiting": N_("not yet"),
    "away": N_("was not connected"),
}
STATE_BADGES = {"told": "good", "late": "dim", "waiting": "warn", "away": "dim"}
SHOWN = 6
"""Changes of an event that its row shows; its page shows all."""
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 640, 132, 64, 14, 10
LEAST, MOST = 0.04, 300.0
TICKS = (0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class ChangeView:
    """One change of an event; ``rule`` is the rule's id."""

    kind: str
    badge: str
    rule: str
    version: str
    link: str
    reason: str


@dataclass(frozen=True)
class EventRow:
    """One event. ``relay_error`` is what the relay was told when it failed, in a program's words."""

    link: str
    title: str
    namespace: str
    epoch: int
    at: datetime
    changes: tuple[ChangeView, ...]
    more: str
    relayed: str
    relay_error: str
    readers: str
    times: str


@dataclass(frozen=True)
class ReaderRow:
    """One reader of one event. ``until`` is the end of its lease; ``is_over`` whether that is past."""

    name: str
    state: str
    badge: str
    words: str
    at: datetime | None
    until: datetime | None
    is_over: bool


@dataclass(frozen=True)
class Mark:
    """One event in the drawing: from the middle reader's time to the slowest one's."""

    x: float
    y: float
    y_most: float


@dataclass(frozen=True)
class Drawing:
    """Times of some events, the oldest on the left, on a logarithmic axis; ``words`` say the same."""

    width: int
    height: int
    left: int
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, str], ...]
    lease_y: float
    lease: str
    words: str


def event_row(event: OutboxEvent, spread: Spread, is_kept: bool, *, whole: bool = False) -> EventRow:
    """A row of the list; ``is_kept``: whether acknowledgements from then are still there. ``whole``: every change."""
    shown = event.changes if whole else event.changes[:SHOWN]
    left = len(event.changes) - len(shown)
    return EventRow(
        link=links.event(event.namespace, event.epoch),
        title=_("Event {epoch}").format(epoch=event.epoch),
        namespace=event.namespace,
        epoch=event.epoch,
        at=event.created_at,
        changes=tuple(_change(event.namespace, change) for change in shown),
        more=ngettext("and {n} more change", "and {n} more changes", left).format(n=left) if left else "",
        relayed=_relayed(event),
        relay_error="" if event.relayed_at else event.last_error or "",
        readers=_readers(spread, is_kept),
        times=time_words(spread),
    )


def _change(namespace: str, change: dict[str, object]) -> ChangeView:
    kind, rule = str(change.get("event", "")), str(change.get("rule", ""))
    return ChangeView(
        kind=_(KINDS[kind]) if kind in KINDS else kind,
        badge=BADGES.get(kind, "dim"),
        rule=rule,
        version=_("version {n}").format(n=change.get("version", "")),
        link=links.rule(namespace, rule) if rule else "",
        reason=str(change.get("reason") or ""),
    )


def _relayed(event: OutboxEvent) -> str:
    if event.relayed_at is not None:
        after = (event.relayed_at - event.created_at).total_seconds()
        return _("relayed after {time}").format(time=span_words(after))
    if event.attempts:
        return ngettext(
            "not relayed yet: {n} attempt failed", "not relayed yet: {n} attempts failed", event.attempts
        ).format(n=event.attempts)
    return _("not relayed yet")


def _readers(spread: Spread, is_kept: bool) -> str:
    of = spread.concerned
    if of:
        return ngettext("{reached} of {n} reader has it", "{reached} of {n} readers have it", of).format(
            reached=spread.reached, n=of
        )
    return _("no reader was connected") if is_kept else _("who had it is no longer kept")


def time_words(spread: Spread) -> str:
    """How long it took: the middle, nearly all, the slowest; and how many came later than their lease."""
    times, late = spread.times, len(spread.of("late"))
    said = []
    if len(times) == 1:
        said.append(_("within {time}").format(time=span_words(times[0])))
    elif times:
        said.append(
            _("half within {p50}, 95 % within {p95}, all within {most}").format(
                p50=span_words(quantile(times, 0.5)), p95=span_words(quantile(times, 0.95)), most=span_words(times[-1])
            )
        )
    if late:
        said.append(ngettext("{n} after its lease", "{n} after their leases", late).format(n=late))
    return "; ".join(said)


def reader_row(one: Told, now: datetime) -> ReaderRow:
    """A row of an event's page."""
    words = ""
    if one.state == "told":
        words = _("acknowledged after {time}").format(time=span_words(one.seconds))
    elif one.state == "late":
        words = _("acknowledged after {time}; its lease had ended, so it served nothing meanwhile").format(
            time=span_words(one.seconds)
        )
    return ReaderRow(
        name=one.consumer,
        state=_(STATES[one.state]),
        badge=STATE_BADGES[one.state],
        words=words,
        at=one.at,
        until=one.until,
        is_over=one.until is not None and one.until <= now,
    )


def drawing_of(events: Sequence[tuple[OutboxEvent, Spread]], lease_seconds: float) -> Drawing | None:
    """The times of these events, the newest first; None where none was acknowledged."""
    timed = [(event, spread.times) for event, spread in reversed(events) if spread.times]
    if not timed:
        return None
    step = (WIDTH - LEFT) / len(timed)
    slowest, worst = max(((times[-1], event) for event, times in timed), key=lambda one: one[0])
    middles = sorted(quantile(times, 0.5) for _event, times in timed)
    words = ngettext(
        "{n} event: the middle reader had it within {p50}; the slowest took {most}, for event {epoch} of {namespace}.",
        "{n} events: the middle reader had them within {p50}; the slowest took {most}, for event {epoch} of "
        "{namespace}.",
        len(timed),
    ).format(
        n=len(timed),
        p50=span_words(quantile(middles, 0.5)),
        most=span_words(slowest),
        epoch=worst.epoch,
        namespace=worst.namespace,
    )
    return Drawing(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        marks=tuple(
            Mark(round(LEFT + step * (place + 0.5), 1), _height(quantile(times, 0.5)), _height(times[-1]))
            for place, (_event, times) in enumerate(timed)
        ),
        ticks=tuple((_height(tick), _("{n} s").format(n=f"{tick:g}")) for tick in TICKS),
        lease_y=_height(lease_seconds),
        lease=_("lease, {time}").format(time=span_words(lease_seconds)),
        words=words,
    )


def _height(seconds: float) -> float:
    inside = min(max(seconds, LEAST), MOST)
    share = (math.log(inside) - math.log(LEAST)) / (math.log(MOST) - math.log(LEAST))
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def is_kept(created_at: datetime, now: datetime, kept_for: timedelta) -> bool:
    """Whether acknowledgements of an event are still kept."""
    return now - created_at < kept_for
