"""Contrast one family: load what was consumed of it, compare, save what was concluded from which steps.

One shard is one family. A step done again after a crash removes what its first try wrote and writes the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from storage import consolidation, ledger
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim
from storage.queries import consolidation as queries
from storage.tables import Inference, InferenceObservation, Look, Observation
from tasks.context import StepContext
from tasks.contrast.analyse import Analysis, PastLook, Question, analyse
from tasks.contrast.cmh import Ints
from tasks.contrast.confirm import family_alpha, night_alpha
from tasks.contrast.facts import Facts, read_facts, steps_that_show
from tasks.contrast.features import Bools
from tasks.contrast.predicate import happened_words
from tasks.contrast.reading.step import FamilyRuns, load_family, read_bodies
from tasks.contrast.recover_step import recover
from tasks.contrast.recoveries import EVERYWHERE, with_recoveries
from tasks.contrast.ruled_out import ruled_out
from tasks.contrast.saving.step import Shown, save_conclusions
from tasks.contrast.units import Units, build_units, showing, without_kin
from tasks.contrast.verdict import Finding
from tasks.ingest.episode import Episode

MOST_OBSERVATIONS = {"confirmed": 60, "unconfirmed": 40}
"""Observations kept of one inference by its verdict, half of each stance; its counts are of all."""
FEW_OBSERVATIONS = 20
"""Of any other verdict: enough to look into it."""


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Contrast the family named by the claim's shard."""
    if claim.shard == EVERYWHERE:
        return recover(database, claim, context)
    question = _question(database, claim, context)
    family = load_family(database, claim.namespace, claim.shard, context.settings, claim)
    units = build_units(family.runs, family.table, salt=question.salt, last_look=None)
    units = replace(units, sample=without_kin(units.sample, units.runs, family.reads, family.promoted))
    question = replace(question, arrived=units.arrived)
    analysis = analyse(units.sample, question)
    _save(database, claim, context, units, family, analysis, question)
    return _result(analysis, units, family)


def _question(database: Database, claim: Claim, context: StepContext) -> Question:
    """What is asked of the family, with what earlier nights spent and confirmed."""
    settings = context.settings
    with database.read() as session:
        families = queries.families_tested(session, claim.run_id) | {claim.shard}
        informative = with_recoveries(queries.informative_tasks(session, claim.namespace, families), families)
        nights = queries.nights_that_looked(session, claim.namespace, claim.run_id)
        confirmed = queries.looks_confirmed(session, claim.namespace, claim.run_id)
        looked = queries.last_looks(session, claim.namespace, claim.run_id)
    past: dict[str, list[PastLook]] = {}
    for look in confirmed:
        one = PastLook(look.fold, look.p_value, look.alpha, look.odds_ratio, tuple(look.groups))
        past.setdefault(look.predicate_id, []).append(one)
    alpha = family_alpha(night_alpha(settings.yearly_alpha, nights), informative, claim.shard)
    return Question(
        claim.namespace, claim.shard, alpha, settings.q_level, settings.min_confirm_strata, past, nights + 1, looked
    )


def _save(
    database: Database,
    claim: Claim,
    context: StepContext,
    units: Units,
    family: FamilyRuns,
    analysis: Analysis,
    question: Question,
) -> None:
    batch = context.settings.write_batch
    all_rows = [_rows(units, finding) for finding in analysis.findings]
    chosen = [_chosen(units, finding, rows) for finding, rows in zip(analysis.findings, all_rows, strict=True)]
    facts = _facts(database, claim, context, units, {row for rows in chosen for row in rows})
    conclusions: list[tuple[Inference, list[Shown]]] = []
    for finding, rows, cited in zip(analysis.findings, all_rows, chosen, strict=True):
        inference = _inference(claim, units, family, finding, rows, question)
        shown = [_observation(claim, inference.id, units, finding, row, facts) for row in cited]
        conclusions.append((inference, shown))
    save_conclusions(database, claim, batch, conclusions, _looks(claim, context, analysis, question))
    moved = sorted((one, group) for one, group in units.groups.items() if family.grouped.get(one) != group)
    for start in range(0, len(moved), batch):
        with database.write() as session:
            ledger.guard(session, claim)
            consolidation.put_groups(session, claim.namespace, dict(moved[start : start + batch]))


def _feature(units: Units, finding: Finding) -> int:
    return units.sample.columns.predicates.index(finding.predicate.undirected())


def _rows(units: Units, finding: Finding) -> Ints:
    return np.array(showing(units, finding.predicate, _feature(units, finding)), dtype=np.int64)


def _chosen(units: Units, finding: Finding, rows: Ints) -> list[int]:
    """Of the rows that show a finding those that are kept as observations: half of each stance, spread over tasks."""
    half = MOST_OBSERVATIONS.get(finding.verdict, FEW_OBSERVATIONS) // 2
    supports = _supports(units, finding, rows)
    chosen = [_spread(units.sample.stratum[rows[side]], half, np.flatnonzero(side)) for side in (supports, ~supports)]
    return [int(row) for row in rows[np.sort(np.concatenate(chosen))]]


def _spread(tasks: Ints, most: int, places: Ints) -> Ints:
    """So many of the places that every task has one before any has two; the first ones of each."""
    order = np.argsort(tasks, kind="stable")
    starts = np.r_[0, np.flatnonzero(np.diff(tasks[order])) + 1]
    turn = np.empty(len(tasks), dtype=np.int64)
    turn[order] = np.arange(len(tasks)) - np.repeat(starts, np.diff(np.r_[starts, len(tasks)])) if len(tasks) else 0
    return places[np.argsort(turn, kind="stable")[:most]]


