"""Contrast one family: load what was consumed of it, compare, save what was concluded from which steps.

One shard is one family. A step done again after a crash removes what its first try wrote and writes the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from storage import consolidation, ledger
from storage.bodies import load_bodies
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim
from storage.queries import consolidation as queries
from storage.queries.lineage import reads_of_episodes
from storage.queries.taint import tainted_among
from storage.tables import Episode, Inference, InferenceObservation, Look, Observation
from tasks.cluster.independence import Record, sketch, trace_text
from tasks.context import StepContext
from tasks.contrast.analyse import Analysis, PastLook, Question, analyse
from tasks.contrast.confirm import family_alpha, night_alpha
from tasks.contrast.facts import read_facts, steps_that_show
from tasks.contrast.predicate import Predicate, PredicateInvalid, from_canonical, happened_words
from tasks.contrast.units import Run, Units, build_units, showing, without_kin
from tasks.contrast.verdict import Finding
from tasks.ingest.episode import Episode as CanonicalEpisode

MOST_OBSERVATIONS = 400
"""Observations kept of one inference, half of each stance; its counts are of all."""

Shown = tuple[Observation, InferenceObservation]


@dataclass(frozen=True)
class _History:
    """What earlier nights spent and confirmed."""

    question: Question
    last_look: str | None


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Contrast the family named by the claim's shard."""
    history = _history(database, claim, context)
    runs, tainted = _load(database, claim, context)
    units = build_units(runs, salt=history.question.salt, last_look=history.last_look)
    units = _without_echoes(database, claim, units)
    analysis = analyse(units.sample, history.question)
    _save(database, claim, context, units, analysis, history.question)
    return _result(analysis, units, runs, tainted)


def _history(database: Database, claim: Claim, context: StepContext) -> _History:
    settings = context.settings
    with database.read() as session:
        families = queries.families_tested(session, claim.run_id) | {claim.shard}
        informative = queries.informative_tasks(session, claim.namespace, families)
        nights = queries.nights_that_looked(session, claim.namespace, claim.run_id)
        confirmed = queries.looks_confirmed(session, claim.namespace, claim.run_id)
        last_look = queries.last_look_of_family(session, claim.namespace, claim.shard, claim.run_id)
    past: dict[str, list[PastLook]] = {}
    for look in confirmed:
        one = PastLook(look.fold, look.p_value, look.alpha, look.odds_ratio, tuple(look.groups))
        past.setdefault(look.predicate_id, []).append(one)
    alpha = family_alpha(night_alpha(settings.yearly_alpha, nights), informative, claim.shard)
    question = Question(
        claim.namespace, claim.shard, alpha, settings.q_level, settings.min_confirm_strata, past, nights + 1
    )
    return _History(question, last_look)


def _load(database: Database, claim: Claim, context: StepContext) -> tuple[list[Run], int]:
    """Every untainted episode of the family, in the order of arrival, and how many were left out as tainted."""
    with database.read() as session:
        rows = queries.episodes_of_family(session, claim.namespace, claim.shard)
        tainted = tainted_among(session, claim.namespace, [episode.id for episode, _ in rows])
    clean = [(episode, consumed_by) for episode, consumed_by in rows if episode.id not in tainted]
    runs: list[Run] = []
    for start in range(0, len(clean), context.settings.read_batch):
        page = clean[start : start + context.settings.read_batch]
        with database.read() as session:
            bodies = load_bodies(session, claim.namespace, [episode.id for episode, _ in page])
        runs += [_run(e, bodies[e.id], consumed_by) for e, consumed_by in page if e.id in bodies]
    return runs, len(tainted)


def _run(row: Episode, body: dict[str, Any], consumed_by: str) -> Run:
    episode = CanonicalEpisode.model_validate(body)
    names = tuple(name for name in (row.id, row.source_id) if name)
    record = Record(
        row.id, row.task_key, row.session_id, row.started_at, row.retry_of, names, sketch(trace_text(episode))
    )
    described = episode.metadata.get("instruction")
    return Run(
        record, read_facts(episode), described if isinstance(described, str) else "", row.outcome, row.outcome_source,
        row.agent or row.model or "", row.principal if row.principal_capped else None, consumed_by,
    )  # fmt: skip


def _without_echoes(database: Database, claim: Claim, units: Units) -> Units:
    """Leave runs out of the evidence for kin of the rules they had read."""
    with database.read() as session:
        rules = _predicates(session, claim.namespace)
        reads = (
            reads_of_episodes(session, claim.namespace, [run.record.episode_id for run in units.runs]) if rules else {}
        )
    readers = {one: [rules[key] for key in sorted(keys) if key in rules] for one, keys in reads.items()}
    return Units(units.runs, without_kin(units.sample, units.runs, readers), units.groups, units.dropped_by_cap)


