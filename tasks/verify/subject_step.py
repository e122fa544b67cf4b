"""A text with everything that is asked about it, read from the store: a draft of tonight, or a person's edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlmodel import Session

from storage.bodies import load_bodies
from storage.engine import Database
from storage.queries import evidence as evidence_queries
from storage.queries import rules as rule_queries
from storage.queries.lineage import reads_of_episodes
from storage.queries.rules import VersionKey
from storage.queries.taint import tainted_among, tainted_episode_ids, tainted_versions
from storage.tables import Draft, Episode, Namespace, RuleVersion
from tasks.cluster.kin import Promoted, RuleTexts, kin_of
from tasks.cluster.kin_step import lines_of, load_promoted
from tasks.context import PipelineSettings
from tasks.contrast.predicate import Predicate, from_canonical, predicate_id, stored_id
from tasks.contrast.recoveries import is_everywhere
from tasks.ingest.redact import Redactor
from tasks.stage.settle import same_advice
from tasks.verify.check import AkinRevoked
from tasks.verify.checks import CitedRun, RevokedBefore, Subject
from tasks.verify.coverage import strayed
from tasks.verify.evidence import Body, read_body
from tasks.verify.replay import ReplayHook, replayed
from tasks.verify.revoked import Revoked, brought_back, claimed_by
from tasks.verify.revoked_step import load_revoked
from tasks.verify.weigh_step import weigh_again


class Seen(NamedTuple):
    """One cited run: its row, the cited steps, its stance and its independence group."""

    episode: Episode
    step_ids: Sequence[str]
    stance: str
    group: str


@dataclass(frozen=True)
class Asked:
    """A text to check, with its packet and what it cites."""

    namespace: str
    content: Mapping[str, Any]
    packet: Mapping[str, Any]
    seen: Sequence[Seen]


@dataclass(frozen=True)
class Known:
    """What is read once for all texts of a step: rules ever promoted, and bodies as they come up.

    ``blocking`` are the checks whose failure keeps a text from being approved, by policy; None for all.
    """

    promoted: Promoted
    texts: RuleTexts
    blocking: frozenset[str] | None
    hook: ReplayHook | None
    withdrawn: frozenset[VersionKey]
    revoked: tuple[Revoked, ...]
    tainted: frozenset[str]
    bodies: dict[str, Body] = field(default_factory=dict)


def load_known(session: Session, namespace: str, hook: ReplayHook | None = None) -> Known:
    """What every check of a namespace's texts needs."""
    promoted = load_promoted(session, namespace)
    named = session.get_one(Namespace, namespace).policy.get("blocking_checks")
    return Known(
        promoted=promoted,
        texts=RuleTexts(promoted.told),
        blocking=None if named is None else frozenset(named),
        hook=hook,
        withdrawn=frozenset(tainted_versions(session, namespace)),
        revoked=load_revoked(session, namespace),
        tainted=frozenset(tainted_episode_ids(session, namespace)),
    )


def asked_of_draft(session: Session, draft: Draft) -> Asked:
    """A draft of tonight with what it was concluded from."""
    observed = evidence_queries.observations_of(session, draft.namespace, draft.inference_id)
    seen = [Seen(episode, observation.step_ids, link.stance, link.group_id) for link, observation, episode in observed]
    return Asked(draft.namespace, draft.content, draft.packet, seen)


def asked_of_revision(
    session: Session, namespace: str, candidate_id: str, number: int, packet: Mapping[str, Any]
) -> Asked:
    """A candidate's revision with the evidence that is stored for it; its content is put in by whoever asks."""
    rows = evidence_queries.evidence_of(session, namespace, candidate_id, number)
    seen = [Seen(episode, evidence.step_ids, evidence.stance, evidence.group_id) for evidence, episode in rows]
    return Asked(namespace, {}, packet, seen)


def subject_of(
    database: Database, asked: Asked, known: Known, now: datetime, settings: PipelineSettings, *, revoked: bool = True
) -> Subject:
    """Everything that the checks ask of a text.

    Args:
        revoked: whether to look for revoked rules that it would bring back, and then weigh what arrived since.
    """
    namespace, predicate = asked.namespace, from_canonical(dict(asked.content["predicate"]))
    _read_bodies(database, asked, known, settings)
    with database.read() as session:
        cited = _cited(session, asked, known, predicate)
        active = _active(session, asked)
        family = str(asked.content["predicate"].get("family"))
        left_out = evidence_queries.count_in_family(session, namespace, family, known.tainted)
        elsewhere = evidence_queries.families_calling(session, namespace, predicate.calls, family)
    before, akin = (None, None) if active or not revoked else _revoked(database, asked, known, settings)
    return Subject(
        content=asked.content,
        packet=asked.packet,
        cited=cited,
        today=now.date(),
        secrets=Redactor().redact(list(lines_of(asked.content)))[1],
        same=None if active is None else (active.rule_id, active.version, _says_the_same(active, asked)),
        revoked=before,
        akin=akin,
        elsewhere=elsewhere,
        left_out=left_out,
        replayed=replayed(known.hook, predicate, [run.episode_id for run in cited if run.stance == "support"]),
    )


