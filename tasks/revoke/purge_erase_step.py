"""The repair that follows a purge: everything that was kept of the episodes is erased, in small pieces, body last.

The words that have to be blacked out are found in the body, so it goes last: killed at any point, the step starts over
with what is left of it and comes to the same end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlmodel import Session

from storage import audit, outbox, purging
from storage.bodies import load_bodies
from storage.engine import Database
from storage.facts import forget_facts
from storage.ledger import Claim, guard
from storage.queries import purging as queries
from storage.queries.lineage import lineage_of_candidate
from storage.tables import CandidateRevision, DeadLetter, Episode, ModelReply, RuleVersion
from storage.vectors import forget_vectors
from storage.versions import move_versions, restore_version
from tasks.cluster.embed_step import text_hash
from tasks.context import StepContext
from tasks.contrast.recoveries import EVERYWHERE
from tasks.revoke.purge import WEAK, blacked, derived_words, letter_words, without_example, words_of
from tasks.revoke.purge_words_step import AT_A_TIME, own_words, repeated_words, words_in
from tasks.verify.support import NOTHING
from tasks.verify.weigh_step import weigh_again

RESTS_ON = "nothing that it rested on is left after a purge"


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Erase what is left of the run's episodes, then weigh again what cited them.

    May be run again at any point. Returns counts by kind, and ``restored`` and ``to_review`` as every repair does.
    """
    with database.read() as session:
        mine = [one for one, noted in queries.tombstones(session, claim.namespace) if noted.get("run") == claim.run_id]
        left = queries.with_body(session, claim.namespace, mine)
        rows = queries.episodes_and_revisions(session, claim.namespace, left)
        night = queries.night_open(session, claim.namespace)
    rows = [row for row in rows if row.id in set(left)]
    counts: dict[str, Any] = {"purged": len(mine)}
    if rows and night is not None:
        # Withdrawn and marked it is; but a night in memory would write its words again behind the eraser.
        problem = f"night {night} runs and may hold the text: purge again when it is closed, and it is erased then"
        return {**counts, "waits_for": night, "problems": [{"stage": "repair", "shard": "", "error": problem}]}
    if rows:
        counts |= _erase(database, claim, context, rows)
    return {**counts, **_weigh(database, claim, context, mine)}


def _erase(database: Database, claim: Claim, context: StepContext, rows: Sequence[Episode]) -> dict[str, int]:
    namespace, ids = claim.namespace, [row.id for row in rows]
    with database.read() as session:
        words = words_in(session, namespace, rows)
    own = own_words(database, namespace, rows, repeated_words(database, namespace, words))
    counts = {
        "texts": _black_out(database, claim, own, ids),
        "letters": _letters(database, claim, context, rows, own),
        "replies": _replies(database, claim, ids, own),
    }
    _caches(database, claim, context, rows)
    for row in rows:
        with database.write() as session:
            _begin(session, claim)
            purging.erase_traces(session, namespace, row.id)
    with database.write() as session:
        _begin(session, claim)
        purging.erase_strata(session, namespace, ids)
    for row in rows:
        with database.write() as session:
            _begin(session, claim)
            purging.erase_episode(session, row)
    return counts | {"erased": len(rows)}


def _begin(session: Session, claim: Claim) -> None:
    guard(session, claim)
    purging.wipe_freed(session)


def _black_out(database: Database, claim: Claim, own: Collection[str], ids: Collection[str]) -> int:
    """Black the words out wherever they were said again; empty the exemplars of these runs."""
    done = 0
    for table, columns in queries.SAID.items():
        with database.read() as session:
            pages = [_rewritten(rows, columns, own, ids) for rows in queries.rows_of(
                session, table, claim.namespace, AT_A_TIME)]  # fmt: skip
        for changed in pages:
            if not changed:
                continue
            with database.write() as session:
                _begin(session, claim)
                for row, values in changed:
                    purging.rewrite(session, table, row, values)
            done += len(changed)
    return done


def _rewritten(
    rows: Sequence[Any], columns: Sequence[str], own: Collection[str], ids: Collection[str]
) -> list[tuple[Any, dict[str, Any]]]:
    found = []
    for row in rows:
        values = {name: getattr(row, name) for name in columns}
        clean: Mapping[str, Any] = values
        if isinstance(row, RuleVersion | CandidateRevision):
            clean = {**clean, "content": without_example(values["content"], ids)}
        if not derived_words(list(values.values())).isdisjoint(own):
            clean = {name: blacked(value, own) for name, value in clean.items()}
        changed = {name: clean[name] for name in columns if clean[name] != values[name]}
        if changed:
            found.append((row, changed))
    return found


def _letters(
    database: Database, claim: Claim, context: StepContext, rows: Sequence[Episode], own: Collection[str]
) -> int:
    """Erase refused records that hold a word of the episodes alone, or stood where one of them stood."""
    places = {(row.source_scope, row.source_line) for row in rows if row.source_line is not None}
    with database.read() as session:
        holding = [
            letter.id
            for letters in queries.rows_of(session, DeadLetter, claim.namespace, AT_A_TIME)
            for letter in letters
            if letter.data is not None
            and ((letter.source_scope, letter.line) in places or not letter_words(letter.data).isdisjoint(own))
        ]
    for start in range(0, len(holding), AT_A_TIME):
        with database.write() as session:
            _begin(session, claim)
            purging.erase_letters(session, holding[start : start + AT_A_TIME], context.now)
    return len(holding)


