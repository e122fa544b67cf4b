"""What is remembered of followed files: rows of the store, and a copy of them in this process."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from storage import followed
from storage.engine import Database
from storage.ids import content_hash
from storage.queries import episodes as queries
from storage.tables import FollowedFile
from tasks.ingest import redact
from tasks.ingest.follow_plan import Known, Stamp
from tasks.ingest.importers.registry import importers


def generation() -> str:
    """What a file is read with: every importer's version and the redactor's. A new one reads every file again."""
    return content_hash([sorted((name, each.version) for name, each in importers().items()), redact.VERSION], 16)


class Memory:
    """The rows of one namespace."""

    def __init__(self, database: Database, namespace: str) -> None:
        self._database, self._namespace = database, namespace
        with database.read() as session:
            self.known = {row.path: _known(row) for row in queries.followed(session, namespace)}

    def look_again(self, path: str) -> Known | None:
        """What another follower may have written of a file meanwhile."""
        with self._database.read() as session:
            row = session.get(FollowedFile, (self._namespace, path))
        if row is not None:
            self.known[path] = _known(row)
        return self.known.get(path)

    def read(
        self, stamps: dict[str, Stamp], generation: str, counts: dict[str, Any], at: datetime, owner: str | None = None
    ) -> None:
        """These files were read: the ``owner`` of them, where there is one, with what belongs to it."""
        self._write(
            FollowedFile(
                namespace=self._namespace, path=path, size=stamp.size, mtime_ns=stamp.mtime_ns, inode=stamp.inode,
                generation=generation, state="joined" if owner not in (None, path) else "read",
                owner=owner if owner != path else None, counts=counts if owner in (None, path) else {}, at=at,
            )
            for path, stamp in stamps.items()
        )  # fmt: skip

    def failed(self, path: str, stamp: Stamp, generation: str, error: str, at: datetime) -> bool:
        """A file could not be read. Returns whether that is news."""
        before = self.known.get(path)
        attempts = before.attempts + 1 if before is not None and before.failed and before.stamp == stamp else 1
        # First in this process: the store may be what failed.
        self.known[path] = Known(stamp, generation, True, attempts, at.timestamp())
        self._write(
            [
                FollowedFile(
                    namespace=self._namespace, path=path, size=stamp.size, mtime_ns=stamp.mtime_ns, inode=stamp.inode,
                    generation=generation, state="failed", attempts=attempts, error=error, at=at,
                )
            ]
        )  # fmt: skip
        return attempts == 1

    def forget(self, path: str) -> None:
        """A file that went away before it was read."""
        self.known.pop(path, None)
        with self._database.write() as session:
            followed.forget(session, self._namespace, path)

    def _write(self, rows: Iterable[FollowedFile]) -> None:
        made = list(rows)
        with self._database.write() as session:
            followed.remember(session, made)
        self.known.update({row.path: _known(row) for row in made})


def _known(row: FollowedFile) -> Known:
    stamp = Stamp(row.size, row.mtime_ns, row.inode)
    return Known(stamp, row.generation, row.state == "failed", row.attempts, row.at.timestamp())
