"""Draft what the night confirmed: one draft a finding, whatever the mode of its cluster."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from sqlmodel import Session

from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim, guard
from storage.queries import evidence as evidence_queries
from storage.tables import Draft, Episode, Family, Inference, InferenceObservation, Namespace, Observation
from tasks.context import StepContext
from tasks.draft import ask_step, choose_step
from tasks.draft.actions import marked
from tasks.draft.ask_step import Asked
from tasks.draft.choose_step import Night
from tasks.draft.drafter import Brief, Cited, Drafter
from tasks.draft.model.budget import LIMITS
from tasks.draft.model_step import word_draft
from tasks.draft.statistical import StatisticalDrafter


def run(database: Database, claim: Claim, context: StepContext, drafter: Drafter | None = None) -> dict[str, Any]:
    """Draft every confirmed finding of the run, and no other. Run again, it writes the same rows once.

    The figures of a draft are the statistics'; where a model may write, the words may be its. Under the regime
    ``episodic`` nothing is drafted. Returns ``findings``, ``drafts``, ``drafter``, ``regime``, the night's clusters by
    action and mode, what the model was asked and what was ``allowed`` of it, and ``problems``.
    """
    writer = drafter or StatisticalDrafter()
    night = choose_step.run(database, claim, context)
    asked = ask_step.run(database, claim, context, night)
    with database.read() as session:
        findings = evidence_queries.confirmed_inferences(session, claim.namespace, claim.run_id)
    drafts: list[Draft] = []
    if night.regime != "episodic":
        drafts = [_draft(database, claim, context, writer, finding, night) for finding in findings]
    _save(database, claim, context, drafts, asked)
    counts = {"findings": len(findings), "drafts": len(drafts), **night.counts(), **asked.counts}
    allowed = asdict(context.settings.drafting.under(night.policy))
    return {
        **counts, "drafter": writer.name, "regime": night.regime, "problems": asked.problems,
        "allowed": {name: allowed[name] for name in LIMITS},
    }  # fmt: skip


def _draft(
    database: Database, claim: Claim, context: StepContext, writer: Drafter, finding: Inference, night: Night
) -> Draft:
    with database.read() as session:
        brief = _brief(session, claim.namespace, context, finding)
    drafted = writer.draft(brief)
    return Draft(
        namespace=claim.namespace,
        id=content_hash([claim.run_id, brief.candidate_id], 32),
        run_id=claim.run_id,
        candidate_id=brief.candidate_id,
        inference_id=finding.id,
        cluster_id=night.homes.get(finding.id),
        kind="rule",
        drafter=writer.name,
        mode=drafted.mode,
        content=drafted.content,
        packet=marked(drafted.packet, night.regime, night.policy),
        inputs=brief.inputs,
        prompt_hash=brief.prompt_hash,
        cost=drafted.cost,
        created_at=context.now,
    )


def _brief(session: Session, namespace: str, context: StepContext, finding: Inference) -> Brief:
    family = session.get(Family, (namespace, finding.family_id))
    policy = (session.get_one(Namespace, namespace)).policy
    observed = evidence_queries.observations_of(session, namespace, finding.id)
    return Brief(
        namespace=namespace,
        family_label=family.label if family else finding.family_id,
        predicate=finding.predicate,
        statement=finding.statement,
        statistics=finding.statistics,
        cited=tuple(_cited(*row) for row in observed),
        owner=str(policy.get("owner") or f"the reviewers of {namespace}"),
        recheck_at=(context.now + timedelta(days=context.settings.recheck_days)).date().isoformat(),
    )


def _cited(link: InferenceObservation, observation: Observation, episode: Episode) -> Cited:
    return Cited(
        episode_id=episode.id,
        step_ids=tuple(observation.step_ids),
        stance=link.stance,
        group=link.group_id,
        stratum=episode.task_key,
        outcome=episode.outcome,
        outcome_source=episode.outcome_source,
        principal=episode.principal,
        environment=tuple(sorted(episode.environment.items())),
    )


def _save(database: Database, claim: Claim, context: StepContext, drafts: list[Draft], asked: Asked) -> None:
    size = max(1, context.settings.write_batch // 20)
    for start in range(0, len(drafts), size):
        with database.write() as session:
            guard(session, claim)
            for draft in drafts[start : start + size]:
                if session.get(Draft, (draft.namespace, draft.id)) is None:
                    session.add(word_draft(session, draft, asked.wordings.get(draft.inference_id)))
