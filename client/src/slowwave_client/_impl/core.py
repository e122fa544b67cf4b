"""What a client knows, and what it may therefore serve. No input or output: every time is an argument's clock.

Two facts decide. The **epoch**: the newest state of the store this client has seen; nothing older may enter the cache.
The **deadline**: until when the store is known to have been as cached, measured from when the request that learned it
was *sent*; nothing is served after it. Events only ever remove; a gap in them removes everything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from slowwave_client._impl.errors import MemoryStale, MemoryUnavailable, SlowwaveError
from slowwave_client._impl.journal import Journal
from slowwave_client._impl.models import RuleSet

OnStale = Literal["raise", "serve_marked"]
Key = tuple[Any, ...]
REMOVALS = frozenset({"revoked", "quarantined", "expired", "purged"})
NEVER = float("-inf")


@dataclass(frozen=True)
class Ticket:
    """When a request was sent and what was known then."""

    at: float
    epoch: int | None


@dataclass
class Entry:
    """One cached answer and the end of its grant."""

    answer: RuleSet
    granted_until: float


class Core:
    """State of one client. Threads may share it.

    Args:
        lease: longest time in seconds to serve unheard; the server's own lease may shorten it, None takes that.
        clock: seconds, monotonic, running through suspend.
    """

    def __init__(
        self,
        *,
        namespace: str,
        instance: str,
        lease: float | None = None,
        on_stale: OnStale = "raise",
        clock: Callable[[], float],
        max_entries: int = 2048,
    ) -> None:
        if on_stale not in ("raise", "serve_marked"):
            raise ValueError(f"on_stale={on_stale!r}: use 'raise' or 'serve_marked'")
        if lease is not None and not lease > 0:
            raise ValueError(f"lease={lease!r}: use a positive number of seconds, or None for the server's")
        self.namespace = namespace
        self.instance = instance
        self.on_stale = on_stale
        self.clock = clock
        self.own_lease = lease
        self.epoch: int | None = None
        self.deadline = NEVER
        self.lease_seconds = lease or 15.0
        self.connected = False
        self.last_error: str | None = None
        self.acked: int | None = None
        self.journal = Journal()
        self._known_at = NEVER
        self._entries: dict[Key, Entry] = {}
        self._max_entries = max_entries
        self._lock = threading.RLock()
        self._watchers: list[Callable[[], None]] = []

    # -- reading

    def hit(self, key: Key, session_id: str) -> RuleSet | None:
        """The cached answer, if it may be served to this session now; the read is journalled."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = self.clock()
        if now >= self.deadline or now >= entry.granted_until or not self.journal.note(session_id, entry.answer):
            return None
        return entry.answer

    def last_resort(self, key: Key, session_id: str, failure: SlowwaveError) -> RuleSet:
        """What to do when the server gave no usable answer: a marked old answer if the caller insists, else raise.

        Marked or not, the grant must hold, and the session be one that the server knows.

        Raises:
            MemoryStale: the lease ran out.
            MemoryUnavailable: the lease holds, but nothing is cached for this request and session.
        """
        with self._lock:
            stale = self.stale()
            entry = self._entries.get(key)
            insists = self.on_stale == "serve_marked" and entry is not None and self.clock() < entry.granted_until
            # A session that the server never heard of reads nothing: no row anywhere would say that it did.
            if insists and entry is not None and self.journal.note(session_id, entry.answer):
                return replace(entry.answer, stale=True, stale_reason=str(stale or failure))
            raise (stale or failure) from failure

    def stale(self) -> MemoryStale | None:
        """Why nothing cached may be served now; None while the lease holds or before the first contact."""
        now = self.clock()
        if self._known_at == NEVER or now < self.deadline:
            return None
        ago = now - self._known_at
        why = f"; last error: {self.last_error}" if self.last_error else ""
        message = (
            f"rules of {self.namespace!r} are not served: the store was last heard from {ago:.1f} s ago and the lease "
            f"ended {now - self.deadline:.1f} s ago, so any of them may have been revoked since{why}. "
            "Go on without memory, or wait for the server to come back"
        )
        return MemoryStale(message, seconds=ago, last_error=self.last_error)

    # -- learning

    def ticket(self) -> Ticket:
        """Take one right before a request is sent."""
        with self._lock:
            return Ticket(self.clock(), self.epoch)

    def learn(self, ticket: Ticket, epoch: int, lease_seconds: float, age_seconds: float) -> bool:
        """The server read ``epoch`` in the database ``age_seconds`` before it answered; renews the lease.

        False, and nothing renewed, when the answer is older than what was known before the question: the server lags,
        or its database went back in time.
        """
        with self._lock:
            if ticket.epoch is not None and epoch < ticket.epoch:
                self.last_error = f"the server answered from epoch {epoch}, older than {ticket.epoch}, seen before"
                return False
            self._advance(epoch)
            lease = min(lease_seconds, self.own_lease or lease_seconds)
            self.lease_seconds = lease
            self._known_at = max(self._known_at, ticket.at - age_seconds)
            self.deadline = max(self.deadline, ticket.at + lease - age_seconds)
            self.last_error = None
        self._tell()
        return True

    def store(self, key: Key, session_id: str, ticket: Ticket, answer: RuleSet, grant_seconds: float) -> bool:
        """Keep an answer, unless something newer was seen while it was under way (False: ask again).

        One that was under way for longer than the lease is as old as a cached one would be, and is refused too.
        """
        with self._lock:
            if self.epoch is not None and answer.epoch < self.epoch:
                return False
            if self.clock() >= self.deadline:
                return False
            while len(self._entries) >= self._max_entries:
                self._entries.pop(next(iter(self._entries)))
            self._entries[key] = Entry(answer, ticket.at + grant_seconds)
            self.journal.declare(session_id)
            self.journal.note(session_id, answer)
            return True

    def apply(self, epoch: int, changes: Iterable[Mapping[str, Any]]) -> None:
        """One event. The next epoch drops what it names; a later one means a gap and drops everything."""
        with self._lock:
            if self.epoch is not None and epoch <= self.epoch:
                return
            changes = list(changes)
            follows = self.epoch is not None and epoch == self.epoch + 1
            if follows and all(change.get("event") in REMOVALS for change in changes):
                self._drop({str(change.get("rule")) for change in changes})
                self.epoch = epoch
            else:
                self._advance(epoch)
        self._tell()

    def refresh(self, epoch: int) -> None:
        """The stream cannot tell what happened up to ``epoch``: forget everything cached."""
        with self._lock:
            self._entries.clear()
            self.epoch = max(epoch, self.epoch if self.epoch is not None else epoch)
        self._tell()

    def see(self, epoch: int) -> None:
        """The stream says the store is at ``epoch``; missed events in between drop everything."""
        with self._lock:
            self._advance(epoch)
        self._tell()

    def stream(self, connected: bool, error: str | None = None) -> None:
        """The event stream came up or went down."""
        self.connected = connected
        if error is not None:
            self.last_error = error
        self._tell()

    def failed(self, error: SlowwaveError) -> None:
        """A request got no usable answer; the lease runs on."""
        self.last_error = str(error)

    def lost_access(self, error: SlowwaveError) -> None:
        """The server refuses this token: stop serving at once."""
        with self._lock:
            self._entries.clear()
            self.deadline = min(self.deadline, self.clock())
            self.last_error = str(error)
        self._tell()

    # -- waiting

    def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back after every change of state; returns what ends the watch."""
        with self._lock:
            self._watchers.append(callback)

        def unwatch() -> None:
            with self._lock:
                self._watchers.remove(callback)

        return unwatch

    def unavailable(self, why: str) -> MemoryUnavailable:
        """An error naming the namespace."""
        return MemoryUnavailable(f"rules of {self.namespace!r} cannot be had: {why}")

    def _tell(self) -> None:
        with self._lock:
            watchers = list(self._watchers)
        for callback in watchers:
            callback()

    def _advance(self, epoch: int) -> None:
        """Anything cached before a newer epoch may have been changed by it."""
        if self.epoch is None or epoch > self.epoch:
            self._entries.clear()
            self.epoch = epoch

    def _drop(self, rules: set[str]) -> None:
        gone = [key for key, entry in self._entries.items() if any(rule.id in rules for rule in entry.answer.rules)]
        for key in gone:
            del self._entries[key]
