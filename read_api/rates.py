"""How often one token, or one address without a good one, may ask; and how many streams a token may hold open."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from read_api.bucket import Buckets
from read_api.errors import TooMany
from storage.settings import Settings

GUESSES_PER_SECOND = 5
GUESSES_AT_ONCE = 50
"""Refused tokens of one address: enough for a fleet whose token was just revoked, and far too few to guess one."""


class Rates:
    """One process's own count: what several of them let through is the sum. Thread-safe; ``clock`` gives seconds."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        rate = settings.rate_per_second
        self._tokens = Buckets(rate, max(1.0, 2 * rate))
        # 0 turns off all of it
        self._guesses = Buckets(GUESSES_PER_SECOND if rate else 0, GUESSES_AT_ONCE)
        self._clock = clock
        self._lock = threading.Lock()
        self._most = settings.streams_per_token
        self._open: dict[str, int] = {}

    def admit(self, digest: str, address: str) -> bool:
        """Before a token is looked up: whether it was good lately, by its hash, and then counted.

        Raises:
            TooMany: the token asks too often; or it is not known to be good, and its address sent too many bad ones.
        """
        now = self._clock()
        with self._lock:
            is_known = digest in self._tokens
            wait = self._tokens.take(digest, now) if is_known else self._guesses.wait(address, now)
        if wait > 0:
            raise _too_many(is_known, wait)
        return is_known

    def good(self, digest: str) -> None:
        """A token that was not known turned out to be good: it is counted from now on."""
        with self._lock:
            self._tokens.take(digest, self._clock())

    def bad(self, address: str) -> None:
        """An address sent no token, or none that is good.

        Raises:
            TooMany: it did so too often.
        """
        with self._lock:
            wait = self._guesses.take(address, self._clock())
        if wait > 0:
            raise _too_many(False, wait)

    def check_room(self, token_id: str) -> None:
        """Whether one more stream may be opened.

        Raises:
            TooMany: this token has as many as it may.
        """
        with self._lock:
            is_full = self._open.get(token_id, 0) >= self._most
        if is_full:
            raise TooMany(f"this token holds {self._most} event streams open", "close some, or use another token", 5)

    def opened(self, token_id: str) -> bool:
        """A stream is open; False, and it is not counted, if others were quicker to take the last place."""
        with self._lock:
            if self._open.get(token_id, 0) >= self._most:
                return False
            self._open[token_id] = self._open.get(token_id, 0) + 1
            return True

    def closed(self, token_id: str) -> None:
        """A stream is over."""
        with self._lock:
            self._open[token_id] -= 1
            if self._open[token_id] <= 0:
                del self._open[token_id]


def _too_many(is_known: bool, wait: float) -> TooMany:
    what = "this token asks too often" if is_known else "this address sent too many requests without a good token"
    return TooMany(what, "wait as long as Retry-After says, then send it again", math.ceil(wait))
