"""Leases, acknowledgements, and what became of what a session read."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter
from sqlmodel import Session

from read_api.auth import Reading, known_epoch
from read_api.errors import Unprocessable
from read_api.schemas import (
    AckRequest,
    LeaseAnswer,
    Name,
    ServedOut,
    SessionAnswer,
    SessionReport,
    Space,
    StaleOut,
)
from read_api.site import SiteDep
from storage.acks import acknowledge
from storage.queries.drills import events_covered
from storage.queries.lineage import reads_of_sessions
from storage.queries.rules import versions_by_keys, versions_of
from storage.serving import Reader, report_session
from storage.tables import RuleVersion

router = APIRouter()

ADVICE = {
    "fine": "go on: nothing this session read has changed",
    "read-only": "take no action that changes anything until you have searched again and read what is active now",
    "stop": "stop: this session acted on advice that was revoked; have its actions looked at, then start afresh",
}


@router.get("/v1/lease")
def lease(namespace: Space, who: Reading, site: SiteDep) -> LeaseAnswer:
    """The epoch as the database has it now. Only this, and a search, renew a lease."""
    who.enter(namespace)
    with site.database.read() as session:
        epoch = known_epoch(session, namespace)
    return LeaseAnswer(namespace=namespace, epoch=epoch, lease_seconds=site.settings.lease_seconds, age_seconds=0.0)


@router.post("/v1/acks")
def acks(asked: AckRequest, who: Reading, site: SiteDep) -> AckRequest:
    """This consumer has applied everything up to an epoch."""
    namespace = who.enter(asked.namespace)
    with site.database.write() as session:
        epoch = known_epoch(session, namespace)
        if asked.epoch > epoch:
            raise Unprocessable(
                f"epoch {asked.epoch} of {namespace!r} does not exist: it is at {epoch}", "epoch", "send one you saw"
            )
        now = site.clock()
        is_news = acknowledge(session, asked.consumer, namespace, asked.epoch, who.token_id, now)
        written = events_covered(session, namespace, asked.consumer, asked.epoch) if is_news else []
    site.metrics.acks.inc()
    for at in written:
        site.metrics.acked.observe(max(0.0, (now - at).total_seconds()))
    return asked


@router.get("/v1/sessions/{session_id}")
def check(session_id: Name, namespace: Space, who: Reading, site: SiteDep) -> SessionAnswer:
    """Which versions this session may have read are stale now, and how to go on."""
    who.enter(namespace)
    with site.database.read() as session:
        return _answer(session, namespace, session_id)


@router.post("/v1/sessions/{session_id}")
def report(session_id: Name, asked: SessionReport, who: Reading, site: SiteDep) -> SessionAnswer:
    """Tie a session to a client instance; with ``ended``, ``reads`` is all it read from that instance's cache."""
    namespace = who.enter(asked.namespace)
    reader = Reader(namespace, session_id, who.token_id, client_instance=asked.client_instance)
    reads = [{"rule": read.id, "version": read.version, "times": read.times} for read in asked.reads]
    with site.database.write() as session:
        known_epoch(session, namespace)
        report_session(session, reader, reads, ended=asked.ended, now=site.clock())
        return _answer(session, namespace, session_id)


def _answer(session: Session, namespace: str, session_id: str) -> SessionAnswer:
    epoch = known_epoch(session, namespace)
    keys = reads_of_sessions(session, namespace, [session_id]).get(session_id, set())
    rows = sorted(versions_by_keys(session, namespace, keys), key=lambda row: (row.rule_id, row.version))
    stale = [_stale(session, row) for row in rows if row.state != "active"]
    verdict = judge(row.state for row in rows)
    return SessionAnswer(
        namespace=namespace,
        session_id=session_id,
        epoch=epoch,
        verdict=verdict,
        what_now=ADVICE[verdict],
        served=[ServedOut(id=row.rule_id, version=row.version, state=row.state) for row in rows],
        stale=stale,
    )


def judge(states: Iterable[str]) -> str:
    """Revoked advice stops a session; anything else that is not active any more makes it read again first."""
    seen = set(states)
    if "revoked" in seen:
        return "stop"
    return "fine" if seen <= {"active"} else "read-only"


def _stale(session: Session, row: RuleVersion) -> StaleOut:
    current = next(
        (each.version for each in versions_of(session, row.namespace, row.rule_id) if each.state == "active"), None
    )
    return StaleOut(
        id=row.rule_id, version=row.version, state=row.state, reason=row.state_reason, current_version=current
    )
