"""Looks at everything an installation needs, and says of each what it is and what to do."""

from __future__ import annotations

import shutil
import socket
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import redis
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlmodel import Session

from storage import audit, migrate
from storage.engine import Database, database_now
from storage.queries import runs as queries
from storage.queries.relay import events_pending_count
from storage.settings import Settings
from tasks.draft.model.chat import ModelUnavailable, Question
from worker.models import model_of
from worker.relay import connect
from worker.schedule import last_due, night_of
from worker.supervisor import answers

Verdict = Literal["pass", "warn", "fail"]
SERVICES = ("worker", "beat", "relay", "review", "read")
LEAST_FREE_BYTES = 500 * 2**20
OVERDUE = timedelta(hours=1)
MODEL_SECONDS = 20.0


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    verdict: Verdict
    detail: str
    fix: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def examine(settings: Settings) -> list[Check]:
    """Every check, in the order in which one needs the other."""
    checks = [_home(settings), _disk(settings)]
    try:
        database = Database(settings.resolved_database_url)
    except (ImportError, OSError, ArgumentError) as error:
        return [*checks, Check("database", "fail", str(error), "set SLOWWAVE_DATABASE_URL right")]
    try:
        schema = _schema(database, settings)
        checks += [schema, _broker(settings)]
        if schema.verdict == "pass":
            checks += _stored(settings, database)
    finally:
        database.dispose()
    return [*checks, *_model(settings)]


def _home(settings: Settings) -> Check:
    try:
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        settings.secret()
    except OSError as error:
        fix = "make it writable, or set SLOWWAVE_HOME"
        return Check("home", "fail", f"{settings.home} cannot be written: {error.strerror}", fix)
    if settings.secret_key is None and (settings.home / "secret.key").stat().st_mode & 0o077:
        fix = f"chmod 600 {settings.home / 'secret.key'}"
        return Check("home", "fail", f"others may read {settings.home / 'secret.key'}", fix)
    return Check("home", "pass", f"{settings.home} is writable, its secret key is private")


def _disk(settings: Settings) -> Check:
    free = shutil.disk_usage(settings.home if settings.home.exists() else ".").free
    if free < LEAST_FREE_BYTES:
        return Check("disk", "fail", f"{free // 2**20} MB are free", "make room: a full disk stops every write")
    return Check("disk", "pass", f"{free // 2**30} GB are free")


def _schema(database: Database, settings: Settings) -> Check:
    try:
        current, head = migrate.current(database), migrate.head(database)
    except DBAPIError as error:
        reason = str(error.orig).strip().splitlines()[0]
        return Check("database", "fail", reason, "start it, or set SLOWWAVE_DATABASE_URL right")
    if current == head:
        return Check("database", "pass", f"{database.dialect}, schema {current}")
    if settings.database_url is None:
        return Check("database", "warn", f"schema {current or 'empty'}, needs {head}", "any command upgrades it")
    return Check("database", "fail", f"schema {current or 'empty'}, needs {head}", "slowwave db upgrade")


def _broker(settings: Settings) -> Check:
    try:
        with connect(settings.resolved_redis_url) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        if settings.redis_url is None:
            return Check("broker", "warn", "the bundled server is not running", "start it with: slowwave up")
        return Check("broker", "fail", f"{type(error).__name__}: {error}", "start it, or set SLOWWAVE_REDIS_URL right")
    return Check("broker", "pass", "it answers")


def _model(settings: Settings) -> list[Check]:
    """Whether the model answers, where one is set up: one short question, which costs some tokens."""
    model = model_of(settings)
    if model is None:
        return []
    empty = {"type": "object", "properties": {}}
    try:
        said = model.ask(Question("Answer with {}.", "Answer with {}.", empty, 0.0, 1, 16), MODEL_SECONDS)
    except ModelUnavailable as error:
        fix = "look at SLOWWAVE_MODEL_URL, _NAME, _KEY and _FORMAT; without it the statistical drafter writes"
        return [Check("model", "fail" if settings.drafter == "model" else "warn", f"{model.name}: {error}", fix)]
    return [Check("model", "pass", f"{model.name} answers, in {said.seconds:.1f} s")]


