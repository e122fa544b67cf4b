"""Search and single rules. Every text that leaves has its exposure written first."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

from fastapi import APIRouter, Response
from sqlmodel import Session

from read_api.auth import HISTORY, Principal, Reading, known_epoch
from read_api.errors import Gone, Unknown
from read_api.indexes import Index
from read_api.schemas import (
    ConflictOut,
    EvidenceOut,
    Name,
    Number,
    RuleAnswer,
    RuleOut,
    SearchAnswer,
    SearchRequest,
    WithheldOut,
)
from read_api.selection import Asker, Choice, choose
from read_api.site import Site, SiteDep
from storage.queries import rules as rule_queries
from storage.queries.readers import active_rules, holdout_of, open_conflicts
from storage.queries.rules import VersionKey
from storage.serving import Reader, declare_session, record_miss, serve
from storage.tables import RuleVersion

router = APIRouter()

GRANT = timedelta(minutes=10)
GRANT_HEADER = "Slowwave-Grant-Seconds"
Conflicts = dict[VersionKey, list[ConflictOut]]


@router.post("/v1/rules/search")
def search(asked: SearchRequest, who: Reading, site: SiteDep, response: Response) -> SearchAnswer:
    """The reviewed rules that fit a task, best first.

    Scope decides first, then wording. ``withheld`` says what fits but was left out. With ``client_instance`` the
    answer may be cached for as long as the header ``Slowwave-Grant-Seconds`` says, under the lease.
    """
    namespace = who.enter(asked.namespace)
    now = site.clock()
    with site.database.read() as session:
        # The epoch first: what is read after it can only be newer than it says.
        epoch = known_epoch(session, namespace)
        index = site.indexes.get(namespace, epoch, lambda: active_rules(session, namespace))
        holdout = holdout_of(session, namespace)
        asker = Asker(asked.environment, asked.agent, asked.k, asked.token_budget, now, asked.session_id, holdout)
        choice = choose(index.options, index.ranking.scores(asked.task).tolist(), asker)
        picked = [index.rows[at] for at in choice.served]
        conflicts = _conflicts(session, namespace, picked, index)
    reader = _reader(who, namespace, asked.session_id, asked.agent, asked.client_instance)
    served = _serve(site, reader, picked, epoch, now, missed=None if choice.found else asked.task)
    if asked.client_instance is not None:
        response.headers[GRANT_HEADER] = str(int(GRANT.total_seconds()))
    return SearchAnswer(
        epoch=epoch,
        lease_seconds=site.settings.lease_seconds,
        age_seconds=0.0,
        rules=[RuleOut(**_rule(row, conflicts)) for row in picked if _key(row) in served],
        withheld=_withheld(index, choice, picked, served),
    )


@router.get("/v1/rules/{rule_id}")
def rule(
    rule_id: Name,
    namespace: Name,
    who: Reading,
    site: SiteDep,
    session_id: Name | None = None,
    agent: Name | None = None,
) -> RuleAnswer:
    """The active version of one rule. 410 when it has none any more."""
    who.enter(namespace)
    with site.database.read() as session:
        epoch = known_epoch(session, namespace)
        rows = _rows(session, namespace, rule_id)
        if not rows:
            raise _unknown(namespace, rule_id)
        row = next((each for each in rows if each.state == "active"), None)
        if row is None:
            raise _gone(rows[0], rows)
        conflicts = _conflicts(session, namespace, [row])
    return _answer_one(site, who, namespace, epoch, row, conflicts, session_id, agent)


@router.get("/v1/rules/{rule_id}/versions/{number}")
def rule_version(
    rule_id: Name,
    number: Number,
    namespace: Name,
    who: Reading,
    site: SiteDep,
    session_id: Name | None = None,
    agent: Name | None = None,
) -> RuleAnswer:
    """One version, marked with its state. Agents get active ones only: 410 for what is gone, with state and reason."""
    who.enter(namespace)
    with site.database.read() as session:
        epoch = known_epoch(session, namespace)
        rows = _rows(session, namespace, rule_id)
        row = next((each for each in rows if each.version == number), None)
        if row is None:
            raise _unknown(namespace, rule_id, number)
        conflicts = _conflicts(session, namespace, [row])
    if row.state == "active":
        return _answer_one(site, who, namespace, epoch, row, conflicts, session_id, agent)
    if who.role not in HISTORY:
        raise _gone(row, rows)
    return _marked(row, epoch, {})


def _rows(session: Session, namespace: str, rule_id: str) -> list[RuleVersion]:
    """The versions of a rule; an exemplar is none, and is never served as one."""
    return [row for row in rule_queries.versions_of(session, namespace, rule_id) if row.kind == "rule"]


def _serve(
    site: Site, reader: Reader, picked: list[RuleVersion], epoch: int, now: datetime, *, missed: str | None = None
) -> set[VersionKey]:
    """Write what this answer leaves behind, in one transaction; what comes back may be shown."""
    grant_until = now + GRANT if reader.client_instance is not None else None
    with site.database.write() as session:
        declare_session(session, reader, now)
        served = serve(
            session,
            reader,
            [_key(row) for row in picked],
            epoch=epoch,
            request_id=str(uuid.uuid4()),
            now=now,
            grant_until=grant_until,
        )
        if missed is not None:
            record_miss(session, reader.namespace, missed, reader.session_id, now)
    site.metrics.served.inc(len(served))
    site.metrics.lost_races.inc(len(picked) - len(served))
    site.metrics.misses.inc(missed is not None)
    return served


def _answer_one(
    site: Site,
    who: Principal,
    namespace: str,
    epoch: int,
    row: RuleVersion,
    conflicts: Conflicts,
    session_id: str | None,
    agent: str | None,
) -> RuleAnswer:
    reader = _reader(who, namespace, session_id, agent, None)
    if _key(row) in _serve(site, reader, [row], epoch, site.clock()):
        return _marked(row, epoch, conflicts)
    with site.database.read() as session:
        rows = rule_queries.versions_of(session, namespace, row.rule_id)
    raise _gone(next(each for each in rows if each.version == row.version), rows)


def _reader(
    who: Principal, namespace: str, session_id: str | None, agent: str | None, client_instance: str | None
) -> Reader:
    return Reader(namespace, session_id or f"token:{who.token_id}", who.token_id, agent, client_instance)


def _key(row: RuleVersion) -> VersionKey:
    return row.rule_id, row.version


def _rule(row: RuleVersion, conflicts: Conflicts) -> dict[str, Any]:
    content = row.content
    return {
        "id": row.rule_id,
        "version": row.version,
        "when_to_use": content.get("when_to_use") or "",
        "guidance": list(content.get("guidance") or []),
        "scope": content.get("scope") or {},
        "evidence": EvidenceOut.model_validate(row.evidence),
        "recheck_at": row.recheck_at.date().isoformat() if row.recheck_at else None,
        "conflicts": conflicts.get(_key(row), []),
    }


def _marked(row: RuleVersion, epoch: int, conflicts: Conflicts) -> RuleAnswer:
    return RuleAnswer(
        **_rule(row, conflicts),
        namespace=row.namespace,
        epoch=epoch,
        state=row.state,
        state_reason=row.state_reason,
        state_at=row.state_at.isoformat(),
    )


def _withheld(index: Index, choice: Choice, picked: list[RuleVersion], served: set[VersionKey]) -> list[WithheldOut]:
    lost = [WithheldOut(id=row.rule_id, version=row.version, reason="no longer active") for row in picked
            if _key(row) not in served]  # fmt: skip
    chosen = [
        WithheldOut(id=index.options[at].id, version=index.options[at].version, reason=reason)
        for at, reason in choice.withheld
    ]
    return lost + chosen


def _conflicts(session: Session, namespace: str, rows: list[RuleVersion], index: Index | None = None) -> Conflicts:
    """Open conflicts of these rules with other **active** ones; what is only staged is no agent's business."""
    stored = open_conflicts(session, namespace, [ref for row in rows for ref in _refs(row)])
    if not stored:
        return {}
    active = index.rows if index is not None else active_rules(session, namespace)
    by_ref = {ref: _key(row) for row in active for ref in _refs(row)}
    mine = {_key(row) for row in rows}
    found: Conflicts = {}
    for conflict in stored:
        left, right = by_ref.get(conflict.left_ref), by_ref.get(conflict.right_ref)
        if left is None or right is None or left == right:
            continue
        for one, other in ((left, right), (right, left)):
            if one in mine:
                told = ConflictOut(id=other[0], version=other[1], kind=conflict.kind, detail=conflict.detail)
                found.setdefault(one, []).append(told)
    return found


def _refs(row: RuleVersion) -> tuple[str, str]:
    return f"rule:{row.rule_id}@{row.version}", f"candidate:{row.candidate_id}"


def _unknown(namespace: str, rule_id: str, number: int | None = None) -> Unknown:
    what = f"rule {rule_id!r}" if number is None else f"version {number} of rule {rule_id!r}"
    return Unknown(f"there is no {what} in {namespace!r}", "rule", "search for it: POST /v1/rules/search")


def _gone(row: RuleVersion, rows: Any) -> Gone:
    current = next((each.version for each in rows if each.state == "active"), None)
    advice = f"use version {current}" if current else "do not use it; search again: POST /v1/rules/search"
    return Gone(
        f"version {row.version} of rule {row.rule_id!r} is {row.state} since {row.state_at.isoformat()}",
        "rule version",
        advice,
        state=row.state,
        reason=row.state_reason,
        version=row.version,
        current_version=current,
    )
