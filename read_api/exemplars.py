"""``POST /v1/exemplars/search``: promoted raw runs as examples, each with its exposure written first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import orjson
from fastapi import APIRouter
from sqlmodel import Session

from read_api.answers import Shown, key_of, lost, reader_of, write_serve
from read_api.auth import Reading
from read_api.indexes import Index
from read_api.planning import Plan, on_index, planned, withheld_of
from read_api.schemas import ExemplarAnswer, ExemplarOut, ExemplarRequest, WithheldOut
from read_api.selection import Asker, choose
from read_api.site import SiteDep
from read_api.sources import Source
from read_api.tracing import searching
from storage.bodies import load_bodies
from storage.queries.readers import episodes_replaced
from storage.queries.taint import tainted_among

router = APIRouter()

Bodies = Mapping[str, dict[str, Any]]
SPARE = 5
"""So many more are looked at as may be served: some turn out to be tainted, or too long."""


@router.post("/v1/exemplars/search")
def search(asked: ExemplarRequest, who: Reading, site: SiteDep) -> ExemplarAnswer:
    """The promoted runs that fit a task, best first, whole: a run is served with all its steps or not at all.

    They are records, redacted as they are stored. A run that turned out to have read a revoked rule is withheld.
    """
    namespace = who.enter(asked.namespace)
    now = site.clock()

    def choose_runs(session: Session, epoch: int, _: float, index: Index) -> tuple[Plan, Bodies, dict[str, str]]:
        asker = Asker(asked.environment, asked.agent, asked.k + SPARE, None, now, asked.session_id)
        choice = choose(index.shelf, index.ranking.scores(asked.task), asker)
        plan = planned(session, epoch, index, namespace, choice)
        bodies = load_bodies(session, namespace, [episode_of(row) for row in plan.rows])
        return plan, bodies, _spoiled(session, namespace, bodies)

    content = site.settings.trace_content
    with searching("exemplars", namespace, asked.session_id, asked.agent, asked.task, with_content=content) as span:
        source = Source(site.database, namespace, "exemplar")
        plan, bodies, spoiled = on_index(site, site.exemplars, source, choose_runs)
        picked, left_out = _fitting(plan.rows, bodies, spoiled, asked.k, asked.token_budget, site.count_tokens)
        reader = reader_of(who, namespace, asked.session_id, asked.agent, None)
        missed = None if plan.choice.found else asked.task
        served = write_serve(site, reader, picked, plan.epoch, now, missed=missed)
        answer = ExemplarAnswer(
            epoch=plan.epoch,
            lease_seconds=site.settings.lease_seconds,
            age_seconds=0.0,
            exemplars=[_shown(row, bodies[episode_of(row)]) for row in picked if key_of(row) in served],
            withheld=lost(picked, served) + left_out + withheld_of(plan.shelf, plan.choice.withheld),
        )
        span.came_to(plan.epoch, answer.exemplars, answer.withheld)
    return answer


def episode_of(row: Shown) -> str:
    """The recorded run that an exemplar shows; empty if it names none."""
    return str((row.content.get("exemplar") or {}).get("episode_id") or "")


def _spoiled(session: Session, namespace: str, ids: Collection[str]) -> dict[str, str]:
    """Why some of these runs are no examples any more, by id."""
    tainted = dict.fromkeys(tainted_among(session, namespace, ids), "its run read a rule that was revoked")
    return dict.fromkeys(episodes_replaced(session, namespace, ids), "its run was recorded anew since") | tainted


def _fitting(
    rows: Sequence[Shown],
    bodies: Mapping[str, dict[str, Any]],
    spoiled: Mapping[str, str],
    k: int,
    budget: int,
    count: Callable[[str], int],
) -> tuple[list[Shown], list[WithheldOut]]:
    """Those to serve, best first; and of the others why not, as far as they were looked at."""
    picked: list[Shown] = []
    left_out: list[WithheldOut] = []
    room = budget
    for row in rows:
        if len(picked) == k:
            break
        body = bodies.get(episode_of(row))
        need = count(orjson.dumps(body, default=str).decode()) if body is not None else 0
        reason = _against(body, spoiled.get(episode_of(row), ""), need, room, budget)
        if reason:
            left_out.append(WithheldOut(id=row.rule_id, version=row.version, reason=reason))
            continue
        picked.append(row)
        room -= need
    return picked, left_out


def _against(body: Mapping[str, Any] | None, spoiled: str, need: int, room: int, budget: int) -> str:
    if body is None:
        return "its run is gone: it was purged"
    if spoiled:
        return spoiled
    return f"token budget: needs about {need} tokens, {room} are left of {budget}" if need > room else ""


def _shown(row: Shown, body: Mapping[str, Any]) -> ExemplarOut:
    content = row.content
    return ExemplarOut(
        id=row.rule_id,
        version=row.version,
        when_to_use=content.get("when_to_use") or "",
        task=str(body.get("task") or ""),
        outcome=str(body.get("outcome") or "unknown"),
        steps=list(body.get("steps") or []),
        scope=content.get("scope") or {},
        recheck_at=row.recheck_at.date().isoformat() if row.recheck_at else None,
    )