def _replies(database: Database, claim: Claim, ids: Collection[str], own: Collection[str]) -> int:
    """Erase what models answered to prompts that held one of these runs, or said in a word of theirs."""
    with database.read() as session:
        keys = [
            (reply.prompt_hash, reply.model, reply.attempt)
            for replies in queries.rows_of(session, ModelReply, claim.namespace, AT_A_TIME)
            for reply in replies
            if not set(reply.inputs).isdisjoint(ids) or not words_of([reply.reply, reply.error]).isdisjoint(own)
        ]
    for start in range(0, len(keys), AT_A_TIME):
        with database.write() as session:
            _begin(session, claim)
            purging.erase_replies(session, claim.namespace, keys[start : start + AT_A_TIME])
    return len(keys)


def _caches(database: Database, claim: Claim, context: StepContext, rows: Sequence[Episode]) -> None:
    """Facts of the families, vectors of the texts, and what the same sessions searched for."""
    families = sorted({row.family_id for row in rows if row.family_id is not None})
    sessions = sorted({row.session_id for row in rows if row.session_id is not None})
    for start in range(0, len(rows), AT_A_TIME):
        part = rows[start : start + AT_A_TIME]
        with database.read() as session:
            bodies = load_bodies(session, claim.namespace, [row.id for row in part])
        texts = {row.task for row in part} | {text for body in bodies.values() for text in _said(body)}
        hashes = [text_hash(context.secret, claim.namespace, text) for text in sorted(texts)]
        for first in range(0, len(hashes), AT_A_TIME):
            with database.write() as session:
                _begin(session, claim)
                forget_vectors(session, claim.namespace, hashes[first : first + AT_A_TIME])
    for family_id in [*families, EVERYWHERE]:
        with database.write() as session:
            _begin(session, claim)
            forget_facts(session, claim.namespace, [family_id])
    for start in range(0, len(sessions), AT_A_TIME):
        with database.write() as session:
            _begin(session, claim)
            purging.erase_searches(session, claim.namespace, sessions[start : start + AT_A_TIME])


def _said(body: Mapping[str, Any]) -> set[str]:
    return {str(step["text"]) for step in body.get("steps") or () if step.get("kind") == "user" and step.get("text")}


def _weigh(database: Database, claim: Claim, context: StepContext, ids: Collection[str]) -> dict[str, Any]:
    """Ask again what every version that cited these runs rests on now."""
    told: dict[str, Any] = {"restored": [], "to_review": []}
    with database.read() as session:
        leaning = queries.versions_leaning(session, claim.namespace, ids)
    for row in (one.version for one in leaning if one.cited):
        if row.state not in ("active", "quarantined"):
            continue
        kept = row.state == "quarantined" and row.state_reason != WEAK
        with database.read() as session:
            epoch = outbox.current_epoch(session, claim.namespace)
        predicate = row.content.get("predicate")
        left = weigh_again(database, claim.namespace, predicate, context.settings) if predicate else NOTHING
        entry = {"rule": row.rule_id, "version": row.version, "why": left.words()}
        if kept:
            told["to_review"].append({**entry, "why": row.state_reason})
        elif (
            row.state == "quarantined" and left.stands and _restore(database, claim, context, row, epoch, left.words())
        ):
            told["restored"].append(entry)
        elif row.state == "quarantined" or (not left.support and _quarantine(database, claim, context, row)):
            told["to_review"].append(entry)
    return told


def _restore(
    database: Database, claim: Claim, context: StepContext, row: RuleVersion, weighed_at: int, words: str
) -> bool:
    """Serve it again on what is left, unless anything changed for readers since it was weighed: a person looks then."""
    key, reason = (row.rule_id, row.version), f"stands without what was purged: {words}"
    with database.write() as session:
        guard(session, claim)
        epoch = outbox.lock_namespace(session, claim.namespace)
        if epoch != weighed_at:
            return False
        lineage = lineage_of_candidate(session, claim.namespace, row.candidate_id, row.candidate_number)
        moved = restore_version(
            session, claim.namespace, key, reason=reason, epoch=epoch + 1, now=context.now, lineage=lineage
        )
        if moved:
            _tell(session, claim, context, "restored", key, reason)
        return moved


def _quarantine(database: Database, claim: Claim, context: StepContext, row: RuleVersion) -> bool:
    key = (row.rule_id, row.version)
    with database.write() as session:
        guard(session, claim)
        epoch = outbox.lock_namespace(session, claim.namespace) + 1
        moved = move_versions(
            session, claim.namespace, [key], to="quarantined", reason=RESTS_ON, epoch=epoch, now=context.now,
            sources=("active",),
        )  # fmt: skip
        if moved:
            _tell(session, claim, context, "quarantined", key, RESTS_ON)
        return bool(moved)


def _tell(session: Session, claim: Claim, context: StepContext, event: Any, key: tuple[str, int], reason: str) -> None:
    audit.record(
        session, actor=context.actor, action=f"rule.{event}", namespace=claim.namespace,
        target=f"rule:{key[0]}@{key[1]}", detail={"run": claim.run_id}, now=context.now,
    )  # fmt: skip
    outbox.publish(session, claim.namespace, [outbox.change(event, *key, reason)], context.now)
