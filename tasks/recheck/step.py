"""Recheck: test the active rules again on what counts by now, and propose to withdraw what no longer holds.

Nothing that is served is changed here. A look is stored with the alpha it spent; done again, the step keeps it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlmodel import Session

from storage.bodies import load_bodies
from storage.engine import Database
from storage.ledger import Claim, guard
from storage.queries import candidates as candidate_queries
from storage.queries import rechecks as recheck_queries
from storage.queries import rules as rule_queries
from storage.queries.consolidation import families_tested
from storage.queries.runs import steps_of_run
from storage.rechecks import put_recheck
from storage.tables import Namespace, Recheck, RuleVersion
from tasks.cluster.kin_step import lines_of, predicate_of
from tasks.context import StepContext
from tasks.contrast.facts import read_facts, steps_that_show
from tasks.contrast.predicate import Predicate
from tasks.contrast.recoveries import EVERYWHERE
from tasks.contrast.recoveries.step import retries_of
from tasks.ingest.episode import Episode as CanonicalEpisode
from tasks.recheck.judge import GONE, Judged, Standing, judge, promised_effect
from tasks.recheck.proposal import Active, Shown, candidate_id, kind_of
from tasks.recheck.propose_step import propose, withdraw_proposal
from tasks.stage import retire
from tasks.verify.coverage import belongs, outside
from tasks.verify.support import Compared, compare
from tasks.verify.weigh_step import FamilyEvidence, compared_retries, load_evidence

MOST_SHOWN = 20
"""Runs cited for a proposal, and as many against."""


@dataclass(frozen=True)
class _Due:
    """An active rule to be looked at tonight. ``since``: the run after which a group is fresh."""

    rule: Active
    claim: Predicate
    family: str
    standing: Standing
    since: str


@dataclass(frozen=True)
class _Looked:
    """What tonight's look at one rule came to."""

    due: _Due
    judged: Judged
    shown: tuple[Shown, ...] = ()


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Look at every active rule whose family was touched tonight, or whose re-check date has come.

    Returns ``rechecked``, a count for each verdict, ``verdicts`` (rule, version, verdict, words), ``proposed``
    candidates, and ``problems`` where so much would be retired that a person has to look first.
    """
    by_family: defaultdict[str, list[_Due]] = defaultdict(list)
    active, due = _due(database, claim, context)
    for one in due:
        by_family[one.family].append(one)
    looked: list[_Looked] = []
    looked = [_look_at_retries(database, claim, context, one) for one in by_family.pop(EVERYWHERE, [])]
    for family, rules in sorted(by_family.items()):
        found = load_evidence(database, claim.namespace, family, context.settings)
        looked += [_look(database, claim, found, one) for one in rules]
    for each in looked:
        _keep(database, claim, context, each)
    gone = [one for one in looked if one.judged.verdict in GONE]
    problems = _halted(database, claim, gone, active)
    proposed = [] if problems else [_propose(database, claim, context, one) for one in gone]
    settled = [one for one in looked if one.judged.verdict == "stands"]
    dropped = sum(withdraw_proposal(database, claim, context, one.due.rule.key[0]) for one in settled)
    verdicts = Counter(one.judged.verdict for one in looked)
    return {
        "rechecked": len(looked),
        **{name.replace("-", "_"): count for name, count in sorted(verdicts.items())},
        "verdicts": [
            {"rule": one.due.rule.key[0], "version": one.due.rule.key[1], "verdict": one.judged.verdict,
             "words": one.judged.words}
            for one in looked
        ],
        "proposed": sum(proposed), "dropped": dropped, "problems": problems,
    }  # fmt: skip


def _due(database: Database, claim: Claim, context: StepContext) -> tuple[int, list[_Due]]:
    """How many rules are active, and those to look at."""
    with database.read() as session:
        rows = [row for row in rule_queries.versions_in(session, claim.namespace) if row.kind == "rule"]
        touched = families_tested(session, claim.run_id)
        policy = session.get_one(Namespace, claim.namespace).policy
        owner = str(policy.get("owner") or f"the reviewers of {claim.namespace}")
        found = [_of(session, claim, context, row, len(rows), owner) for row in rows if _is_due(row, touched, context)]
    return len(rows), [one for one in found if one is not None]


def _is_due(row: RuleVersion, touched: Collection[str], context: StepContext) -> bool:
    family = (row.content.get("predicate") or {}).get("family")
    return family in touched or (row.recheck_at is not None and row.recheck_at <= context.now)


def _of(session: Session, claim: Claim, context: StepContext, row: RuleVersion, active: int, owner: str) -> _Due | None:
    predicate = predicate_of(row.content)
    if predicate is None:
        return None  # It claims nothing that a machine can test: its date is for a person.
    key = (row.rule_id, row.version)
    looks = [one for one in recheck_queries.rechecks_of(session, claim.namespace, *key) if one.run_id != claim.run_id]
    spent = [one.run_id for one in looks if one.statistics.get("spent")]
    revisions = candidate_queries.revisions_of(session, claim.namespace, row.candidate_id)
    made = [one for one in revisions if one.number <= row.candidate_number]
    packet = next((one.packet for one in made if one.number == row.candidate_number), {})
    standing = Standing(len(spent), promised_effect(packet), active, context.settings.yearly_alpha)
    title = str((row.content.get("guidance") or [""])[0]).rstrip(".")
    rule = Active(key, row.content, packet, title, owner)
    since = max([*spent, *(one.run_id for one in made if one.run_id)], default="")
    return _Due(rule, predicate, str((row.content.get("predicate") or {}).get("family")), standing, since)


def _look(database: Database, claim: Claim, found: FamilyEvidence, due: _Due) -> _Looked:
    echoes = found.echoes_of(due.claim, lines_of(due.rule.content))
    inside, left_out = _in_scope(found, due)
    salt = f"fold\x00{claim.namespace}"
    runs, table = [found.runs[row] for row in inside], found.table.take(inside)
    compared = compare(runs, table, due.claim, salt=salt, echoes=echoes, last_look=due.since)
    judged = judge(compared, due.standing, left_out)
    judged = replace(judged, statistics=judged.statistics | {"tainted": found.tainted})
    if judged.verdict not in GONE:
        return _Looked(due, judged)
    return _Looked(due, judged, _shown(database, claim, due, compared))


def _look_at_retries(database: Database, claim: Claim, context: StepContext, due: _Due) -> _Looked:
    """A recovery is rechecked on the retries of all sessions, whatever their environment."""
    lines = lines_of(due.rule.content)
    found = retries_of(database, claim.namespace, due.claim, context.settings, lines=lines, last_look=due.since)
    if found is None:
        return _Looked(due, Judged("not-enough", "too few sessions that count met this error and tried again", False))
    compared = compared_retries(found)
    judged = judge(compared, due.standing, {})
    judged = replace(judged, statistics=judged.statistics | {"tainted": found.tainted})
    if judged.verdict not in GONE:
        return _Looked(due, judged)
    sample = compared.sample
    rows = np.flatnonzero(compared.shows & sample.columns.mask[:, 0] & sample.fresh)
    chosen = [*rows[~sample.success[rows]][:MOST_SHOWN].tolist(), *rows[sample.success[rows]][:MOST_SHOWN].tolist()]
    shown = []
    for row in chosen:
        episode_id, group, steps = found.shown(row)
        stance = "counter" if sample.success[row] else "support"
        shown.append(Shown(episode_id, group, stance, sample.strata[sample.stratum[row]], tuple(steps)))
    return _Looked(due, judged, tuple(shown))


def _in_scope(found: FamilyEvidence, due: _Due) -> tuple[list[int], dict[str, int]]:
    """Rows within the rule's scope; and why how many fresh ones are not, those of another part of a split apart."""
    scope, claimed = due.rule.content.get("scope") or {}, due.rule.content.get("predicate") or {}
    inside: list[int] = []
    left_out: Counter[str] = Counter()
    for row, run in enumerate(found.runs):
        if not belongs(claimed, found.environments[row], run.agent):
            continue
        why = outside(scope, found.environments[row], run.agent)
        if not why:
            inside.append(row)
        elif run.consumed_by > due.since:
            left_out[why] += 1
    return inside, dict(left_out)


