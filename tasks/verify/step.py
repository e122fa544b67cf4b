"""Verify: ask of every draft what a careful reader would, and write the answers beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage.bodies import load_bodies
from storage.engine import Database
from storage.ledger import Claim, guard
from storage.queries import candidates as candidate_queries
from storage.queries import evidence as evidence_queries
from storage.queries import rules as rule_queries
from storage.queries.lineage import reads_of_episodes
from storage.queries.rules import VersionKey
from storage.queries.taint import tainted_among, tainted_episode_ids, tainted_versions
from storage.tables import Draft, Episode, Namespace, RuleVersion
from tasks.cluster.kin import Promoted, RuleTexts, kin_of
from tasks.cluster.kin_step import lines_of, load_promoted
from tasks.context import StepContext
from tasks.contrast.predicate import Predicate, from_canonical, predicate_id
from tasks.contrast.recoveries import is_everywhere
from tasks.draft.model.wording import is_by_model
from tasks.ingest.redact import Redactor
from tasks.stage.settle import same_advice
from tasks.verify.check import AkinRevoked, advice
from tasks.verify.checks import CitedRun, RevokedBefore, Subject, check_all, held_back, rows_of
from tasks.verify.coverage import strayed
from tasks.verify.evidence import Body, read_body
from tasks.verify.replay import ReplayHook, replayed
from tasks.verify.revoked import Revoked, brought_back, claimed_by, name_kin
from tasks.verify.revoked_step import load_revoked
from tasks.verify.tier import tier_of
from tasks.verify.weigh_step import weigh_again


@dataclass(frozen=True)
class _Known:
    """What is read once for all drafts of the step: rules ever promoted, and bodies as they come up."""

    promoted: Promoted
    texts: RuleTexts
    blocking: frozenset[str] | None
    hook: ReplayHook | None
    withdrawn: frozenset[VersionKey]
    revoked: tuple[Revoked, ...]
    tainted: frozenset[str]
    bodies: dict[str, Body] = field(default_factory=dict)


def run(database: Database, claim: Claim, context: StepContext, hook: ReplayHook | None = None) -> dict[str, Any]:
    """Check every rule that was drafted in the run. Run again, it writes the same.

    Returns ``checked``, ``failed`` and ``warned`` by check, ``echoes`` (cited runs that were exposed to kin of what
    they are cited for), ``tainted`` (cited runs that ran under a revoked rule), and ``held_back``: candidate ids with
    why. Neither echoes nor tainted runs support anything.
    """
    with database.read() as session:
        drafts = [one for one in candidate_queries.drafts_of(session, claim.namespace, claim.run_id) if is_rule(one)]
        policy = session.get_one(Namespace, claim.namespace).policy
        promoted = load_promoted(session, claim.namespace)
        withdrawn = frozenset(tainted_versions(session, claim.namespace))
        tainted = frozenset(tainted_episode_ids(session, claim.namespace))
        revoked = load_revoked(session, claim.namespace)
    named = policy.get("blocking_checks")
    blocking = None if named is None else frozenset(named)
    known = _Known(promoted, RuleTexts(promoted.told), blocking, hook, withdrawn, revoked, tainted)
    verdicts: Counter[tuple[str, str]] = Counter()
    held: list[dict[str, str]] = []
    set_aside = {"echoes": set[str](), "tainted": set[str]()}
    for draft in drafts:
        subject = _subject(database, claim, context, draft, known)
        checks = name_kin(check_all(subject), subject)
        _save(database, claim, draft, subject, rows_of(checks, known.blocking))
        verdicts.update((check.verdict, check.name) for check in checks)
        held += [{"candidate": draft.candidate_id, "check": c.name, "why": c.detail} for c in held_back(checks)]
        set_aside["echoes"] |= {one.episode_id for one in subject.cited if one.echo}
        set_aside["tainted"] |= {one.episode_id for one in subject.cited if one.tainted}
    counts = {kind: {name: n for (v, name), n in sorted(verdicts.items()) if v == kind} for kind in ("fail", "warn")}
    return {
        "checked": len(drafts), "failed": counts["fail"], "warned": counts["warn"], "held_back": held,
        **{name: len(ids) for name, ids in set_aside.items()},
    }  # fmt: skip


def is_rule(draft: Draft) -> bool:
    """Whether a draft claims something that can be checked here; an exemplar brings the checks of its own kind."""
    return draft.kind == "rule"


def _subject(database: Database, claim: Claim, context: StepContext, draft: Draft, known: _Known) -> Subject:
    namespace, predicate = claim.namespace, from_canonical(dict(draft.content["predicate"]))
    _read_bodies(database, claim, context, draft, known)
    with database.read() as session:
        cited = _cited(session, namespace, draft, known, predicate)
        active = _active(session, namespace, draft)
        family = str(draft.content["predicate"].get("family"))
        left_out = evidence_queries.count_in_family(session, namespace, family, known.tainted)
        elsewhere = evidence_queries.families_calling(
            session, namespace, predicate.calls, str(draft.content["predicate"].get("family"))
        )
    revoked, akin = (None, None) if active else _revoked(database, claim, context, draft, known)
    return Subject(
        content=draft.content,
        packet=draft.packet,
        cited=cited,
        today=context.now.date(),
        secrets=Redactor().redact(list(lines_of(draft.content)))[1],
        same=None if active is None else (active.rule_id, active.version, _says_the_same(active, draft)),
        revoked=revoked,
        akin=akin,
        elsewhere=elsewhere,
        left_out=left_out,
        replayed=replayed(known.hook, predicate, [run.episode_id for run in cited if run.stance == "support"]),
    )


def _read_bodies(database: Database, claim: Claim, context: StepContext, draft: Draft, known: _Known) -> None:
    """Read the bodies that no earlier draft of this step had read."""
    unread = [episode_id for episode_id in draft.inputs if episode_id not in known.bodies]
    for start in range(0, len(unread), context.settings.read_batch):
        page = unread[start : start + context.settings.read_batch]
        with database.read() as session:
            payloads = load_bodies(session, claim.namespace, page)
            arrived = {one: session.get_one(Episode, (claim.namespace, one)).ingested_at for one in payloads}
        known.bodies.update({one: read_body(body, known.texts, arrived[one]) for one, body in payloads.items()})


def _cited(session: Session, namespace: str, draft: Draft, known: _Known, claim: Predicate) -> list[CitedRun]:
    observed = evidence_queries.observations_of(session, namespace, draft.inference_id)
    ids = {episode.id for _, _, episode in observed}
    tainted = tainted_among(session, namespace, ids)
    kin = kin_of(claim, known.promoted, lines_of(draft.content))
    reads = reads_of_episodes(session, namespace, ids) if kin else {}
    clusters = evidence_queries.clusters_of_episodes(session, namespace, ids)
    cited = []
    for link, observation, episode in sorted(observed, key=lambda row: _arrival(row[2])):
        body = known.bodies.get(episode.id)
        steps = frozenset(observation.step_ids)
        read = reads.get(episode.id, set()) | (body.read if body else frozenset())
        agent = episode.agent or ""
        cited.append(
            CitedRun(
                episode_id=episode.id,
                group=link.group_id,
                stance=link.stance,
                steps=steps,
                known_steps=body.steps if body else frozenset(),
                current=episode.is_current and episode.purged_at is None and body is not None,
                tainted=episode.id in tainted or not known.withdrawn.isdisjoint(read),
                echo=not kin.isdisjoint(read),
                external=episode.trust == "external" or bool(body and steps & body.external),
                signs=body.signs if body else (),
                hints=body.hints if body else (),
                literals=body.literals if body else frozenset(),
                strayed=strayed(
                    claim,
                    draft.content.get("scope") or {},
                    body.facts,
                    agent,
                    body.chains if is_everywhere(draft.content["predicate"]) else None,
                )
                if body
                else "",
                cluster=clusters.get(episode.id, ("", ""))[0],
                stratum=clusters.get(episode.id, ("", episode.task_key))[1] or episode.task_key,
            )
        )
    return cited


def _arrival(episode: Episode) -> tuple[datetime, str, int, str]:
    """The order in which runs came in: an order split over several is read in it."""
    return episode.ingested_at, episode.source_file or "", episode.source_line or 0, episode.id


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


def _revoked(
    database: Database, claim: Claim, context: StepContext, draft: Draft, known: _Known
) -> tuple[RevokedBefore | None, AkinRevoked | None]:
    """The latest revoked version that made this claim, in whatever words; without one, the latest that is akin."""
    if not known.revoked:
        return None, None
    stored, lines = draft.content["predicate"], lines_of(draft.content)
    drafted = claimed_by(draft.content, draft.packet, lines)
    kin = kin_of(from_canonical(dict(stored)), known.promoted, lines)
    latest = brought_back(drafted, known.revoked, kin)
    back = max((latest[how] for how in ("same", "reworded") if how in latest), key=lambda one: one.at, default=None)
    if back is not None:
        since = weigh_again(database, claim.namespace, stored, context.settings, since=back.at)
        return RevokedBefore(*back.key, back.reason, back.at.isoformat(), since, back is not latest.get("same")), None
    akin = latest.get("akin")
    return None, None if akin is None else AkinRevoked(*akin.key, akin.reason, akin.at.isoformat())


def _save(
    database: Database, claim: Claim, draft: Draft, subject: Subject, checks: Sequence[Mapping[str, Any]]
) -> None:
    tiered = tier_of(
        draft.content["predicate"],
        external=any(run.external for run in subject.cited),
        ordered=any(check["name"] == "injection" and check["verdict"] != "pass" for check in checks),
        said=advice(draft.content) if is_by_model(draft.drafter) else (),
    )
    before = subject.revoked
    with database.write() as session:
        guard(session, claim)
        stored = session.get_one(Draft, (draft.namespace, draft.id))
        stored.checks = [dict(check) for check in checks]
        stored.packet = {
            **stored.packet,
            "checks": [dict(check) for check in checks],
            "conflicts": stored.conflicts,
            "tier": tiered.tier,
            "tier_why": tiered.why,
            "revoked_before": None
            if before is None
            else {"rule": before.rule_id, "version": before.version, "at": before.at, "reason": before.reason},
        }
