"""What wakes the notifier: a hint from Redis, or the clock. Never the truth."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Protocol

import redis

CHANNEL = "slowwave:wake"
WITH_REDIS_SECONDS = 1.0
WITHOUT_REDIS_SECONDS = 0.5
RECONNECT_SECONDS = 2.0


class Wake(Protocol):
    """Waits for a reason to look at the outbox."""

    def wait(self, stop: threading.Event) -> None:
        """Return on a hint, after a moment, or when ``stop`` is set."""

    def close(self) -> None:
        """Let go of connections."""


class ClockWake:
    """No Redis: look often."""

    def wait(self, stop: threading.Event) -> None:
        """Half a second."""
        stop.wait(WITHOUT_REDIS_SECONDS)

    def close(self) -> None:
        """Nothing to let go of."""


class RedisWake:
    """Listens on the wake channel; while Redis is away it waits by the clock and tries again every two seconds."""

    def __init__(self, url: str) -> None:
        # The socket's timeout must be longer than any wait for a message, or waiting looks like a failure.
        self._client = redis.Redis.from_url(
            url, socket_timeout=WITH_REDIS_SECONDS * 5, socket_connect_timeout=0.5, health_check_interval=15, retry=None
        )
        self._channel: redis.client.PubSub | None = None
        self._retry_at = 0.0

    def wait(self, stop: threading.Event) -> None:
        """On a hint at once; else after a second, or half a second without Redis."""
        if not self._connected():
            stop.wait(WITHOUT_REDIS_SECONDS)
            return
        try:
            self._listen()
        except (redis.RedisError, OSError, ValueError):
            self._drop()
            stop.wait(WITHOUT_REDIS_SECONDS)

    def close(self) -> None:
        """Close the connection."""
        self._drop()
        with contextlib.suppress(redis.RedisError, OSError):
            self._client.close()

    def _listen(self) -> None:
        assert self._channel is not None
        end = time.monotonic() + WITH_REDIS_SECONDS
        while (left := end - time.monotonic()) > 0:
            if self._channel.get_message(ignore_subscribe_messages=True, timeout=left) is not None:
                break
        # one look at the outbox answers every hint that waits
        while self._channel.get_message(ignore_subscribe_messages=True, timeout=0) is not None:
            pass

    def _connected(self) -> bool:
        if self._channel is not None:
            return True
        if time.monotonic() < self._retry_at:
            return False
        try:
            channel = self._client.pubsub()
            channel.subscribe(CHANNEL)
        except (redis.RedisError, OSError):
            self._retry_at = time.monotonic() + RECONNECT_SECONDS
            return False
        self._channel = channel
        return True

    def _drop(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            with contextlib.suppress(redis.RedisError, OSError):
                channel.close()
