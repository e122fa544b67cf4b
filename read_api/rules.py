"""Search and single rules. Every text that leaves has its exposure written first."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from sqlmodel import Session

from read_api.answers import GRANT, key_of, lost, reader_of, rule_fields, write_serve
from read_api.auth import HISTORY, Principal, Reading, known_epoch
from read_api.disagreements import Conflicts, conflicts_of
from read_api.errors import Gone, Unknown
from read_api.indexes import Index
from read_api.planning import Plan, on_index, plan_search, withheld_of
from read_api.refusals import refusals
from read_api.schemas import (
    Name,
    Number,
    RuleAnswer,
    RuleOut,
    SearchAnswer,
    SearchRequest,
    Space,
)
from read_api.selection import Asker
from read_api.site import Site, SiteDep
from read_api.sources import Source
from read_api.tracing import searching
from storage.queries import rules as rule_queries
from storage.tables import RuleVersion

router = APIRouter()

GRANT_HEADER = "Slowwave-Grant-Seconds"


@router.post("/v1/rules/search", response_model=SearchAnswer)
def search(asked: SearchRequest, who: Reading, site: SiteDep) -> Response:
    """The reviewed rules that fit a task, best first.

    Scope decides first, then wording. ``withheld`` says what fits but was left out. With ``client_instance`` the
    answer may be cached for as long as the header ``Slowwave-Grant-Seconds`` says, under the lease.
    """
    namespace = who.enter(asked.namespace)
    now = site.clock()

    def choose_rules(session: Session, epoch: int, holdout: float, index: Index) -> Plan:
        asker = Asker(asked.environment, asked.agent, asked.k, asked.token_budget, now, asked.session_id, holdout)
        return plan_search(site, session, epoch, index, namespace, asked.task, asker)

    content = site.settings.trace_content
    with searching("rules", namespace, asked.session_id, asked.agent, asked.task, with_content=content) as span:
        plan = on_index(site, site.indexes, Source(site.database, namespace), choose_rules)
        reader = reader_of(who, namespace, asked.session_id, asked.agent, asked.client_instance)
        missed = None if plan.choice.found else asked.task
        served = write_serve(site, reader, plan.rows, plan.epoch, now, missed=missed)
        headers = {GRANT_HEADER: str(int(GRANT.total_seconds()))} if asked.client_instance is not None else None
        answer = SearchAnswer(
            epoch=plan.epoch,
            lease_seconds=site.settings.lease_seconds,
            age_seconds=0.0,
            rules=[RuleOut(**rule_fields(row, plan.conflicts)) for row in plan.rows if key_of(row) in served],
            withheld=lost(plan.rows, served) + withheld_of(plan.shelf, plan.choice.withheld),
        )
        span.came_to(plan.epoch, answer.rules, answer.withheld)
    # As it is: what was checked when it was made need not be checked again on its way out.
    return Response(answer.model_dump_json(), media_type="application/json", headers=headers)


@router.get("/v1/rules/{rule_id}", responses=refusals(410))
def rule(
    rule_id: Name,
    namespace: Space,
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
        conflicts = conflicts_of(session, namespace, row)
    return _answer_one(site, who, namespace, epoch, row, conflicts, session_id, agent)


@router.get("/v1/rules/{rule_id}/versions/{number}", responses=refusals(410))
def rule_version(
    rule_id: Name,
    number: Number,
    namespace: Space,
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
        conflicts = conflicts_of(session, namespace, row)
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