def _predicates(session: Session, namespace: str) -> dict[tuple[str, int], Predicate]:
    found: dict[tuple[str, int], Predicate] = {}
    for rule_id, version, stored in queries.predicates_promoted(session, namespace):
        try:
            found[rule_id, version] = from_canonical(stored)
        except PredicateInvalid:
            continue  # An exemplar, or a rule of another drafter, claims nothing a machine checks.
    return found


def _save(
    database: Database, claim: Claim, context: StepContext, units: Units, analysis: Analysis, question: Question
) -> None:
    batch = context.settings.write_batch
    removed = 1
    while removed:
        with database.write() as session:
            ledger.guard(session, claim)
            removed = consolidation.clear_conclusions(session, claim.namespace, claim.run_id, claim.shard, batch)
    for finding in analysis.findings:
        inference, shown = _conclusion(claim, units, finding, question)
        with database.write() as session:
            ledger.guard(session, claim)
            session.add(inference)
        for start in range(0, len(shown), batch):
            with database.write() as session:
                ledger.guard(session, claim)
                consolidation.put_observations(session, shown[start : start + batch])
    with database.write() as session:
        ledger.guard(session, claim)
        consolidation.put_looks(session, _looks(claim, context, analysis, question))
    members = sorted(units.groups.items())
    for start in range(0, len(members), batch):
        with database.write() as session:
            ledger.guard(session, claim)
            consolidation.put_groups(session, claim.namespace, dict(members[start : start + batch]))


def _conclusion(claim: Claim, units: Units, finding: Finding, question: Question) -> tuple[Inference, list[Shown]]:
    """The inference, and what it was concluded from."""
    inference_id = content_hash([claim.run_id, finding.predicate_id], 32)
    feature = units.sample.columns.predicates.index(finding.predicate.undirected())
    rows = showing(units, finding.predicate, feature)
    statistics = {**finding.statistics(question.family), "evidence": _evidence(units, finding, feature, rows)}
    inference = Inference(
        namespace=claim.namespace, id=inference_id, run_id=claim.run_id, family_id=claim.shard,
        predicate_id=finding.predicate_id, predicate=finding.predicate.canonical(claim.shard), verdict=finding.verdict,
        statement=finding.statement, statistics=statistics,
        next_step=None if finding.needs is None else finding.needs.words(),
    )  # fmt: skip
    room = Counter({"support": MOST_OBSERVATIONS // 2, "counter": MOST_OBSERVATIONS // 2})
    shown: list[Shown] = []
    for row in rows:
        stance = _stance(finding, bool(units.sample.success[row]))
        if room[stance] > 0:
            room[stance] -= 1
            shown.append(_observation(claim, inference_id, units, finding, row, stance))
    return inference, shown


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


def _observation(claim: Claim, inference_id: str, units: Units, finding: Finding, row: int, stance: str) -> Shown:
    run = units.runs[row]
    episode_id = run.record.episode_id
    identity = content_hash([inference_id, episode_id], 32)
    ended = "succeeded" if units.sample.success[row] else "failed"
    observation = Observation(
        namespace=claim.namespace, id=identity, episode_id=episode_id,
        step_ids=steps_that_show(finding.predicate, run.facts),
        what=f"{happened_words(finding.predicate)}; the run {ended}",
    )  # fmt: skip
    link = InferenceObservation(
        namespace=claim.namespace, inference_id=inference_id, observation_id=identity, stance=stance,
        group_id=units.sample.groups[row],
    )  # fmt: skip
    return observation, link


def _evidence(units: Units, finding: Finding, feature: int, shown: Sequence[int]) -> dict[str, int]:
    """Counts of everything that shows the predicate, and of the groups and principals the effect rests on."""
    stances = Counter(_stance(finding, bool(units.sample.success[row])) for row in shown)
    tables = units.sample.with_columns(units.sample.columns.take([feature])).tables()
    informative = tables.informative[:, 0]
    rests_on = [
        row
        for row in range(len(units.runs))
        if units.sample.columns.mask[row, feature] and informative[units.sample.stratum[row]]
    ]
    principals = {units.runs[row].principal or "operators" for row in rests_on}
    return {
        "support": stances["support"], "counter": stances["counter"], "independent_groups": len(rests_on),
        "principals": len(principals),
    }  # fmt: skip


def _result(analysis: Analysis, units: Units, runs: Sequence[Run], tainted: int) -> dict[str, Any]:
    verdicts = Counter(finding.verdict for finding in analysis.findings)
    confounded = [f.statement for f in analysis.findings if f.verdict in ("confounded", "agent-confounded")]
    return {
        "tests": analysis.tests, "confirmed": verdicts["confirmed"], "unconfirmed": verdicts["unconfirmed"],
        "insufficient": verdicts["insufficient"], "confounded": confounded, "units": len(units.runs),
        "episodes_compared": len(runs), "tainted": tainted, "dropped_by_cap": units.dropped_by_cap,
    }  # fmt: skip