def _read_bodies(database: Database, asked: Asked, known: Known, settings: PipelineSettings) -> None:
    """Read the bodies that no earlier text of this step had read."""
    unread = sorted({one.episode.id for one in asked.seen} - known.bodies.keys())
    arrived = {one.episode.id: one.episode.ingested_at for one in asked.seen}
    for start in range(0, len(unread), settings.read_batch):
        page = unread[start : start + settings.read_batch]
        with database.read() as session:
            payloads = load_bodies(session, asked.namespace, page)
        known.bodies.update({one: read_body(body, known.texts, arrived[one]) for one, body in payloads.items()})


def _cited(session: Session, asked: Asked, known: Known, claim: Predicate) -> list[CitedRun]:
    namespace, ids = asked.namespace, {one.episode.id for one in asked.seen}
    tainted = tainted_among(session, namespace, ids)
    kin = kin_of(claim, known.promoted, lines_of(asked.content))
    reads = reads_of_episodes(session, namespace, ids) if kin else {}
    clusters = evidence_queries.clusters_of_episodes(session, namespace, ids)
    cited = []
    for episode, step_ids, stance, group in sorted(asked.seen, key=lambda one: _arrival(one.episode)):
        body = known.bodies.get(episode.id)
        steps = frozenset(step_ids)
        read = reads.get(episode.id, set()) | (body.read if body else frozenset())
        agent = episode.agent or ""
        cited.append(
            CitedRun(
                episode_id=episode.id,
                group=group,
                stance=stance,
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
                    asked.content.get("scope") or {},
                    body.facts,
                    agent,
                    body.chains if is_everywhere(asked.content["predicate"]) else None,
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


def _active(session: Session, asked: Asked) -> RuleVersion | None:
    """The active version that makes this claim, or makes it in other words; of a part, also the whole's."""
    family = str(asked.content["predicate"].get("family"))
    worded = [asked.content["predicate"], *(asked.packet.get("also_worded") or [])]
    whole = predicate_id(asked.namespace, family, from_canonical(dict(asked.content["predicate"])))
    for identity in (*(stored_id(asked.namespace, predicate) for predicate in worded), whole):
        rule = rule_queries.rule_by_predicate(session, asked.namespace, identity)
        versions = rule_queries.versions_of(session, asked.namespace, rule.id) if rule else []
        found = next((row for row in versions if row.state == "active"), None)
        if found is not None:
            return found
    return None


def _says_the_same(active: RuleVersion, asked: Asked) -> bool:
    """Same text, or another wording of the same finding: either way nothing new for a reader."""
    other_words = active.content.get("predicate") != asked.content.get("predicate")
    return other_words or same_advice(active.content, asked.content)


def nearest_revoked(content: Mapping[str, Any], packet: Mapping[str, Any], known: Known) -> tuple[Revoked | None, ...]:
    """The latest revoked version that made this claim, in whatever words; the same words; and the latest akin."""
    if not known.revoked:
        return None, None, None
    lines = lines_of(content)
    kin = kin_of(from_canonical(dict(content["predicate"])), known.promoted, lines)
    latest = brought_back(claimed_by(content, packet, lines), known.revoked, kin)
    back = max((latest[how] for how in ("same", "reworded") if how in latest), key=lambda one: one.at, default=None)
    return back, latest.get("same"), latest.get("akin")


def _revoked(
    database: Database, asked: Asked, known: Known, settings: PipelineSettings
) -> tuple[RevokedBefore | None, AkinRevoked | None]:
    """The latest revoked version that made this claim; without one, the latest that is akin."""
    back, same, akin = nearest_revoked(asked.content, asked.packet, known)
    if back is not None:
        since = weigh_again(database, asked.namespace, asked.content["predicate"], settings, since=back.at)
        return RevokedBefore(*back.key, back.reason, back.at.isoformat(), since, back is not same), None
    return None, None if akin is None else AkinRevoked(*akin.key, akin.reason, akin.at.isoformat())
