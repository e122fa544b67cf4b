"""Writes on conflicts and on the statements behind them. A person's decision is one conditional UPDATE."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session, col, select

from storage.tables import Conflict, Statement

GONE = "one side is no longer there"
NOT_FOUND = "the latest comparison no longer finds it"
EPISODE = "episode:"
RUNS = "runs:"


def note_conflicts(
    session: Session, namespace: str, ref: str, conflicts: Sequence[Mapping[str, Any]], run_id: str, now: datetime
) -> None:
    """Keep what ``ref`` conflicts with, and close what it no longer conflicts with."""
    for conflict in conflicts:
        note(session, namespace, (ref, str(conflict["with"])), conflict, run_id, now)
    session.flush()
    close(session, open_with(session, namespace, ref), {str(conflict["id"]) for conflict in conflicts}, now)


def note(
    session: Session, namespace: str, refs: tuple[str, str], conflict: Mapping[str, Any], run_id: str, now: datetime
) -> None:
    """Keep one conflict; its sides are stored in the order of their refs, whichever side found it, and keep that order.

    One that a person resolved stays resolved while both sides say what they said; else it opens again, with a note of
    what was decided before. Counts and episodes are refreshed all the same.

    Args:
        conflict: ``id``, ``kind``, ``detail`` and, where known, ``form``, ``sides`` by ref, ``stands`` (the ref of the
            side that a supersession proposes to keep) and ``subject`` (what it is looked for again by).
    """
    known = session.get(Conflict, (namespace, conflict["id"]))
    left, right = _oriented(known, conflict.get("sides") or {}, sorted(refs))
    sides = _sides(conflict, left, right)
    if known is None:
        session.add(
            Conflict(
                namespace=namespace, id=conflict["id"], kind=conflict["kind"], left_ref=left, right_ref=right,
                detail=conflict["detail"], sides=sides, run_id=run_id, at=now,
            )
        )  # fmt: skip
        return
    if known.state == "resolved":
        why = _why_open_again(known, str(conflict["kind"]), sides)
        if why is None:
            known.sides = _carried(known, sides)
            return
        sides = {**sides, "before": _earlier(known, why)}
        known.state, known.at, known.run_id = "open", now, run_id
        known.resolution, known.reason, known.resolved_by, known.resolved_at = None, None, None, None
    known.kind, known.detail, known.left_ref, known.right_ref = conflict["kind"], conflict["detail"], left, right
    known.sides = _carried(known, sides)


def _oriented(known: Conflict | None, given: Mapping[str, Any], refs: Sequence[str]) -> Sequence[str]:
    """Left and right as they were shown before, if what they say tells which is which: a decision names them so."""
    if known is None:
        return refs
    told = [(known.sides.get(side) or {}).get("says") for side in ("left", "right")]
    now = [(given.get(ref) or {}).get("says") for ref in refs]
    return refs[::-1] if now != told and now[::-1] == told else refs


def _sides(conflict: Mapping[str, Any], left: str, right: str) -> dict[str, Any]:
    given = conflict.get("sides") or {}
    stands = {left: "left", right: "right"}.get(str(conflict.get("stands") or ""), "")
    return {
        "form": conflict.get("form") or "",
        "subject": conflict.get("subject") or "",
        "stands": stands,
        "left": dict(given.get(left) or {}),
        "right": dict(given.get(right) or {}),
    }


def _why_open_again(known: Conflict, kind: str, sides: Mapping[str, Any]) -> str | None:
    """Why a conflict that was closed is open again; None where a decision on it still holds."""
    if known.resolution is None:
        return "it was closed by itself, and is found again"
    if kind != known.kind:
        return f"it was a {known.kind}, and is a {kind} now"
    if known.sides.get("stands", "") != sides["stands"]:
        return "the other side is the newer one now"
    for side in ("left", "right"):
        if (known.sides.get(side) or {}).get("says") != sides[side].get("says"):
            return f"the {side} side says something else now"
    return None


def _earlier(known: Conflict, why: str) -> dict[str, Any]:
    decided = {"keep": known.resolution, "reason": known.reason, "by": known.resolved_by}
    return {"why": why, **{name: value for name, value in decided.items() if value is not None}}


def _carried(known: Conflict, sides: dict[str, Any]) -> dict[str, Any]:
    before = sides.get("before") or known.sides.get("before")
    return {**sides, "before": before} if before else sides


def open_with(session: Session, namespace: str, ref: str) -> Sequence[Conflict]:
    """Open conflicts that ``ref`` is a side of."""
    statement = select(Conflict).where(Conflict.namespace == namespace, Conflict.state == "open")
    return session.exec(statement.where((col(Conflict.left_ref) == ref) | (col(Conflict.right_ref) == ref))).all()


def close(session: Session, rows: Sequence[Conflict], but: Collection[str], now: datetime) -> int:
    """Close the conflicts that were looked for and not found; nobody decided, and no side is put aside."""
    lost = [row for row in rows if row.id not in but]
    for row in lost:
        row.state, row.reason, row.resolved_at = "resolved", NOT_FOUND, now
    session.flush()
    return len(lost)


def resolve_conflicts(session: Session, namespace: str, refs: Collection[str]) -> int:
    """Close the open conflicts of what is no longer there to conflict with; returns how many."""
    if not refs:
        return 0
    sides = col(Conflict.left_ref).in_(refs) | col(Conflict.right_ref).in_(refs)
    statement = (
        sa.update(Conflict)
        .where(col(Conflict.namespace) == namespace, col(Conflict.state) == "open", sides)
        .values(state="resolved", reason=GONE)
        .execution_options(synchronize_session=False)
    )
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]


def decide(session: Session, row: Conflict, *, keep: str, reason: str, by: str, now: datetime) -> bool:
    """Record a person's resolution of a conflict that still is open; False if somebody else was faster."""
    statement = (
        sa.update(Conflict)
        .where(col(Conflict.namespace) == row.namespace, col(Conflict.id) == row.id, col(Conflict.state) == "open")
        .values(state="resolved", resolution=keep, reason=reason, resolved_by=by, resolved_at=now)
        .execution_options(synchronize_session=False)
    )
    decided = session.execute(statement).rowcount == 1  # type: ignore[attr-defined]
    session.refresh(row)
    return decided


def put_statements(
    session: Session, namespace: str, episode_ids: Collection[str], rows: Sequence[dict[str, Any]]
) -> None:
    """What these episodes state, in place of what was kept of them before."""
    if episode_ids:
        own = (col(Statement.namespace) == namespace) & col(Statement.episode_id).in_(list(episode_ids))
        session.execute(sa.delete(Statement).where(own))
    if rows:
        session.execute(sa.insert(Statement), list(rows))


def forget_episode(session: Session, namespace: str, episode_id: str) -> None:
    """Erase what an episode stated, and the conflicts that quote it: part of a purge."""
    put_statements(session, namespace, [episode_id], [])
    ref = f"{EPISODE}{episode_id}#"
    quoting = select(Conflict).where(Conflict.namespace == namespace, col(Conflict.left_ref).startswith(EPISODE))
    for row in session.exec(quoting).all():
        cited = [each.get("episode") for side in ("left", "right") for each in row.sides[side].get("episodes") or ()]
        if row.left_ref.startswith(ref) or row.right_ref.startswith(ref) or episode_id in cited:
            session.delete(row)
    session.flush()
