"""``POST /v1/exemplars/search``: promoted raw runs as examples, each with its exposure written first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from fastapi import APIRouter
from sqlmodel import Session

from read_api.answers import key_of, lost, reader_of, write_serve
from read_api.auth import Reading, known_epoch
from read_api.schemas import ExemplarAnswer, ExemplarOut, ExemplarRequest, WithheldOut
from read_api.selection import Asker, choose, estimate_tokens
from read_api.site import SiteDep
from storage.bodies import load_bodies
from storage.queries.readers import active_rules, episodes_replaced
from storage.queries.taint import tainted_among
from storage.tables import RuleVersion

router = APIRouter()

SPARE = 5
"""So many more are looked at as may be served: some turn out to be tainted, or too long."""


@router.post("/v1/exemplars/search")
def search(asked: ExemplarRequest, who: Reading, site: SiteDep) -> ExemplarAnswer:
    """The promoted runs that fit a task, best first, whole: a run is served with all its steps or not at all.

    They are records, redacted as they are stored. A run that turned out to have read a revoked rule is withheld.
    """
    namespace = who.enter(asked.namespace)
    now = site.clock()
    with site.database.read() as session:
        epoch = known_epoch(session, namespace)
        index = site.exemplars.get(namespace, epoch, lambda: active_rules(session, namespace, "exemplar"))
        asker = Asker(asked.environment, asked.agent, asked.k + SPARE, None, now, asked.session_id)
        choice = choose(index.options, index.ranking.scores(asked.task).tolist(), asker)
        rows = [index.rows[at] for at in choice.served]
        bodies = load_bodies(session, namespace, [episode_of(row) for row in rows])
        spoiled = _spoiled(session, namespace, bodies)
    picked, left_out = _fitting(rows, bodies, spoiled, asked.k, asked.token_budget)
    reader = reader_of(who, namespace, asked.session_id, asked.agent, None)
    served = write_serve(site, reader, picked, epoch, now, missed=None if choice.found else asked.task)
    out_of_scope = [
        WithheldOut(id=index.options[at].id, version=index.options[at].version, reason=reason)
        for at, reason in choice.withheld
    ]
    return ExemplarAnswer(
        epoch=epoch,
        lease_seconds=site.settings.lease_seconds,
        age_seconds=0.0,
        exemplars=[_shown(row, bodies[episode_of(row)]) for row in picked if key_of(row) in served],
        withheld=lost(picked, served) + left_out + out_of_scope,
    )


def episode_of(row: RuleVersion) -> str:
    """The recorded run that an exemplar shows; empty if it names none."""
    return str((row.content.get("exemplar") or {}).get("episode_id") or "")


def _spoiled(session: Session, namespace: str, ids: Collection[str]) -> dict[str, str]:
    """Why some of these runs are no examples any more, by id."""
    tainted = dict.fromkeys(tainted_among(session, namespace, ids), "its run read a rule that was revoked")
    return dict.fromkeys(episodes_replaced(session, namespace, ids), "its run was recorded anew since") | tainted


def _fitting(
    rows: Sequence[RuleVersion],
    bodies: Mapping[str, dict[str, Any]],
    spoiled: Mapping[str, str],
    k: int,
    budget: int,
) -> tuple[list[RuleVersion], list[WithheldOut]]:
    """Those to serve, best first; and of the others why not, as far as they were looked at."""
    picked: list[RuleVersion] = []
    left_out: list[WithheldOut] = []
    room = budget
    for row in rows:
        if len(picked) == k:
            break
        body = bodies.get(episode_of(row))
        need = estimate_tokens(orjson.dumps(body, default=str).decode()) if body is not None else 0
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


def _shown(row: RuleVersion, body: Mapping[str, Any]) -> ExemplarOut:
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