def _shown(database: Database, claim: Claim, due: _Due, compared: Compared) -> tuple[Shown, ...]:
    """Fresh runs that show what the rule speaks of: those that ended as it says count against withdrawing it."""
    sample = compared.sample
    rows = np.flatnonzero(compared.shows & sample.columns.mask[:, 0] & sample.fresh)
    promised = sample.success if due.claim.direction == "do" else ~sample.success
    chosen = [*rows[~promised[rows]][:MOST_SHOWN].tolist(), *rows[promised[rows]][:MOST_SHOWN].tolist()]
    ids = {row: compared.units.runs[row].record.episode_id for row in chosen}
    with database.read() as session:
        bodies = load_bodies(session, claim.namespace, list(ids.values()))
    return tuple(
        Shown(
            ids[row], sample.groups[row], "counter" if promised[row] else "support",
            compared.units.runs[row].record.task,
            tuple(steps_that_show(due.claim, read_facts(CanonicalEpisode.model_validate(bodies[ids[row]])))),
        )
        for row in chosen
        if ids[row] in bodies
    )  # fmt: skip


def _keep(database: Database, claim: Claim, context: StepContext, one: _Looked) -> None:
    rule_id, version = one.due.rule.key
    proposed = candidate_id(claim.namespace, rule_id) if one.judged.verdict in GONE else None
    row = Recheck(
        namespace=claim.namespace, run_id=claim.run_id, rule_id=rule_id, version=version,
        verdict=one.judged.verdict, words=one.judged.words,
        statistics=one.judged.statistics | {"spent": one.judged.spent}, candidate_id=proposed, at=context.now,
    )  # fmt: skip
    with database.write() as session:
        guard(session, claim)
        put_recheck(session, row)


def _halted(database: Database, claim: Claim, gone: Sequence[_Looked], active: int) -> list[dict[str, Any]]:
    """The problems of a plan that would retire too much, what tonight staged counted in."""
    with database.read() as session:
        policy = session.get_one(Namespace, claim.namespace).policy
        staged = _retired_by_stage(session, claim)
    limit = retire.limit_of(policy)
    retired = {one.due.rule.key[0] for one in gone} | staged
    if not gone or not retire.halts(retired, active, limit):
        return []
    said = retire.words(retired, active, limit)
    return [
        {"stage": "recheck", "shard": "", "family": family, "error": said}
        for family in sorted({one.due.family for one in gone})
    ]


def _retired_by_stage(session: Session, claim: Claim) -> set[str]:
    steps: Sequence[Any] = steps_of_run(session, claim.run_id)
    results: list[Mapping[str, Any]] = [step.result for step in steps if step.stage == "stage"]
    return {str(rule_id) for result in results for rule_id in result.get("retires", ())}


def _propose(database: Database, claim: Claim, context: StepContext, one: _Looked) -> bool:
    return propose(database, claim, context, one.due.rule, one.judged, one.shown, kind_of(one.judged))
