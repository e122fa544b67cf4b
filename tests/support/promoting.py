"""Active rules without a night: through the storage's own writes, for tests and benchmarks of what readers get."""

from __future__ import annotations

from datetime import datetime

from storage import outbox
from storage.engine import Database
from storage.queries.rules import VersionKey
from storage.tables import Candidate, CandidateRevision
from storage.versions import add_version
from support import factories


def make_rule(database: Database, namespace: str, name: str, now: datetime, **content: object) -> VersionKey:
    """A rule whose first version is active, with its event; the namespace must be there."""
    text = factories.content_for(namespace, **content)
    factories.make_candidate(database, namespace, name, now, content=text)
    with database.write() as session:
        epoch = outbox.lock_namespace(session, namespace) + 1
        row = add_version(
            session,
            session.get_one(Candidate, (namespace, name)),
            session.get_one(CandidateRevision, (namespace, name, 1)),
            rule_id=name,
            evidence={},
            recheck_at=None,
            reason="promoted",
            epoch=epoch,
            now=now,
        )
        outbox.publish(session, namespace, [outbox.change("promoted", name, row.version)], now)
    return name, 1
