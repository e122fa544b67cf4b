"""Load the sessions that nobody judged with their retries: what earlier nights kept, and what is new.

What was read of a session is kept, so a night's cost follows its new episodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from storage import facts as store
from storage import ledger
from storage.bodies import load_bodies
from storage.engine import Database
from storage.ledger import Claim
from storage.queries.lineage import claimed_reads, reads_of_sessions
from storage.queries.recoveries import Unjudged, unjudged_episodes
from storage.queries.taint import tainted_versions
from tasks.cluster.independence import Record, group_ids, sketch, trace_text
from tasks.cluster.kin import Promoted, RuleTexts, VersionKey, kin_of, texts_found
from tasks.cluster.kin_step import load_promoted
from tasks.context import PipelineSettings
from tasks.contrast.features import Bools
from tasks.contrast.predicate import Predicate
from tasks.contrast.recoveries import EVERYWHERE
from tasks.contrast.recoveries.attempts import READER_VERSION, read_chains
from tasks.contrast.recoveries.kept import Kept, KeptUnreadable, pack, unpack
from tasks.contrast.recoveries.trials import Told, Trials, build_trials, steps_of
from tasks.ingest.episode import Episode, Step

PART = 2000
"""Episodes of one kept part."""
MOST_PARTS = 32
"""Parts after which they are packed into fewer ones."""


def fold_salt(namespace: str) -> str:
    """What draws the folds of a namespace, and which groups count where a principal brought too many."""
    return f"fold\x00{namespace}"


@dataclass(frozen=True)
class Sessions:
    """The untainted sessions that retried something, in the order of arrival. ``read`` episodes were looked at."""

    told: list[Told]
    read: int
    tainted: int
    promoted: Promoted


@dataclass(frozen=True)
class Retries:
    """One recovery over everything that counts: a column of the trials. ``echo`` marks rows of sessions that had read
    a rule akin to it."""

    trials: Trials
    column: int
    echo: Bools
    tainted: int

    def shown(self, row: int) -> tuple[str, str, list[str]]:
        """Episode, independent group, and the steps of one row: the failure, the remedy, the retry."""
        told = self.trials.told[self.trials.rows[row].session]
        return told.episode_id, told.group, steps_of(self.trials, self.column, row)


def retries_of(
    database: Database,
    namespace: str,
    claim: Predicate,
    settings: PipelineSettings,
    *,
    lines: Sequence[str] = (),
    since: datetime | None = None,
    last_look: str | None = None,
) -> Retries | None:
    """What all sessions that count say of one recovery now; None if too few of them speak of it at all.

    Tainted sessions and those of external trust do not count.

    Args:
        lines: the words of the rule, for rules that are akin to it by their text.
        since: leave out what was ingested until then.
        last_look: the run after which a group is fresh.
    """
    sessions = load_sessions(database, namespace, settings, since=since, external=False)
    trials = build_trials(sessions.told, salt=fold_salt(namespace), last_look=last_look)
    if claim.undirected() not in trials.sample.columns.predicates:
        return None
    column = trials.sample.columns.predicates.index(claim.undirected())
    kin = set(kin_of(claim, sessions.promoted, lines))
    echo = np.array([not kin.isdisjoint(sessions.told[row.session].read) for row in trials.rows], dtype=bool)
    return Retries(trials, column, echo, sessions.tainted)


def load_sessions(
    database: Database,
    namespace: str,
    settings: PipelineSettings,
    claim: Claim | None = None,
    *,
    since: datetime | None = None,
    external: bool = True,
) -> Sessions:
    """The sessions that nobody judged, with their retries.

    Args:
        claim: the step at work: what had to be read from bodies is then kept. Without it nothing is written.
        since: leave out what was ingested until then.
        external: whether sessions count whose whole text is from outside.
    """
    with database.read() as session:
        episodes = unjudged_episodes(session, namespace)
        promoted = load_promoted(session, namespace)
        served = reads_of_sessions(session, namespace, {e.session_id for e in episodes if e.session_id})
        withdrawn = tainted_versions(session, namespace)
    kept = _kept(database, namespace, settings, claim, episodes, RuleTexts(promoted.told))
    reads: dict[str, set[VersionKey]] = {}
    for one in episodes:
        found = kept[one.id].read if one.id in kept else ()
        reads[one.id] = {*served.get(one.session_id or "", ()), *claimed_reads(one.claims), *found}
    clean = [one for one in episodes if one.id in kept and not reads[one.id] & withdrawn]
    retried = [
        one
        for one in clean
        if kept[one.id].chains and (since is None or one.ingested_at > since) and (external or one.trust != "external")
    ]
    groups = group_ids([_record(one, kept[one.id]) for one in retried])
    told = [
        Told(
            one.id, groups[one.id], one.agent or one.model or "", one.principal if one.principal_capped else None,
            one.consumed_by, kept[one.id].chains, frozenset(reads[one.id]),
        )
        for one in retried
    ]  # fmt: skip
    return Sessions(told, len(kept), len(episodes) - len(clean), promoted)


def _record(one: Unjudged, kept: Kept) -> Record:
    names = tuple(name for name in (one.id, one.source_id) if name)
    return Record(one.id, one.task_key, one.session_id, one.started_at, one.retry_of, names, kept.sketch)


def _kept(
    database: Database,
    namespace: str,
    settings: PipelineSettings,
    claim: Claim | None,
    episodes: Sequence[Unjudged],
    texts: RuleTexts,
) -> dict[str, Kept]:
    """Retries by episode: those kept by earlier nights, and those read now."""
    with database.read() as session:
        packed = store.facts_of_family(session, namespace, EVERYWHERE)
    known, is_whole = _unpacked(packed)
    wanted = {one.id for one in episodes}
    # Damaged, of another reader, superseded, erased, or judged since: nothing of it may stay behind.
    anew = claim is not None and (not is_whole or not known.keys() <= wanted or len(packed) >= MOST_PARTS)
    found = {episode_id: one for episode_id, one in known.items() if episode_id in wanted}
    missing = [one for one in episodes if one.id not in found]
    for start in range(0, len(missing), PART):
        part = _read(database, namespace, missing[start : start + PART], settings, texts)
        found.update({one.episode_id: one for one in part})
        if claim is not None and not anew:
            _keep(database, claim, [part])
    if claim is not None and anew:
        whole = list(found.values())
        _keep(database, claim, [whole[at : at + PART] for at in range(0, len(whole), PART)], anew=True)
    return found


def _unpacked(packed: Sequence[tuple[bytes, int]]) -> tuple[dict[str, Kept], bool]:
    """What this reader kept by episode, and whether that is all there is."""
    found: dict[str, Kept] = {}
    is_whole = True
    for body, version in packed:
        try:
            found.update({one.episode_id: one for one in unpack(body)} if version == READER_VERSION else {})
            is_whole &= version == READER_VERSION
        except KeptUnreadable:
            is_whole = False
    return found, is_whole


def _keep(database: Database, claim: Claim, parts: Sequence[Sequence[Kept]], *, anew: bool = False) -> None:
    bodies = [(len(part), pack(part)) for part in parts if part]
    with database.write() as session:
        ledger.guard(session, claim)
        if anew:
            store.forget_facts(session, claim.namespace, [EVERYWHERE])
        for episodes, body in bodies:
            store.put_facts(
                session, claim.namespace, EVERYWHERE, claim.run_id, READER_VERSION, episodes=episodes, body=body
            )


def _read(
    database: Database, namespace: str, episodes: Sequence[Unjudged], settings: PipelineSettings, texts: RuleTexts
) -> list[Kept]:
    found: list[Kept] = []
    for start in range(0, len(episodes), settings.read_batch):
        page = episodes[start : start + settings.read_batch]
        with database.read() as session:
            bodies = load_bodies(session, namespace, [one.id for one in page])
        found += [_reading(one, bodies[one.id], texts) for one in page if one.id in bodies]
    return found


def _reading(one: Unjudged, body: dict[str, Any], texts: RuleTexts) -> Kept:
    chains = tuple(read_chains([Step.model_validate(step) for step in body.get("steps", ())]))
    read = tuple(sorted(texts_found(body, texts, one.ingested_at)))
    trace = trace_text(Episode.model_validate(body)) if chains else ""
    return Kept(one.id, sketch(trace), chains, read)
