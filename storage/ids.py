"""Identities: content hashes where identity is content, UUIDv7 elsewhere, keyed hashes where text must not leak."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time
import uuid
from typing import Any


def uuid7(now_ms: int | None = None, random: bytes | None = None) -> str:
    """A UUID version 7 (RFC 9562): time-ordered, so that new rows land at the end of an index.

    Args:
        now_ms: Unix time in milliseconds; the wall clock if absent.
        random: ten random bytes; ``os.urandom`` if absent.
    """
    stamp = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    value = (stamp & (2**48 - 1)) << 80 | int.from_bytes(random or os.urandom(10), "big")
    value = value & ~(0xF << 76) | 7 << 76
    value = value & ~(0x3 << 62) | 2 << 62
    return str(uuid.UUID(int=value))


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
