"""Search and single rules. Every text that leaves has its exposure written first."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from sqlmodel import Session

from read_api.answers import GRANT, Conflicts, conflicts_of, key_of, lost, reader_of, rule_fields, write_serve
from read_api.auth import HISTORY, Principal, Reading, known_epoch
from read_api.errors import Gone, Unknown
from read_api.indexes import Index
from read_api.schemas import (
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
from storage.queries.readers import active_rules, holdout_of
from storage.queries.rules import VersionKey
from storage.tables import RuleVersion

router = APIRouter()

GRANT_HEADER = "Slowwave-Grant-Seconds"


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
        conflicts = conflicts_of(session, namespace, picked, index)
    reader = reader_of(who, namespace, asked.session_id, asked.agent, asked.client_instance)
    served = write_serve(site, reader, picked, epoch, now, missed=None if choice.found else asked.task)
    if asked.client_instance is not None:
        response.headers[GRANT_HEADER] = str(int(GRANT.total_seconds()))
    return SearchAnswer(
        epoch=epoch,
        lease_seconds=site.settings.lease_seconds,
        age_seconds=0.0,
        rules=[RuleOut(**rule_fields(row, conflicts)) for row in picked if key_of(row) in served],
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
        conflicts = conflicts_of(session, namespace, [row])
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
        conflicts = conflicts_of(session, namespace, [row])
    if row.state == "active":
        return _answer_one(site, who, namespace, epoch, row, conflicts, session_id, agent)
    if who.role not in HISTORY:
        raise _gone(row, rows)
    return _marked(row, epoch, {})


def _rows(session: Session, namespace: str, rule_id: str) -> list[RuleVersion]:
    """The versions of a rule; an exemplar is none, and is never served as one."""
    return [row for row in rule_queries.versions_of(session, namespace, rule_id) if row.kind == "rule"]


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
    reader = reader_of(who, namespace, session_id, agent, None)
    if key_of(row) in write_serve(site, reader, [row], epoch, site.clock()):
        return _marked(row, epoch, conflicts)
    with site.database.read() as session:
        rows = rule_queries.versions_of(session, namespace, row.rule_id)
    raise _gone(next(each for each in rows if each.version == row.version), rows)


def _marked(row: RuleVersion, epoch: int, conflicts: Conflicts) -> RuleAnswer:
    return RuleAnswer(
        **rule_fields(row, conflicts),
        namespace=row.namespace,
        epoch=epoch,
        state=row.state,
        state_reason=row.state_reason,
        state_at=row.state_at.isoformat(),
    )


def _withheld(index: Index, choice: Choice, picked: list[RuleVersion], served: set[VersionKey]) -> list[WithheldOut]:
    chosen = [
        WithheldOut(id=index.options[at].id, version=index.options[at].version, reason=reason)
        for at, reason in choice.withheld
    ]
    return lost(picked, served) + chosen


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
