"""Propose raw runs as examples where a cluster is to have no text: at most as many a night as the policy allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from sqlmodel import Session

from storage import audit
from storage.bodies import load_bodies
from storage.candidates import add_revision
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim, guard
from storage.queries import candidates as candidate_queries
from storage.queries import choices as queries
from storage.queries.lineage import reads_of_episodes
from storage.queries.taint import tainted_among
from storage.tables import Candidate, CandidateRevision, Cluster, Episode, Evidence, ModeChoice, Namespace
from tasks.cluster.kin import RuleTexts, texts_found
from tasks.cluster.kin_step import load_promoted
from tasks.context import StepContext
from tasks.draft.exemplars import Shown, Source, content, exemplar_id, medoid, packet, shown
from tasks.ingest.redact import Redactor
from tasks.stage import columns
from tasks.stage.reach_step import sessions_reached
from tasks.stage.settle import packet_hash
from tasks.verify.evidence import read_body

AUTHOR = "drafter:exemplar/1"
LOOKED_AT = 40
"""Successes of a cluster, the newest, among which the example is chosen."""


def run(database: Database, claim: Claim, context: StepContext) -> int:
    """Stage exemplars of the clusters whose mode is none, those with the most successes first; returns how many.

    Off unless the namespace's policy has ``exemplars`` above 0. A cluster that has one, waiting or served, gets no
    other. Run again, it counts what it staged before.
    """
    with database.read() as session:
        policy = session.get_one(Namespace, claim.namespace).policy
        choices = queries.choices_shown(session, claim.namespace, claim.run_id)
        staged = queries.exemplars_by_run(session, claim.namespace, claim.run_id)
    room = int(policy.get("exemplars") or 0) - staged
    without_text = [(choice, cluster) for choice, cluster in choices if choice.mode == "none"]
    for choice, cluster in sorted(without_text, key=_most_successes):
        if room <= 0:
            break
        proposed = _propose(database, claim, context, policy, choice, cluster)
        staged, room = staged + proposed, room - proposed
    return staged


def _most_successes(pair: tuple[ModeChoice, Cluster]) -> tuple[int, str]:
    return -int(pair[0].profile.get("successes") or 0), pair[1].id


def _propose(
    database: Database,
    claim: Claim,
    context: StepContext,
    policy: Mapping[str, object],
    choice: ModeChoice,
    cluster: Cluster,
) -> bool:
    """One exemplar of one cluster, if a run is fit."""
    with database.read() as session:
        if queries.exemplars_of(session, claim.namespace, cluster.id):
            return False
        rows = queries.successes_of(session, claim.namespace, cluster.id, LOOKED_AT)
        fit = _fit(session, claim.namespace, rows)
    chosen = medoid(fit)
    if chosen is None:
        return False
    episode = next(row for row, _ in rows if row.id == chosen.episode_id)
    source = Source(
        namespace=claim.namespace,
        cluster_label=cluster.label,
        task=episode.task,
        outcome_source=episode.outcome_source,
        environment=dict(episode.environment),
        owner=str(policy.get("owner") or f"the reviewers of {claim.namespace}"),
        recheck_at=(context.now + timedelta(days=context.settings.recheck_days)).date().isoformat(),
        successes=int(choice.profile.get("successes") or 0),
    )
    return _stage(database, claim, context, choice, episode, chosen, source)


def _fit(session: Session, namespace: str, rows: Sequence[tuple[Episode, str]]) -> list[Shown]:
    """The runs that nothing speaks against: unexposed, untainted, none of it from outside, not proposed before."""
    ids = [episode.id for episode, _ in rows]
    proposed = candidate_queries.candidates_by_ids(session, namespace, [exemplar_id(namespace, one) for one in ids])
    spoiled = tainted_among(session, namespace, ids) | set(reads_of_episodes(session, namespace, ids))
    texts, redactor = RuleTexts(load_promoted(session, namespace).told), Redactor()
    bodies = load_bodies(session, namespace, [one for one in ids if one not in spoiled])
    fit = []
    for episode, group in rows:
        body = bodies.get(episode.id)
        if body is None or exemplar_id(namespace, episode.id) in proposed or texts_found(body, texts):
            continue
        looked_at = read_body(body)
        if not looked_at.signs and not looked_at.external and not redactor.redact(body)[1]:
            fit.append(shown(episode.id, group, body))
    return fit


def _stage(
    database: Database,
    claim: Claim,
    context: StepContext,
    choice: ModeChoice,
    episode: Episode,
    chosen: Shown,
    source: Source,
) -> bool:
    """Put it before the reviewers, in one transaction; False if somebody did already."""
    identity, text, told = exemplar_id(claim.namespace, episode.id), content(chosen, source), packet(chosen, source)
    with database.read() as session:
        reach = sessions_reached(session, claim.namespace, choice.family_id, text["scope"], context.now).count
    with database.write() as session:
        guard(session, claim)
        if candidate_queries.candidate_by_id(session, claim.namespace, identity, lock=True) is not None:
            return False
        candidate = Candidate(
            namespace=claim.namespace, id=identity, kind="exemplar", tier=told["tier"], tier_why=told["tier_why"],
            content_hash=content_hash(text), packet_hash=packet_hash(told), title=text["when_to_use"],
            predicate_id=identity, family_id=choice.family_id, cluster_id=choice.cluster_id, run_id=claim.run_id,
            created_at=context.now, updated_at=context.now, reach=reach, **columns.queue_columns(told, [columns.NEW]),
        )  # fmt: skip
        session.add(candidate)
        session.flush()
        revision = CandidateRevision(
            namespace=claim.namespace, candidate_id=identity, number=1, run_id=claim.run_id, content=text,
            content_hash=candidate.content_hash, packet=told, packet_hash=candidate.packet_hash, author=AUTHOR,
            drafter=AUTHOR, mode="none", inputs=[episode.id], prompt_hash=content_hash([AUTHOR, identity]),
            created_at=context.now,
        )  # fmt: skip
        evidence = Evidence(
            namespace=claim.namespace, id=content_hash([identity, 1, episode.id], 32), candidate_id=identity, number=1,
            episode_id=episode.id, step_ids=list(chosen.cited), stance="support", group_id=chosen.group,
            stratum=episode.task_key,
        )  # fmt: skip
        add_revision(session, revision, [evidence])
        audit.record(
            session, actor=context.actor, action="candidate.create", namespace=claim.namespace,
            target=f"candidate:{identity}", now=context.now,
            detail={"run": claim.run_id, "number": 1, "content_hash": candidate.content_hash},
        )  # fmt: skip
        return True
