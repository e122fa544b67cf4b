"""A purge: what leans on the episodes is withdrawn at once, in one short transaction; a repair run opens to erase."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlmodel import Session

from storage import audit, outbox, purging
from storage.candidates import move_candidate, void_decisions
from storage.engine import Database
from storage.ids import content_hash, keyed_hash
from storage.ledger import add_steps
from storage.queries import purging as queries
from storage.queries import rules as rule_queries
from storage.queries.rules import VersionKey
from storage.queries.runs import run_by_id
from storage.runs import insert_run
from storage.tables import Episode, RuleVersion, Run
from storage.versions import move_versions
from tasks.promote.quorum import check_reason
from tasks.revoke.purge import BLACKED, KEY, OWN, WEAK, counted_without
from tasks.revoke.purge_words_step import own_words, says, words_in, words_served

MOST = 50
"""Most records that one purge takes: its transaction stays short. More are purged one lot after another."""
LISTED = 50
"""Most episodes that an entry of the audit log names."""
SERVED = frozenset({"active", "quarantined"})
EXAMPLE = "the run that it shows was purged"
FEWER = "it rests on fewer runs since a purge"


class EpisodeUnknown(LookupError):
    """There is no such episode in this namespace: look at the list of episodes, and at the namespace."""


@dataclass(frozen=True)
class PurgePlan:
    """What a purge of these episodes would do. ``rows`` include the other revisions of the same records.

    ``expired`` versions go for good (an exemplar of one, or a claim in its words), each with why; ``quarantined`` ones
    wait for a person (words blacked out) or for the repair (nothing left to rest on); ``recounted`` holds new figures.
    """

    rows: Sequence[Episode]
    expired: dict[VersionKey, str] = field(default_factory=dict)
    quarantined: dict[VersionKey, str] = field(default_factory=dict)
    recounted: dict[VersionKey, dict[str, Any]] = field(default_factory=dict)
    examples: Sequence[str] = ()

    @property
    def fresh(self) -> list[Episode]:
        """Those that were not purged before."""
        return [row for row in self.rows if row.purged_at is None]


@dataclass(frozen=True)
class PurgeResult:
    """What a purge did at once. ``run_id`` is the repair that erases; None where nothing is left to erase.

    ``changed`` is False where every episode had been purged before. ``epoch`` is set if readers were told something.
    """

    namespace: str
    episodes: list[str]
    expired: list[VersionKey] = field(default_factory=list)
    quarantined: list[VersionKey] = field(default_factory=list)
    epoch: int | None = None
    run_id: str | None = None
    changed: bool = True


def plan(database: Database, namespace: str, episode_ids: Collection[str]) -> PurgePlan:
    """What a purge would do. Reads only; the texts of other runs too, until no word is left that may be theirs.

    Raises:
        EpisodeUnknown: naming the ids that are not there.
    """
    with database.read() as session:
        rows = queries.episodes_and_revisions(session, namespace, episode_ids)
        missing = sorted(set(episode_ids) - {row.id for row in rows})
        if missing:
            raise EpisodeUnknown(f"there is no episode {', '.join(missing)} in {namespace}: see slowwave episodes")
        served = words_served(session, namespace, words_in(session, namespace, rows))
    own = own_words(database, namespace, rows, served)
    with database.read() as session:
        return _planned(session, namespace, rows, own)


def purge(
    database: Database,
    namespace: str,
    episode_ids: Collection[str],
    *,
    reason: str,
    actor: str,
    now: datetime,
    secret: bytes,
) -> PurgeResult:
    """Withdraw what leans on these episodes and mark them purged, at once; open the repair that erases their text.

    Done again it changes nothing, and names the repair if text is still there. ``reason`` is kept as a keyed digest.

    Raises:
        EpisodeUnknown: naming the ids that are not there; nothing was changed.
        NamespaceUnknown: if the namespace has no row.
        ReasonMissing: if no reason is given.
    """
    reason = check_reason(reason)
    found = plan(database, namespace, episode_ids)
    ids = [row.id for row in found.rows]
    with database.write() as session:
        epoch = outbox.lock_namespace(session, namespace) + 1
        rows = queries.episodes_by_ids(session, namespace, ids)
        fresh = [row for row in rows if row.purged_at is None]
        pending = queries.with_body(session, namespace, ids)
        if not fresh:
            run_id = _repair_of(session, rows, pending, namespace, actor, now)
            return PurgeResult(namespace, ids, run_id=run_id, changed=False)
        run = _open(session, namespace, ids, actor, now)
        noted = {"by": actor, "reason": keyed_hash(secret, "reason", reason), "run": run.id}
        purging.note_purge(session, fresh, noted, now)
        expired, quarantined, still = _withdraw(session, namespace, found, epoch, now)
        _void_examples(session, namespace, found.examples, now)
        detail = {"run": run.id, "episodes": len(fresh), "ids": [row.id for row in fresh][:LISTED],
                  "expired": expired, "quarantined": quarantined, "reason": noted["reason"]}  # fmt: skip
        audit.record(session, actor=actor, action="episode.purged", namespace=namespace,
                     target=f"namespace:{namespace}", detail=detail, now=now)  # fmt: skip
        changes = [outbox.change("purged", *key, found.expired[key]) for key in expired]
        changes += [outbox.change("quarantined", *key, found.quarantined[key]) for key in quarantined]
        # Figures have changed for readers: a rule that stays is told of as served (again) on what is left.
        changes += [outbox.change("restored", *key, FEWER) for key in sorted(still)]
        told = outbox.publish(session, namespace, changes, now) if changes else None
        return PurgeResult(namespace, ids, expired, quarantined, told, run.id)


def _planned(session: Session, namespace: str, rows: Sequence[Episode], own: set[str]) -> PurgePlan:
    ids = [row.id for row in rows]
    examples = [one.id for one in queries.candidates_of_examples(session, namespace, ids)]
    expired = {_key(row): EXAMPLE for row in queries.versions_of_candidates(session, namespace, examples)}
    quarantined: dict[VersionKey, str] = {}
    for part in queries.rows_of(session, RuleVersion, namespace, 100) if own else ():
        for row in part:
            if row.state in SERVED and says(row.content.get("predicate"), own):
                expired.setdefault(_key(row), OWN)
            elif row.state in SERVED and says(row.content, own):
                quarantined[_key(row)] = BLACKED
    recounted: dict[VersionKey, dict[str, Any]] = {}
    grouped = queries.groups_of(session, namespace, ids)
    for leaning in queries.versions_leaning(session, namespace, ids):
        key = _key(leaning.version)
        told = leaning.version.evidence
        lost = {grouped[row.id] for row in rows if row.id in grouped and _was_compared(row, leaning)}
        lost |= set(leaning.cited.values())
        lost -= queries.groups_that_live(session, namespace, lost, ids)
        figures = counted_without(told, leaning.packet, lost, leaning.cited.values())
        if figures != told:
            recounted[key] = figures
        if leaning.cited and leaning.version.state == "active" and not figures["support"]:
            quarantined.setdefault(key, WEAK)
    quarantined = {key: why for key, why in quarantined.items() if key not in expired}
    return PurgePlan(rows, expired, quarantined, recounted, examples)


def _was_compared(row: Episode, leaning: queries.Leaning) -> bool:
    """Whether the comparison behind a version had this episode in it: one of its family, judged, there by then."""
    judged = row.outcome in ("success", "failure") and row.family_id == leaning.family_id
    return judged and row.ingested_at <= leaning.version.promoted_at


def _withdraw(
    session: Session, namespace: str, found: PurgePlan, epoch: int, now: datetime
) -> tuple[list[VersionKey], list[VersionKey], set[VersionKey]]:
    """The barrier: nothing that leans on the episodes is served after it; figures say what is left.

    Returns what expired, what was quarantined, and what has new figures and is served.
    """
    moved: dict[str, list[VersionKey]] = {"expired": [], "quarantined": []}
    for to, reasons in (("expired", found.expired), ("quarantined", found.quarantined)):
        for why in sorted(set(reasons.values())):
            keys = [key for key, reason in reasons.items() if reason == why]
            moved[to] += move_versions(session, namespace, keys, to=to, reason=why, epoch=epoch, now=now)
    still: set[VersionKey] = set()
    for key, evidence in found.recounted.items():
        row = rule_queries.version(session, namespace, *key)
        if row is not None:
            row.evidence = evidence
            still |= {key} if row.state == "active" else set()
    session.flush()
    return sorted(moved["expired"]), sorted(moved["quarantined"]), still


def _void_examples(session: Session, namespace: str, candidates: Collection[str], now: datetime) -> None:
    """Exemplars that wait: the run that they would show is no longer there."""
    for name in candidates:
        row = queries.candidate(session, namespace, name)
        if row is not None and row.state in ("staged", "approved") and move_candidate(session, row, "void", now):
            void_decisions(session, namespace, name, why=EXAMPLE, now=now)


def _open(session: Session, namespace: str, ids: Sequence[str], actor: str, now: datetime) -> Run:
    key = KEY + content_hash(sorted(ids), 16)
    run = insert_run(session, namespace=namespace, kind="repair", key=key, requested_by=actor, now=now)
    add_steps(session, run, "repair", [""])
    return run


def _repair_of(
    session: Session, rows: Sequence[Episode], pending: Collection[str], namespace: str, actor: str, now: datetime
) -> str | None:
    """The open repair that has to erase what is still there, or a further one; None if nothing is left."""
    if not pending:
        return None
    for row in rows:
        run = run_by_id(session, str((row.details.get("purge") or {}).get("run") or ""))
        if row.id in pending and run is not None and run.state == "running":
            return run.id
    again = _open(session, namespace, [row.id for row in rows], actor, now)
    left = [row for row in rows if row.id in set(pending)]
    for row in left:
        noted = {**(row.details.get("purge") or {}), "run": again.id}
        purging.note_purge(session, [row], noted, row.purged_at or now)
    return again.id


def _key(row: RuleVersion) -> VersionKey:
    return row.rule_id, row.version
