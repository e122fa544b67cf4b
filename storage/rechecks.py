"""Writes of the recheck: a stored look at one active version by one night."""

from __future__ import annotations

from sqlmodel import Session

from storage.tables import Recheck


def put_recheck(session: Session, row: Recheck) -> bool:
    """Keep a look; False if this night had looked at the version already, whose result then stands."""
    if session.get(Recheck, (row.namespace, row.run_id, row.rule_id, row.version)) is not None:
        return False
    session.add(row)
    session.flush()
    return True
