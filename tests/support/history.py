"""One history of what readers were served, and everything in it that must not be.

Pure. A history is a list of events in the order in which they happened, all of one namespace; times are seconds of one
clock. A version is *withdrawn* by ``revoked``, ``quarantined``, ``superseded``, ``expired`` or ``purged``, and comes
back by ``promoted`` or ``restored`` alone.

The rules:

- ``after-seen``: no client serves a version that was withdrawn at the newest epoch the client had seen, nor since put
  back. An answer marked as stale is no excuse.
- ``past-lease``: none is served later than one lease after the commit that withdrew it, unless marked as stale.
- ``past-deadline``: nothing is served past the deadline that the client's own lease came to, unless marked as stale.
- ``came-back``: no later commit finds a withdrawn version active, and no index gives one withdrawn at its epoch.
- ``uncovered``: every serve has an exposure row of its session, or lies within a grant of its client's and is of a
  session that was tied to that client.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Version = tuple[str, int]
GIVES = frozenset({"promoted", "restored"})
SLACK = 1e-6
"""Seconds within which two times are the same: databases keep microseconds."""


@dataclass(frozen=True)
class Committed:
    """A change of what readers may see. ``active``: what the store held as active right after it, if looked at."""

    at: float
    epoch: int
    changes: tuple[tuple[str, Version], ...]
    active: frozenset[Version] | None = None


@dataclass(frozen=True)
class Seen:
    """A client has learned that the store is at ``epoch``."""

    at: float
    client: str
    epoch: int


@dataclass(frozen=True)
class Renewed:
    """A client may now serve from its cache until ``deadline``."""

    at: float
    client: str
    deadline: float


@dataclass(frozen=True)
class Restarted:
    """A client's process came back with an empty head."""

    at: float
    client: str


@dataclass(frozen=True)
class Served:
    """A client gave a version to a session."""

    at: float
    client: str
    session: str
    version: Version
    marked_stale: bool = False


@dataclass(frozen=True)
class Indexed:
    """A web process answered with these versions from an index, labelled with an epoch."""

    at: float
    process: str
    epoch: int
    versions: frozenset[Version]


@dataclass(frozen=True)
class Exposed:
    """An exposure row."""

    at: float
    session: str
    version: Version


@dataclass(frozen=True)
class Granted:
    """A cache grant: the client may serve the version until then."""

    at: float
    client: str
    version: Version
    until: float


@dataclass(frozen=True)
class Declared:
    """A session was tied to a client."""

    at: float
    session: str
    client: str


Event = Committed | Seen | Renewed | Restarted | Served | Indexed | Exposed | Granted | Declared


@dataclass(frozen=True)
class Violation:
    """A rule that was broken, by which event, and why it is one."""

    rule: str
    event: Event
    why: str


def violations(history: Sequence[Event], lease_seconds: float) -> list[Violation]:
    """Every violation in a history, in order. Rows (exposures, grants, declarations) may stand anywhere in it."""
    checker = _Checker(history, lease_seconds)
    return [found for event in history for found in checker.take(event)]


class _Checker:
    def __init__(self, history: Sequence[Event], lease: float) -> None:
        self._lease = lease
        self._commits: list[Committed] = []
        self._seen: dict[str, int] = {}
        self._deadline: dict[str, float] = {}
        self._exposed: dict[tuple[str, Version], list[float]] = {}
        self._granted: dict[tuple[str, Version], list[Granted]] = {}
        self._tied: dict[tuple[str, str], float] = {}
        for row in history:
            self._note(row)

    def _note(self, row: Event) -> None:
        match row:
            case Exposed():
                self._exposed.setdefault((row.session, row.version), []).append(row.at)
            case Granted():
                self._granted.setdefault((row.client, row.version), []).append(row)
            case Declared():
                tie = (row.session, row.client)
                self._tied[tie] = min(row.at, self._tied.get(tie, row.at))

    def take(self, event: Event) -> Iterator[Violation]:
        match event:
            case Committed():
                self._commits.append(event)
                yield from self._came_back_by_a_write(event)
            case Seen():
                self._seen[event.client] = max(event.epoch, self._seen.get(event.client, event.epoch))
            case Renewed():
                self._deadline[event.client] = event.deadline
            case Restarted():
                self._seen.pop(event.client, None)
                self._deadline.pop(event.client, None)
            case Indexed():
                yield from self._came_back_by_an_index(event)
            case Served():
                yield from self._served(event)

    def _served(self, serve: Served) -> Iterator[Violation]:
        seen = self._seen.get(serve.client)
        if seen is None:
            yield Violation("after-seen", serve, "the client served before it had seen any epoch")
        elif not self._held_since(serve.version, epoch=seen):
            yield Violation(
                "after-seen", serve, f"withdrawn at epoch {seen}, which the client had seen, and not put back"
            )
        if not serve.marked_stale:
            yield from self._in_time(serve)
        if not self._covered(serve):
            yield Violation("uncovered", serve, "no exposure of the session, and no grant that covers it")

    def _in_time(self, serve: Served) -> Iterator[Violation]:
        if not self._held_since(serve.version, at=serve.at - self._lease):
            why = f"withdrawn more than {self._lease} s before, and not put back"
            yield Violation("past-lease", serve, why)
        deadline = self._deadline.get(serve.client)
        if deadline is None or serve.at > deadline + SLACK:
            yield Violation("past-deadline", serve, f"the client's lease ended at {deadline}")

    def _covered(self, serve: Served) -> bool:
        rows = self._exposed.get((serve.session, serve.version), ())
        if any(at <= serve.at + SLACK for at in rows):
            return True
        tied = self._tied.get((serve.session, serve.client))
        if tied is None or tied > serve.at + SLACK:
            return False
        grants = self._granted.get((serve.client, serve.version), ())
        return any(one.at - SLACK <= serve.at <= one.until + SLACK for one in grants)

    def _came_back_by_a_write(self, commit: Committed) -> Iterator[Violation]:
        for version in sorted(commit.active or ()):
            if not self._held_since(version, epoch=commit.epoch):
                yield Violation("came-back", commit, f"{version} is active again, and no event put it back")

    def _came_back_by_an_index(self, index: Indexed) -> Iterator[Violation]:
        for version in sorted(index.versions):
            if not self._held_since(version, epoch=index.epoch):
                yield Violation("came-back", index, f"{version} was withdrawn at the epoch of the index")

    def _held_since(self, version: Version, *, epoch: int | None = None, at: float | None = None) -> bool:
        """Whether a version was to be had at some moment from that epoch, or that time, until now."""
        held = False
        for commit in self._commits:
            is_before = commit.epoch <= epoch if epoch is not None else commit.at < (at or 0.0) - SLACK
            now = _after(commit, version, held)
            held = now if is_before else held or now
        return held


def _after(commit: Committed, version: Version, held: bool) -> bool:
    for kind, changed in commit.changes:
        if changed == version:
            held = kind in GIVES
    return held
