"""Figures of one web process, in a registry of its own so that two apps in one process do not collide."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)


class Metrics:
    """Everything counted here. No label holds a namespace, a name or a token: anyone on the host may read this."""

    def __init__(self) -> None:
        self.registry = own = CollectorRegistry()
        self.requests = Histogram(
            "slowwave_read_request_seconds",
            "Requests by route and status.",
            ["route", "status"],
            buckets=SECONDS,
            registry=own,
        )
        self.served = Counter("slowwave_read_rules_served", "Versions served, each with its exposure.", registry=own)
        self.lost_races = Counter(
            "slowwave_read_serves_refused", "Versions that stopped being active before their exposure.", registry=own
        )
        self.misses = Counter("slowwave_read_search_misses", "Searches that found nothing.", registry=own)
        self.subscribers = Gauge("slowwave_events_subscribers", "Open event streams.", registry=own)
        self.sent = Counter("slowwave_events_fanned_out", "Events put before open streams.", registry=own)
        self.dropped = Counter("slowwave_events_dropped_consumers", "Streams ended as too slow.", registry=own)
        self.lag = Histogram(
            "slowwave_events_lag_seconds", "From a change to its fan-out.", buckets=SECONDS, registry=own
        )
        self.staleness = Gauge("slowwave_events_staleness_seconds", "Since the outbox was last read.", registry=own)
        self.acks = Counter("slowwave_events_acks", "Acknowledgements taken.", registry=own)
        self.acked = Histogram(
            "slowwave_events_ack_seconds",
            "From an event to a consumer's word that it applied it, which comes up to a second after it did.",
            buckets=(*SECONDS, 10, 30, 60),
            registry=own,
        )


class Measured:
    """Times every request by the route it matched."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. A stream is timed until its first bytes."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()

        async def timed(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", "unmatched")
                self.metrics.requests.labels(route, message["status"]).observe(time.perf_counter() - started)
            await send(message)

        await self.app(scope, receive, timed)
