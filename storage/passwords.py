"""Password hashes: argon2id at the cost that OWASP's password storage cheat sheet asks for (19 MiB, 2 passes)."""

from __future__ import annotations

from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_AT_ONCE = BoundedSemaphore(2)
"""A burst of logins waits its turn instead of eating the machine."""
_NOBODY = _HASHER.hash("no account has this password")


def hash_password(password: str) -> str:
    """The encoded argon2id hash of ``password``, salt and cost inside."""
    with _AT_ONCE:
        return _HASHER.hash(password)


def verify_password(stored: str | None, password: str) -> bool:
    """Whether ``password`` is the one that ``stored`` was made from.

    ``None`` (no such account, or one without a password) takes as long as a real check and is never right.
    """
    with _AT_ONCE:
        try:
            return _HASHER.verify(stored or _NOBODY, password) and stored is not None
        except (VerificationError, InvalidHashError):
            return False