def _stored(settings: Settings, database: Database) -> list[Check]:
    services = [is_healthy(settings, database, service) for service in ("worker", "beat", "relay")]
    if settings.redis_url is None:
        # Local and not up is a state, no fault.
        services = [_softer(check) for check in services]
    with database.read() as session:
        found = [_outbox(session), _ledger(session), _audit(session)]
        return [*services, *found, *_nights(session, database_now(session))]


def _softer(check: Check) -> Check:
    if check.verdict == "pass":
        return check
    return Check(check.name, "warn", check.detail, "start it with: slowwave up")


def _outbox(session: Session) -> Check:
    waiting = events_pending_count(session)
    if waiting:
        return Check("outbox", "warn", f"{waiting} events wait to be sent", "run the relay: slowwave relay")
    return Check("outbox", "pass", "every event was sent")


def _ledger(session: Session) -> Check:
    parked = [step for run in queries.runs_open(session) for step in queries.steps_of_run(session, run.id)]
    stuck = [step for step in parked if step.state == "parked"]
    if stuck:
        return Check("ledger", "warn", f"{len(stuck)} steps of open runs are parked", "slowwave runs says why")
    return Check("ledger", "pass", "no step of an open run is parked")


def _audit(session: Session) -> Check:
    report = audit.verify(session)
    if report.ok:
        return Check("audit", "pass", f"{report.entries} entries, unbroken")
    return Check("audit", "fail", f"broken at entry {report.broken_at}: {report.why}", "keep a copy of the database")


def _nights(session: Session, now: datetime) -> list[Check]:
    """The alarm for a night that should have run by now."""
    checks = []
    for schedule in queries.schedules_on(session):
        due = last_due(schedule.at, now)
        late = now - due > OVERDUE and due >= schedule.updated_at
        if late and not queries.night_ran_since(session, schedule.namespace, night_of(due), due):
            detail = f"the night of {night_of(due)} was due at {schedule.at} UTC and did not run"
            fix = f"is a worker with beat running? slowwave consolidate -n {schedule.namespace} --local"
            checks.append(Check(f"night {schedule.namespace}", "fail", detail, fix))
        else:
            checks.append(Check(f"night {schedule.namespace}", "pass", f"daily at {schedule.at} UTC"))
    return checks


def is_healthy(settings: Settings, database: Database, service: str) -> Check:
    """Whether one service gets its work done: by its trace in the database, or by its answer.

    Args:
        service: one of ``SERVICES``.
    """
    if service in ("review", "read"):
        # Both sides answer here; readiness, which fails when data is stale, is for whoever routes traffic.
        if answers(f"http://127.0.0.1:{settings.port}/health/live"):
            return Check(service, "pass", "it answers")
        return Check(service, "fail", f"no answer on port {settings.port}", f"start it: slowwave web --app {service}")
    return _by_heart(settings, database, service)


def _by_heart(settings: Settings, database: Database, service: str) -> Check:
    component = f"worker:{socket.gethostname()}" if service == "worker" else service
    # One worker of several gets its turn less often than the period says.
    periods = {"worker": 12, "beat": 3, "relay": 3}
    limit = max(30, periods[service] * settings.reconcile_seconds)
    with database.read() as session:
        heart, now = queries.heartbeat_of(session, component), database_now(session)
    if heart is None:
        return Check(service, "fail", "it has not done anything yet", f"start it with: slowwave {service}")
    age = (now - heart.at).total_seconds()
    state = str(heart.detail.get("redis", "ok"))
    if age > limit:
        return Check(service, "fail", f"it did something last {age:.0f} s ago", f"restart it: slowwave {service}")
    if state != "ok":
        return Check(service, "fail", "it runs, but Redis does not answer", "start Redis; nothing is lost")
    return Check(service, "pass", f"it did something {age:.0f} s ago")
