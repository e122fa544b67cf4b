"""One part of a split candidate: weighed on the runs in its scope, checked, and as rows to be written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlmodel import Session

from storage.bodies import load_bodies
from storage.engine import Database
from storage.ids import content_hash as hash_of
from storage.queries import candidates as candidate_queries
from storage.queries import parts as queries
from storage.tables import Candidate, CandidateRevision, Evidence, Family, Look, Namespace
from tasks.cluster.kin_step import lines_of
from tasks.conflict.step import conflicts_beside
from tasks.context import PipelineSettings, StepContext
from tasks.contrast.analyse import Question, weigh_one
from tasks.contrast.facts import read_facts, steps_that_show
from tasks.contrast.features import Bools
from tasks.contrast.predicate import Predicate, from_canonical, stored_id
from tasks.contrast.units import speaks_against
from tasks.draft.drafter import Brief, Cited, candidate_id
from tasks.draft.model.wording import is_by_model
from tasks.draft.statistical import StatisticalDrafter, expected_gain
from tasks.ingest.episode import Episode as CanonicalEpisode
from tasks.promote.packet import puts_aside
from tasks.stage.columns import SPLIT, queue_columns
from tasks.stage.edit import TIERS
from tasks.stage.merge_step import with_merged
from tasks.stage.reach_step import sessions_reached
from tasks.stage.settle import packet_hash
from tasks.stage.split import NOT_TESTED, PartTest, held_out_of
from tasks.verify.check import advice
from tasks.verify.checks import Subject, check_all, rows_of
from tasks.verify.coverage import belongs, outside
from tasks.verify.revoked import name_kin, revoked_row
from tasks.verify.subject_step import Asked, Seen, load_known, subject_of
from tasks.verify.support import Compared, compare
from tasks.verify.tier import tier_of
from tasks.verify.weigh_step import FamilyEvidence, load_evidence

HALF_CITED = 30
"""Runs cited for a part, and as many against."""
KEPT = ("edited", "forced")
"""Parts of a packet that people and policies put there, so that a part has them too."""


@dataclass(frozen=True)
class Ground:
    """A candidate and the runs in its scope that count, lined up for its claim.

    ``environments`` are by episode id; ``as_of`` is the last run of which an episode is among them.
    """

    candidate: Candidate
    revision: CandidateRevision
    claim: Predicate
    family: str
    found: FamilyEvidence
    compared: Compared
    environments: Mapping[str, Mapping[str, str]]
    as_of: str

    @property
    def namespace(self) -> str:
        """The namespace of it all."""
        return self.candidate.namespace


@dataclass(frozen=True)
class Part:
    """A part as it is to be written. ``looks`` are the tests of it that were not kept yet."""

    id: str
    predicate_id: str
    family: str
    title: str
    content: Mapping[str, Any]
    content_hash: str
    packet: Mapping[str, Any]
    packet_hash: str
    seen: Sequence[Seen]
    made_of: CandidateRevision
    looks: Sequence[Look]
    reach: int


def ground_of(
    database: Database,
    candidate: Candidate,
    revision: CandidateRevision,
    settings: PipelineSettings,
    *,
    family: FamilyEvidence | None = None,
    since: str | None = None,
) -> Ground:
    """Weigh a candidate on the runs in its scope. Slow; no session stays open.

    Args:
        family: the runs of its family that count, where they were loaded before.
        since: the run after which a group is fresh.
    """
    namespace, stored = candidate.namespace, revision.content["predicate"]
    claim, scope = from_canonical(dict(stored)), revision.content.get("scope") or {}
    whole = family or load_evidence(database, namespace, str(stored.get("family")), settings)
    inside = [
        row
        for row, (run, versions) in enumerate(zip(whole.runs, whole.environments, strict=True))
        if belongs(stored, versions, run.agent) and not outside(scope, versions, run.agent)
    ]
    found = whole.only(inside)
    echoes = found.echoes_of(claim, lines_of(revision.content))
    compared = compare(found.runs, found.table, claim, salt=f"fold\x00{namespace}", echoes=echoes, last_look=since)
    environments = {
        run.record.episode_id: versions for run, versions in zip(found.runs, found.environments, strict=True)
    }
    as_of = max((run.consumed_by for run in found.runs), default="")
    return Ground(candidate, revision, claim, str(stored.get("family")), found, compared, environments, as_of)


def made_part(
    database: Database,
    ground: Ground,
    content: Mapping[str, Any],
    title: str,
    units: Bools,
    tests: Sequence[PartTest],
    looks: Sequence[Look],
    kept: Mapping[str, Any],
    context: StepContext,
) -> Part:
    """A part with a packet of its own: figures, evidence and checks of these units alone.

    Args:
        kept: what goes into the packet beside them; ``part`` says of what it is one.
    """
    namespace, sample = ground.namespace, ground.compared.sample
    direction = -1 if ground.claim.direction == "avoid" else 1
    held = held_out_of(tests, direction)
    question = Question(namespace, ground.family, 0.0)
    finding = weigh_one(sample.only(units), question, ground.claim, held, int(kept["part"]["many"]))
    rows = _shown(ground, units)
    seen, cited = _cited(database, ground, rows)
    statistics = {**finding.statistics(ground.family), "evidence": _counts(ground, units, rows)}
    statistics["held_out"] = statistics["held_out"] or dict(NOT_TESTED)
    before = ground.revision.packet
    with database.read() as session:
        family = session.get(Family, (namespace, ground.family))
        policy = session.get_one(Namespace, namespace).policy
        known = load_known(session, namespace)
    brief = Brief(
        namespace, family.label if family else ground.family, content["predicate"], finding.statement, statistics,
        tuple(cited), str(policy.get("owner") or f"the reviewers of {namespace}"), content["scope"]["recheck_at"],
    )  # fmt: skip
    packet = {
        **StatisticalDrafter().draft(brief).packet,
        "also_worded": list(before.get("also_worded") or []),
        **{name: before[name] for name in KEPT if before.get(name)},
        **kept,
    }
    identity = candidate_id(namespace, content["predicate"])
    if kept.get("merged"):
        with database.read() as session:
            packet, _ = with_merged(
                session, namespace, identity, packet, kept["merged"], _rows(namespace, identity, 0, seen)
            )
    with database.read() as session:
        taken = queries.still_taken(session, namespace, [str(kept["part"]["of"])])
        beside = {ground.candidate.id, *_siblings(session, namespace, taken)}
        places = [(one.episode.id, one.step_ids[0] if one.step_ids else "") for one in seen if one.stance == "support"]
        packet["conflicts"] = conflicts_beside(
            session, namespace, f"candidate:{identity}", content, packet["evidence"], places[:5],
            but={identity, *beside},
        )  # fmt: skip
        reach = sessions_reached(session, namespace, ground.family, content["scope"], context.now).count
    subject = subject_of(database, Asked(namespace, content, packet, seen), known, context.now, context.settings)
    packet |= _checked(subject, known.blocking, ground)
    return Part(
        id=identity, predicate_id=stored_id(namespace, content["predicate"]), family=ground.family, title=title,
        content=content, content_hash=hash_of(content), packet=packet, packet_hash=packet_hash(packet), seen=seen,
        made_of=ground.revision, looks=looks, reach=reach,
    )  # fmt: skip


def _siblings(session: Session, namespace: str, wholes: Collection[str]) -> set[str]:
    rows = candidate_queries.candidates_by_ids(session, namespace, wholes)
    return {one for row in rows.values() for one in row.taken_by}


def _shown(ground: Ground, units: Bools) -> list[int]:
    """Units that show the claim; echoes of it only where they speak against it."""
    compared = ground.compared
    counts = compared.sample.columns.mask[:, 0] | speaks_against(ground.claim, compared.sample.success)
    return [int(row) for row in np.flatnonzero(units & compared.shows & counts)]


def _supports(ground: Ground, row: int) -> bool:
    return bool(ground.compared.sample.success[row]) == (ground.claim.direction == "do")


def _counts(ground: Ground, units: Bools, rows: Sequence[int]) -> dict[str, Any]:
    """Counts of all of them; what is cited is a sample."""
    compared, runs = ground.compared, ground.compared.units.runs
    tells = compared.sample.tables(units).informative[:, 0][compared.sample.stratum]
    rests_on = np.flatnonzero(units & compared.sample.columns.mask[:, 0] & tells).tolist()
    supporting = [row for row in rows if _supports(ground, row)]
    read = {key for row in supporting for key in ground.found.reads.get(runs[row].record.episode_id, ())}
    return {
        "support": len(supporting), "counter": len(rows) - len(supporting), "independent_groups": len(rests_on),
        "principals": len({runs[row].principal or "operators" for row in rests_on}),
        "read": [list(key) for key in sorted(read)],
    }  # fmt: skip


def _cited(database: Database, ground: Ground, rows: Sequence[int]) -> tuple[list[Seen], list[Cited]]:
    """Some of them of each stance, the first of every task before a second of any."""
    chosen = [row for wanted in (True, False) for row in _spread(ground, rows, wanted)]
    ids = {row: ground.compared.units.runs[row].record.episode_id for row in chosen}
    with database.read() as session:
        episodes = queries.episodes_by_ids(session, ground.namespace, ids.values())
        bodies = load_bodies(session, ground.namespace, list(ids.values()))
    seen, cited = [], []
    for row, one in sorted(ids.items(), key=lambda pair: pair[1]):
        if one not in episodes or one not in bodies:
            continue
        episode = episodes[one]
        steps = steps_that_show(ground.claim, read_facts(CanonicalEpisode.model_validate(bodies[one])))
        stance, group = "support" if _supports(ground, row) else "counter", ground.compared.sample.groups[row]
        seen.append(Seen(episode, steps, stance, group))
        cited.append(
            Cited(one, tuple(steps), stance, group, episode.task_key, episode.outcome, episode.outcome_source,
                  episode.principal, tuple(sorted(episode.environment.items())))
        )  # fmt: skip
    return seen, cited


def _spread(ground: Ground, rows: Sequence[int], supports: bool) -> list[int]:
    turns: Counter[int] = Counter()
    placed = []
    for row in rows:
        if _supports(ground, row) == supports:
            stratum = int(ground.compared.sample.stratum[row])
            placed.append((turns[stratum], row))
            turns[stratum] += 1
    return [row for _, row in sorted(placed)[:HALF_CITED]]


def _checked(subject: Subject, blocking: frozenset[str] | None, ground: Ground) -> dict[str, Any]:
    """The checks, and the tier: the whole's, unless the part's own evidence asks for a higher one."""
    checks = name_kin(check_all(subject), subject)
    worded = is_by_model(ground.revision.drafter) or bool(ground.revision.packet.get("edited"))
    tiered = tier_of(
        subject.content["predicate"],
        external=any(run.external for run in subject.cited),
        ordered=any(check.name == "injection" and check.verdict != "pass" for check in checks),
        said=advice(subject.content) if worded else (),
    )
    whole = ground.candidate
    higher = TIERS[tiered.tier] > TIERS[whole.tier]
    return {
        "checks": rows_of(checks, blocking),
        "tier": tiered.tier if higher else whole.tier,
        "tier_why": tiered.why if higher else whole.tier_why,
        "revoked_before": revoked_row(subject.revoked),
    }


def part_columns(part: Part, of: Candidate, *, why: Sequence[str] = (SPLIT,)) -> dict[str, Any]:
    """The columns of a part's row. ``of`` is what it was split from, or the part as it was."""
    aside = puts_aside(part.packet)[0]
    rule_id, version = aside[0] if aside else (None, None)
    return {
        "tier": part.packet["tier"], "tier_why": part.packet["tier_why"], "content_hash": part.content_hash,
        "packet_hash": part.packet_hash, "title": part.title, "predicate_id": part.predicate_id,
        "family_id": part.family, "cluster_id": of.cluster_id, "run_id": of.run_id, "replaces_rule_id": rule_id,
        "replaces_version": version, "revoked_before": part.packet.get("revoked_before") is not None,
        "rank": expected_gain(part.packet), "reach": part.reach, **queue_columns(part.packet, why),
    }  # fmt: skip


