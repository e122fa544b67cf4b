"""``GET /v1/startup``: the few rules worth loading before any task is known, with the reason for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query
from sqlmodel import Session

from read_api.answers import key_of, lost, reader_of, rule_fields, write_serve
from read_api.auth import Reading
from read_api.disagreements import pairs_on_shelf
from read_api.indexes import Index
from read_api.planning import Plan, on_index, planned, withheld_of
from read_api.schemas import Name, Space, StartupAnswer, StartupRuleOut
from read_api.selection import MAX_WITHHELD, Asker, Choice, Gate, within_budget
from read_api.shelf import Option, Shelf
from read_api.site import Site, SiteDep
from read_api.sources import Source
from read_api.tracing import searching
from storage.queries.readers import sessions_served

router = APIRouter()

BUDGET = 1_000
LATELY = timedelta(days=30)
Weight = tuple[bool, int, int]


@router.get("/v1/startup")
def startup(
    namespace: Space,
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

    def choose_pack(session: Session, epoch: int, holdout: float, index: Index) -> tuple[Plan, Mapping[str, int]]:
        lately = sessions_served(session, namespace, now - LATELY)
        choice = pack(index.shelf, lately, Asker({}, agent, 1, token_budget, now, session_id, holdout), site)
        pairs = pairs_on_shelf(session, namespace, index.shelf, choice.served)
        return planned(session, epoch, index, namespace, choice, pairs), lately

    content = site.settings.trace_content
    with searching("startup", namespace, session_id, agent, None, with_content=content) as span:
        plan, lately = on_index(site, site.indexes, Source(site.database, namespace), choose_pack)
        served = write_serve(site, reader_of(who, namespace, session_id, agent, None), plan.rows, plan.epoch, now)
        options = {(option.id, option.version): option for option in map(plan.shelf.__getitem__, plan.choice.served)}
        answer = StartupAnswer(
            epoch=plan.epoch,
            lease_seconds=site.settings.lease_seconds,
            age_seconds=0.0,
            token_budget=token_budget,
            rules=[
                StartupRuleOut(
                    **rule_fields(row, plan.conflicts), reason=reason_of(_weight(options[key_of(row)], lately))
                )
                for row in plan.rows
                if key_of(row) in served
            ],
            withheld=lost(plan.rows, served) + withheld_of(plan.shelf, plan.choice.withheld),
        )
        span.came_to(plan.epoch, answer.rules, answer.withheld)
    return answer


def pack(shelf: Shelf, lately: Mapping[str, int], asker: Asker, site: Site) -> Choice:
    """The weightiest options that fit the budget; the walk ends when it is full to the last ``MAX_WITHHELD`` tried."""
    gate, left_out = Gate(shelf, asker), list[tuple[int, str]]()

    def inside() -> Iterator[int]:
        for at in _by_weight(shelf, lately):
            reason = gate.against(at)
            if not reason:
                yield at
            elif len(left_out) < MAX_WITHHELD:
                left_out.append((at, reason))

    chosen, too_much = within_budget(inside(), shelf, asker.token_budget, site.count_tokens)
    return Choice(chosen, (too_much + left_out)[:MAX_WITHHELD], True)


def _by_weight(shelf: Shelf, lately: Mapping[str, int]) -> list[int]:
    numbers = np.flatnonzero(shelf.is_in).tolist()
    weights = {at: _weight(shelf[at], lately) for at in numbers}
    return sorted(numbers, key=lambda at: (weights[at], shelf[at].id), reverse=True)


def _weight(option: Option, lately: Mapping[str, int]) -> Weight:
    return option.tier == "high", lately.get(option.id, 0), option.groups


def reason_of(weight: Weight) -> str:
    """Why a rule is in the pack, in words: all that speaks for it."""
    is_high, sessions, groups = weight
    said = ["it touches what is hard to undo"] if is_high else []
    said += [f"it was served to {sessions} session{'s' * (sessions != 1)} in the last 30 days"] if sessions else []
    said += [f"{groups} independent group{'s' * (groups != 1)} of runs stand behind it"] if groups else []
    return "; ".join(said) or "a person approved it"
