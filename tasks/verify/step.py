"""Verify: ask of every draft what a careful reader would, and write the answers beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage.bodies import load_bodies
from storage.engine import Database
from storage.ledger import Claim, guard
from storage.queries import candidates as candidate_queries
from storage.queries import consolidation as family_queries
from storage.queries import evidence as evidence_queries
from storage.queries import rules as rule_queries
from storage.queries.lineage import reads_of_episodes
from storage.queries.rules import VersionKey
from storage.queries.taint import tainted_among
from storage.tables import Draft, Episode, RuleVersion
from tasks.cluster.independence import Record, sketch, trace_text
from tasks.context import PipelineSettings, StepContext
from tasks.contrast.facts import read_facts
from tasks.contrast.predicate import Predicate, PredicateInvalid, from_canonical, predicate_id
from tasks.contrast.units import Run, are_kin
from tasks.ingest.episode import Episode as CanonicalEpisode
from tasks.ingest.redact import Redactor
from tasks.stage.settle import same_advice
from tasks.verify.checks import CitedRun, RevokedBefore, Subject, check_all, held_back
from tasks.verify.evidence import Body, read_body
from tasks.verify.support import Remaining, weigh
from tasks.verify.tier import tier_of


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Check every draft of the run. Run again, it writes the same.

    Returns ``checked``, ``failed`` and ``warned`` by check, and ``held_back``: candidate ids with why.
    """
    with database.read() as session:
        drafts = list(candidate_queries.drafts_of(session, claim.namespace, claim.run_id))
    bodies: dict[str, Body] = {}
    verdicts: Counter[tuple[str, str]] = Counter()
    held: list[dict[str, str]] = []
    for draft in drafts:
        subject = _subject(database, claim, context, draft, bodies)
        checks = check_all(subject)
        _save(database, claim, draft, subject, [check.as_row() for check in checks])
        verdicts.update((check.verdict, check.name) for check in checks)
        held += [{"candidate": draft.candidate_id, "check": c.name, "why": c.detail} for c in held_back(checks)]
    counts = {kind: {name: n for (v, name), n in sorted(verdicts.items()) if v == kind} for kind in ("fail", "warn")}
    return {"checked": len(drafts), "failed": counts["fail"], "warned": counts["warn"], "held_back": held}


def weigh_again(
    database: Database,
    namespace: str,
    predicate: Mapping[str, Any],
    settings: PipelineSettings,
    *,
    since: datetime | None = None,
) -> Remaining:
    """The support that a claim has now: over all of its family's runs that count, or those that arrived ``since``.

    Tainted runs and those of external trust do not count, nor for this claim those that had read a rule akin to it.
    """
    family, claim = str(predicate.get("family")), from_canonical(dict(predicate))
    with database.read() as session:
        rows = family_queries.episodes_of_family(session, namespace, family)
        tainted = tainted_among(session, namespace, [episode.id for episode, _ in rows])
        kept = [
            (episode, consumed)
            for episode, consumed in rows
            if episode.id not in tainted
            and episode.trust != "external"
            and (since is None or episode.ingested_at > since)
        ]
        readers = _readers(session, namespace, [episode.id for episode, _ in kept])
    runs: list[Run] = []
    for start in range(0, len(kept), settings.read_batch):
        page = kept[start : start + settings.read_batch]
        with database.read() as session:
            payloads = load_bodies(session, namespace, [episode.id for episode, _ in page])
        runs += [_run(episode, payloads[episode.id], by) for episode, by in page if episode.id in payloads]
    return weigh(runs, claim, salt=f"fold\x00{namespace}", readers=readers)


def _readers(session: Session, namespace: str, episode_ids: Collection[str]) -> dict[str, list[Predicate]]:
    """The claims of the rules that each episode may have read."""
    rules = _promoted(session, namespace)
    reads = reads_of_episodes(session, namespace, episode_ids) if rules else {}
    return {one: [rules[key] for key in sorted(keys) if key in rules] for one, keys in reads.items()}


def _promoted(session: Session, namespace: str) -> dict[VersionKey, Predicate]:
    found: dict[VersionKey, Predicate] = {}
    for rule_id, version, stored in family_queries.predicates_promoted(session, namespace):
        try:
            found[rule_id, version] = from_canonical(stored)
        except PredicateInvalid:
            continue  # An exemplar claims nothing a machine checks.
    return found


def _run(row: Episode, payload: dict[str, Any], consumed_by: str) -> Run:
    episode = CanonicalEpisode.model_validate(payload)
    names = tuple(name for name in (row.id, row.source_id) if name)
    described = episode.metadata.get("instruction")
    return Run(
        Record(row.id, row.task_key, row.session_id, row.started_at, row.retry_of, names, sketch(trace_text(episode))),
        read_facts(episode),
        described if isinstance(described, str) else "",
        row.outcome,
        row.outcome_source,
        row.agent or row.model or "",
        row.principal if row.principal_capped else None,
        consumed_by,
    )


