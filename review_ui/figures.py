"""The store's figures in Prometheus' text format, made at most every ten seconds.

The database is what is true of all workers at once, however many there are and whichever were restarted: so no worker
is scraped. No label holds a name or a namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock
from time import monotonic

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from storage.engine import Database
from storage.queries.figures import StoreFigures, store_figures
from tasks.revoke.drill import decisive

KEPT_SECONDS = 10.0
Values = Mapping[tuple[str], float] | Mapping[tuple[str, str], float]


def families(found: StoreFigures) -> Iterator[Metric]:
    """Every figure as a gauge; each is there even where nothing has been counted."""
    yield _by("slowwave_nights", "Nights by state, of all time.", ["state"], _single(found.nights))
    yield _one(
        "slowwave_night_seconds", "Longest night that began in the last 24 hours and ended.", found.night_seconds
    )
    yield _by("slowwave_night_stage_seconds", "Longest time a stage took in them.", ["stage"], _single(found.stages))
    yield _by("slowwave_steps", "Steps of the ledger that are open, by state.", ["state"], _single(found.steps))
    yield _one("slowwave_steps_parked", "Steps given up, of runs that began in the last 24 hours.", found.parked)
    yield _one("slowwave_steps_retried", "Steps of those runs that took more than one attempt.", found.retried)
    yield _one(
        "slowwave_ledger_lag_seconds", "How long the oldest pending step has waited.", found.ledger.oldest_seconds
    )
    counts = {(tier,): float(waiting.count) for tier, waiting in found.queue.items()}
    ages = {(tier,): waiting.oldest_seconds for tier, waiting in found.queue.items()}
    yield _by("slowwave_queue_candidates", "Candidates that wait for a decision, by tier.", ["tier"], counts)
    yield _by("slowwave_queue_oldest_seconds", "How long the oldest of them has waited.", ["tier"], ages)
    yield _one("slowwave_outbox_unsent", "Events that no stream has yet.", found.outbox.count)
    yield _one("slowwave_outbox_oldest_seconds", "How long the oldest of them has waited.", found.outbox.oldest_seconds)
    yield _one("slowwave_dead_letters", "Refused records that nobody resolved.", found.dead_letters)
    yield _one("slowwave_repairs_open", "Repairs after revocations that are not done.", found.repairs_open)
    yield _one(
        "slowwave_repair_seconds", "Longest repair that began in the last 24 hours and ended.", found.repair_seconds
    )
    yield from _of_drills(found)
    yield _by("slowwave_heartbeat_age_seconds", "Since a part last made progress.", ["part"], _single(found.heartbeats))


def _of_drills(found: StoreFigures) -> Iterator[Metric]:
    labels = ["mode", "condition"]
    rows = {(row.mode, row.condition): row for row in found.drills}
    measured = {key: decisive(row.mode, row.condition, row.summary) for key, row in rows.items()}
    seconds = {key: value for key, value in measured.items() if value is not None}
    limits = {key: row.limit_seconds for key, row in rows.items()}
    failed = {key: float(not row.passed) for key, row in rows.items()}
    ages = {key: max(0.0, (found.at - row.at).total_seconds()) for key, row in rows.items()}
    yield _by("slowwave_drill_seconds", "What the newest drill measured against its limit.", labels, seconds)
    yield _by("slowwave_drill_limit_seconds", "The limit of the newest drill.", labels, limits)
    yield _by("slowwave_drill_failed", "1 where the newest drill failed.", labels, failed)
    yield _by("slowwave_drill_age_seconds", "Since the newest drill.", labels, ages)


def _one(name: str, words: str, value: float) -> Metric:
    return GaugeMetricFamily(name, words, value=value)


def _by(name: str, words: str, labels: list[str], values: Values) -> Metric:
    family = GaugeMetricFamily(name, words, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(list(key), value)
    return family


def _single(values: Mapping[str, float]) -> Values:
    return {(key,): value for key, value in values.items()}


class _Collected(Collector):
    def __init__(self, found: StoreFigures) -> None:
        self._found = found

    def collect(self) -> Iterator[Metric]:
        """As the registry calls it."""
        return families(self._found)


def rendered(found: StoreFigures) -> bytes:
    """The text that Prometheus reads."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected(found))
    return generate_latest(registry)


class Figures:
    """The text of one process, remembered for ``KEPT_SECONDS``: many scrapers cost the database no more than one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._made: tuple[float, bytes] | None = None

    def text(self) -> bytes:
        """The newest text. One caller makes it; others that come meanwhile wait for it."""
        with self._lock:
            if self._made is None or monotonic() - self._made[0] >= KEPT_SECONDS:
                with self._database.read() as session:
                    found = store_figures(session)
                self._made = (monotonic(), rendered(found))
            return self._made[1]