def part_rows(
    part: Part, candidate: Candidate, *, author: str, now: datetime
) -> tuple[CandidateRevision, list[Evidence]]:
    """The revision of a part, at the candidate's number, with its evidence."""
    inputs = sorted({one.episode.id for one in part.seen})
    revision = CandidateRevision(
        namespace=candidate.namespace, candidate_id=part.id, number=candidate.number, run_id=candidate.run_id,
        content=dict(part.content), content_hash=part.content_hash, packet=dict(part.packet),
        packet_hash=part.packet_hash, author=author, drafter=part.made_of.drafter, mode=part.made_of.mode,
        inputs=inputs, prompt_hash=hash_of([dict(part.content), inputs]), cost={"model_calls": 0, "tokens": 0},
        created_at=now,
    )  # fmt: skip
    return revision, _rows(candidate.namespace, part.id, candidate.number, part.seen)


def _rows(namespace: str, part_id: str, number: int, seen: Sequence[Seen]) -> list[Evidence]:
    return [
        Evidence(
            namespace=namespace, id=hash_of([part_id, number, one.episode.id], 32),
            candidate_id=part_id, number=number, episode_id=one.episode.id, step_ids=list(one.step_ids),
            stance=one.stance, group_id=one.group, stratum=one.episode.task_key,
        )
        for one in seen
    ]  # fmt: skip