def _subject(database: Database, claim: Claim, context: StepContext, draft: Draft, bodies: dict[str, Body]) -> Subject:
    _read_bodies(database, claim, context, draft, bodies)
    with database.read() as session:
        cited = _cited(session, claim.namespace, draft, bodies)
        active = _active(session, claim.namespace, draft)
        revoked = None if active else _revoked(session, claim.namespace, draft)
    before = None
    if revoked is not None:
        since = weigh_again(
            database, claim.namespace, draft.content["predicate"], context.settings, since=revoked.state_at
        )
        before = RevokedBefore(
            revoked.rule_id, revoked.version, revoked.state_reason, revoked.state_at.isoformat(), since
        )
    advice = [str(draft.content["when_to_use"]), *map(str, draft.content["guidance"])]
    return Subject(
        content=draft.content,
        packet=draft.packet,
        cited=cited,
        today=context.now.date(),
        secrets=Redactor().redact(advice)[1],
        same=None if active is None else (active.rule_id, active.version, _says_the_same(active, draft)),
        revoked=before,
    )


def _read_bodies(database: Database, claim: Claim, context: StepContext, draft: Draft, bodies: dict[str, Body]) -> None:
    """Read the bodies that no earlier draft of this step had read."""
    unread = [episode_id for episode_id in draft.inputs if episode_id not in bodies]
    for start in range(0, len(unread), context.settings.read_batch):
        with database.read() as session:
            payloads = load_bodies(session, claim.namespace, unread[start : start + context.settings.read_batch])
        bodies.update({episode_id: read_body(payload) for episode_id, payload in payloads.items()})


def _cited(session: Session, namespace: str, draft: Draft, bodies: Mapping[str, Body]) -> list[CitedRun]:
    observed = evidence_queries.observations_of(session, namespace, draft.inference_id)
    ids = {episode.id for _, _, episode in observed}
    tainted = tainted_among(session, namespace, ids)
    claim = from_canonical(draft.content["predicate"])
    readers = _readers(session, namespace, ids)
    cited = []
    for link, observation, episode in observed:
        body = bodies.get(episode.id)
        steps = frozenset(observation.step_ids)
        cited.append(
            CitedRun(
                episode_id=episode.id,
                group=link.group_id,
                stance=link.stance,
                steps=steps,
                known_steps=body.steps if body else frozenset(),
                current=episode.is_current and episode.purged_at is None and body is not None,
                tainted=episode.id in tainted,
                echo=any(are_kin(claim, rule) for rule in readers.get(episode.id, ())),
                external=episode.trust == "external" or bool(body and steps & body.external),
                signs=body.signs if body else (),
            )
        )
    return cited


def _active(session: Session, namespace: str, draft: Draft) -> RuleVersion | None:
    """The active version that makes this claim, or makes it in other words."""
    family = str(draft.content["predicate"].get("family"))
    worded = [draft.content["predicate"], *(draft.packet.get("also_worded") or [])]
    for predicate in worded:
        identity = predicate_id(namespace, family, from_canonical(dict(predicate)))
        rule = rule_queries.rule_by_predicate(session, namespace, identity)
        versions = rule_queries.versions_of(session, namespace, rule.id) if rule else []
        found = next((row for row in versions if row.state == "active"), None)
        if found is not None:
            return found
    return None


def _says_the_same(active: RuleVersion, draft: Draft) -> bool:
    """Same text, or another wording of the same finding: either way nothing new for a reader."""
    other_words = active.content.get("predicate") != draft.content.get("predicate")
    return other_words or same_advice(active.content, draft.content)


def _revoked(session: Session, namespace: str, draft: Draft) -> RuleVersion | None:
    predicate = draft.content["predicate"]
    identity = predicate_id(namespace, str(predicate.get("family")), from_canonical(predicate))
    return rule_queries.revoked_versions_with(session, namespace, [identity]).get(identity)


def _save(database: Database, claim: Claim, draft: Draft, subject: Subject, checks: Sequence[dict[str, str]]) -> None:
    tiered = tier_of(
        draft.content["predicate"],
        mixed=bool(draft.packet.get("exceptions")),
        external=any(run.external for run in subject.cited),
    )
    before = subject.revoked
    with database.write() as session:
        guard(session, claim)
        stored = session.get_one(Draft, (draft.namespace, draft.id))
        stored.checks = list(checks)
        stored.packet = {
            **stored.packet,
            "checks": list(checks),
            "conflicts": stored.conflicts,
            "tier": tiered.tier,
            "tier_why": tiered.why,
            "revoked_before": None
            if before is None
            else {"rule": before.rule_id, "version": before.version, "at": before.at, "reason": before.reason},
        }
