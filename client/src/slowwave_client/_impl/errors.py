"""What can go wrong, by name."""

from __future__ import annotations


class SlowwaveError(Exception):
    """Base of everything this package raises.

    ``status`` is the HTTP status behind it, if there was an answer; ``what_now`` is advice from the server;
    ``retry_after`` is in how many seconds it wants to be asked again, if it said so.
    """

    def __init__(
        self, message: str, *, status: int | None = None, what_now: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.what_now = what_now
        self.retry_after = retry_after


class MemoryUnavailable(SlowwaveError):
    """The server gave no usable answer, and the cache may not stand in for it."""


class MemoryStale(MemoryUnavailable):
    """The lease ran out: cached rules may have been revoked since, so they are not served.

    ``seconds`` is how long ago the store was last known to be as cached; None if it never was.
    ``last_error`` is the last reason why the lease could not be renewed.
    """

    def __init__(self, message: str, *, seconds: float | None = None, last_error: str | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds
        self.last_error = last_error


class AccessRefused(SlowwaveError):
    """The token is unknown, expired, or may not do this here."""


class ForeignSession(AccessRefused):
    """The session, or this client's name, belongs to another token: read under a name of your own."""


class NotFound(SlowwaveError):
    """No such namespace, rule or version."""


class VersionGone(SlowwaveError):
    """The version is no longer active; ``state`` and ``reason`` say what became of it."""

    def __init__(self, message: str, *, state: str, reason: str, what_now: str = "") -> None:
        super().__init__(message, status=410, what_now=what_now)
        self.state = state
        self.reason = reason


class BadRequest(SlowwaveError):
    """The server refused the request as malformed."""


class WaitTimeout(SlowwaveError, TimeoutError):
    """What was waited for did not happen in time."""


class ClientClosed(SlowwaveError):
    """The client was closed before this call."""


class TransportFailed(Exception):
    """Internal: a driver could not complete an effect."""
