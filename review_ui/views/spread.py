"""How an event spread: which readers have it, after how long, and who stops serving when. Pure.

A reader says how far it is when it renews its lease, three times a lease: what is measured is until it said so, so the
time is at most a third of a lease more than it took. One that comes back after its lease had stopped serving meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from storage.queries.pages_events import Behind, Span

State = Literal["told", "late", "waiting", "away"]


@dataclass(frozen=True)
class Told:
    """One reader and one event. ``seconds`` until it said that it had applied it; None where it has not.

    ``until``: when it stops serving what changed, at the latest; None where it has the event, or was not connected.
    """

    consumer: str
    state: State
    seconds: float | None = None
    at: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class Spread:
    """All readers of one event: told within a lease, told later, not told yet, and not connected at the time."""

    readers: tuple[Told, ...]

    def of(self, *states: State) -> list[Told]:
        """The readers in these states."""
        return [one for one in self.readers if one.state in states]

    @property
    def reached(self) -> int:
        """How many have it."""
        return len(self.of("told", "late"))

    @property
    def concerned(self) -> int:
        """How many had it to get: whoever has it, and whoever might have served what changed."""
        return len(self.of("told", "late", "waiting"))

    @property
    def times(self) -> list[float]:
        """Seconds until each of those that were told within their lease, in order."""
        return sorted(one.seconds for one in self.of("told") if one.seconds is not None)

    @property
    def slowest(self) -> Told | None:
        """Whoever took longest of those that have it."""
        return max(self.of("told", "late"), key=lambda one: one.seconds or 0.0, default=None)


def spread_of(
    epoch: int, created_at: datetime, spans: Sequence[Span], behind: Sequence[Behind], lease_seconds: float
) -> Spread:
    """What is known of one event from its namespace's steps and laggards, which may be of other events too.

    Readers that were not told come first, then the slowest; those that were not connected last.
    """
    lease = timedelta(seconds=lease_seconds)
    told = [
        Told(one.consumer, "told" if one.at - created_at <= lease else "late", _seconds(created_at, one.at), one.at)
        for one in spans
        if one.after_epoch < epoch <= one.epoch
    ]
    rest = [_behind(one, created_at, lease) for one in behind if one.epoch < epoch]
    order = {"waiting": 0, "late": 1, "told": 1, "away": 2}
    return Spread(
        tuple(sorted([*told, *rest], key=lambda one: (order[one.state], -(one.seconds or 0.0), one.consumer)))
    )


def _behind(one: Behind, created_at: datetime, lease: timedelta) -> Told:
    """A lease runs from the last look at the epoch, which was before the event: it ends one lease after it at most."""
    if one.granted_until is None or one.granted_until <= created_at:
        return Told(one.consumer, "away", at=one.at)
    return Told(one.consumer, "waiting", at=one.at, until=min(one.granted_until, created_at + lease))


def _seconds(since: datetime, at: datetime) -> float:
    """Two machines' clocks: an answer never comes before its question."""
    return max((at - since).total_seconds(), 0.0)


def quantile(times: Sequence[float], part: float) -> float:
    """The value that this part of ``times``, which are in order, does not exceed (nearest rank)."""
    return times[max(math.ceil(part * len(times)) - 1, 0)]
