"""Which session read which version: what a session reports at its end, so that grants need not be guessed from."""

from __future__ import annotations

import threading

from slowwave_client._impl.models import RuleSet

Reads = dict[tuple[str, int], int]
MAX_SESSIONS = 4096


class Journal:
    """Counts of reads by session. Only sessions that the server knows of may read from the cache.

    The oldest session is forgotten past ``MAX_SESSIONS``: it must be declared again, and the server keeps counting
    its grants, so forgetting errs on the side of exposure.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, Reads] = {}
        self._lock = threading.Lock()

    def declare(self, session_id: str) -> None:
        """The server has tied this session to this client instance."""
        with self._lock:
            if session_id in self._sessions:
                return
            while len(self._sessions) >= MAX_SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
            self._sessions[session_id] = {}

    def note(self, session_id: str, answer: RuleSet) -> bool:
        """Count a read; False if the session was never declared."""
        with self._lock:
            reads = self._sessions.get(session_id)
            if reads is None:
                return False
            for rule in answer.rules:
                key = (rule.id, rule.version)
                reads[key] = reads.get(key, 0) + 1
            return True

    def close(self, session_id: str) -> Reads | None:
        """Forget a session; what it read, or None if it was never declared."""
        with self._lock:
            return self._sessions.pop(session_id, None)

    def reads(self, session_id: str) -> Reads:
        """A copy of what a session read so far."""
        with self._lock:
            return dict(self._sessions.get(session_id, {}))
