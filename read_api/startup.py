"""``GET /v1/startup``: the few rules worth loading before any task is known, with the reason for each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from read_api.answers import conflicts_of, key_of, lost, reader_of, rule_fields, write_serve
from read_api.auth import Reading, known_epoch
from read_api.schemas import Name, StartupAnswer, StartupRuleOut, WithheldOut
from read_api.selection import MAX_WITHHELD, Asker, held_out, out_of_scope, within_budget
from read_api.site import SiteDep
from storage.queries.readers import active_rules, holdout_of, sessions_served
from storage.tables import RuleVersion

router = APIRouter()

BUDGET = 1_000
LATELY = timedelta(days=30)
Weight = tuple[bool, int, int]


@router.get("/v1/startup")
def startup(
    namespace: Name,
    who: Reading,
    site: SiteDep,
    session_id: Name | None = None,
    agent: Name | None = None,
    token_budget: Annotated[int, Query(ge=1, le=100_000)] = BUDGET,
) -> StartupAnswer:
    """What touches what cannot be undone first; then what was served to most sessions of late; then what most stands
    behind. Each has its exposure, as in a search."""
    who.enter(namespace)
    now = site.clock()
    with site.database.read() as session:
        epoch = known_epoch(session, namespace)
        index = site.indexes.get(namespace, epoch, lambda: active_rules(session, namespace))
        lately = sessions_served(session, namespace, now - LATELY)
        asker = Asker({}, agent, len(index.rows), token_budget, now, session_id, holdout_of(session, namespace))
        left_out = {
            at: reason
            for at, option in enumerate(index.options)
            if (reason := out_of_scope(option.scope, asker) or held_out(option, asker))
        }
        inside = [at for at in range(len(index.rows)) if at not in left_out]
        inside.sort(key=lambda at: (_weight(index.rows[at], lately), index.rows[at].rule_id), reverse=True)
        chosen, too_much = within_budget(inside, index.options, token_budget)
        picked = [index.rows[at] for at in chosen]
        conflicts = conflicts_of(session, namespace, picked, index)
    served = write_serve(site, reader_of(who, namespace, session_id, agent, None), picked, epoch, now)
    return StartupAnswer(
        epoch=epoch,
        lease_seconds=site.settings.lease_seconds,
        age_seconds=0.0,
        token_budget=token_budget,
        rules=[
            StartupRuleOut(**rule_fields(row, conflicts), reason=reason_of(_weight(row, lately)))
            for row in picked
            if key_of(row) in served
        ],
        withheld=lost(picked, served)
        + [
            WithheldOut(id=index.options[at].id, version=index.options[at].version, reason=reason)
            for at, reason in (too_much + list(left_out.items()))[:MAX_WITHHELD]
        ],
    )


def _weight(row: RuleVersion, lately: Mapping[str, int]) -> Weight:
    return row.tier == "high", lately.get(row.rule_id, 0), int(row.evidence.get("independent_groups") or 0)


def reason_of(weight: Weight) -> str:
    """Why a rule is in the pack, in words: all that speaks for it."""
    is_high, sessions, groups = weight
    said = ["it touches what is hard to undo"] if is_high else []
    said += [f"it was served to {sessions} session{'s' * (sessions != 1)} in the last 30 days"] if sessions else []
    said += [f"{groups} independent group{'s' * (groups != 1)} of runs stand behind it"] if groups else []
    return "; ".join(said) or "a person approved it"