def _supports(units: Units, finding: Finding, rows: Ints) -> Bools:
    """Of each row, whether its outcome is the one that the finding promises."""
    return units.sample.success[rows] == (finding.predicate.direction == "do")


def _facts(database: Database, claim: Claim, context: StepContext, units: Units, rows: set[int]) -> Mapping[str, Facts]:
    """Facts with the steps that show them, of these rows only: what is kept packed knows no steps."""
    ids = sorted(units.runs[row].record.episode_id for row in rows)
    found: dict[str, Facts] = {}
    for start in range(0, len(ids), context.settings.read_batch):
        page = ids[start : start + context.settings.read_batch]
        bodies = read_bodies(database, claim.namespace, page, context.settings.read_batch)
        found.update({one: read_facts(Episode.model_validate(body)) for one, body in bodies.items()})
    return found


def _inference(
    claim: Claim, units: Units, family: FamilyRuns, finding: Finding, rows: Ints, question: Question
) -> Inference:
    statistics = {**finding.statistics(question.family), "evidence": _evidence(units, family, finding, rows)}
    return Inference(
        namespace=claim.namespace, id=content_hash([claim.run_id, finding.predicate_id], 32), run_id=claim.run_id,
        family_id=claim.shard, predicate_id=finding.predicate_id, predicate=finding.predicate.canonical(claim.shard),
        verdict=finding.verdict, statement=finding.statement, statistics=statistics,
        next_step=None if finding.needs is None else finding.needs.words(),
        ruled_out=ruled_out(finding.verdict, statistics),
    )  # fmt: skip


def _looks(claim: Claim, context: StepContext, analysis: Analysis, question: Question) -> list[Look]:
    """Every test of tonight, those of other wordings of a finding too."""
    return [
        Look(
            id=content_hash([claim.run_id, tested, trial.fold], 32), namespace=claim.namespace, predicate_id=tested,
            fold=trial.fold, run_id=claim.run_id, number=question.look_number, alpha=trial.alpha, p_value=trial.p_value,
            odds_ratio=trial.odds_ratio if abs(trial.odds_ratio) < float("inf") else None, groups=list(trial.groups),
            confirmed=trial.confirmed and trial.side == analysis.sides[tested], at=context.now,
        )
        for tested, trials in sorted(analysis.trials.items())
        for trial in trials
    ]  # fmt: skip


def _stance(finding: Finding, success: bool) -> str:
    return "support" if success == (finding.predicate.direction == "do") else "counter"


def _observation(
    claim: Claim, inference_id: str, units: Units, finding: Finding, row: int, facts: Mapping[str, Facts]
) -> Shown:
    episode_id = units.runs[row].record.episode_id
    identity = content_hash([inference_id, episode_id], 32)
    won = bool(units.sample.success[row])
    read = facts.get(episode_id)
    observation = Observation(
        namespace=claim.namespace, id=identity, episode_id=episode_id,
        step_ids=[] if read is None else steps_that_show(finding.predicate, read),
        what=f"{happened_words(finding.predicate)}; the run {'succeeded' if won else 'failed'}",
    )  # fmt: skip
    link = InferenceObservation(
        namespace=claim.namespace, inference_id=inference_id, observation_id=identity, stance=_stance(finding, won),
        group_id=units.sample.groups[row],
    )  # fmt: skip
    return observation, link


def _evidence(units: Units, family: FamilyRuns, finding: Finding, shown: Ints) -> dict[str, Any]:
    """Counts of everything that shows the predicate, and of the groups and principals the effect rests on.

    ``read`` are the rule versions that the supporting runs may have read: what is made of it descends from those.
    """
    feature = _feature(units, finding)
    supports = _supports(units, finding, shown)
    tables = units.sample.with_columns(units.sample.columns.take([feature])).tables()
    informative = tables.informative[:, 0][units.sample.stratum]
    rests_on = np.flatnonzero(units.sample.columns.mask[:, feature] & informative).tolist()
    supporting = (units.runs[row].record.episode_id for row in shown[supports].tolist()) if family.reads else ()
    read = {key for one in supporting for key in family.reads.get(one, ())}
    return {
        "support": int(supports.sum()), "counter": int((~supports).sum()), "independent_groups": len(rests_on),
        "principals": len({units.runs[row].principal or "operators" for row in rests_on}),
        "read": [list(key) for key in sorted(read)],
    }  # fmt: skip


def _result(analysis: Analysis, units: Units, family: FamilyRuns) -> dict[str, Any]:
    verdicts = Counter(finding.verdict for finding in analysis.findings)
    confounded = [f.statement for f in analysis.findings if f.verdict in ("confounded", "agent-confounded")]
    return {
        "tests": analysis.tests, "confirmed": verdicts["confirmed"], "unconfirmed": verdicts["unconfirmed"],
        "insufficient": verdicts["insufficient"], "confounded": confounded, "units": len(units.runs),
        "episodes_compared": len(family.runs), "tainted": len(family.tainted), "dropped_by_cap": units.dropped_by_cap,
        "same_as_another": len(units.groups) - len(set(units.groups.values())),
    }  # fmt: skip
