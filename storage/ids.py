"""Identities: content hashes where identity is content, UUIDv7 elsewhere, keyed hashes where text must not leak."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
import time
import uuid
from typing import Any

_TICKS_PER_MS = 4096
_tick_lock = threading.Lock()
_last_tick = 0


def uuid7(tick: int | None = None, random: bytes | None = None) -> str:
    """A UUID version 7 (RFC 9562, method 3): time-ordered, so that new rows land at the end of an index.

    Ids made one after the other in one process sort in that order, within a millisecond too.

    Args:
        tick: Unix time in 1/4096 milliseconds; a clock that never repeats if absent.
        random: eight random bytes; ``os.urandom`` if absent.
    """
    ms, fraction = divmod(_next_tick() if tick is None else tick, _TICKS_PER_MS)
    value = (ms & (2**48 - 1)) << 80 | 7 << 76 | fraction << 64 | int.from_bytes(random or os.urandom(8), "big")
    value = value & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=value))


def uuid7_after(made: str | None) -> str:
    """A UUID version 7 that sorts after one made before, though the clock was set back in between.

    What is no UUID version 7 has no place in time, and is passed over.
    """
    fresh = uuid7()
    if made is None or fresh > made:
        return fresh
    try:
        earlier = uuid.UUID(made)
    except ValueError:
        return fresh
    if earlier.version != 7:
        return fresh
    return uuid7((earlier.int >> 80) * _TICKS_PER_MS + (earlier.int >> 64) % _TICKS_PER_MS + 1)


def _next_tick() -> int:
    global _last_tick
    with _tick_lock:
        _last_tick = max(time.time_ns() * _TICKS_PER_MS // 1_000_000, _last_tick + 1)
        return _last_tick


def canonical_json(value: Any) -> bytes:
    """Compact JSON with sorted keys: equal values give equal bytes.

    Lone surrogates, which hostile records hold, are escaped rather than refused.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str).encode("ascii")


def content_hash(value: Any, length: int = 64) -> str:
    """SHA-256 of the canonical JSON of ``value``, as ``length`` hex digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()[:length]


def keyed_hash(key: bytes, *parts: str | bytes, length: int = 64) -> str:
    """HMAC-SHA-256 over length-prefixed parts: equal text in two namespaces gives unrelated digests."""
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        mac.update(len(data).to_bytes(8, "big"))
        mac.update(data)
    return mac.hexdigest()[:length]


def token_hash(token: str) -> str:
    """How a bearer token or session id is stored: tokens carry 256 bits, so a plain SHA-256 is enough."""
    return hashlib.sha256(token.encode()).hexdigest()
