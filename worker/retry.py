"""Another try for what was refused: its file once more where that is there, else the bytes that were kept."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from storage import letters
from storage.engine import Database
from storage.queries import episodes as queries
from storage.queries.episodes import Waiting
from storage.tables import DeadLetter
from tasks.ingest.importers.registry import AUTO, importers
from tasks.ingest.letters import LETTER_BYTES
from tasks.ingest.reader import LONGEST_SCOPE, is_file
from tasks.ingest.step import Opened, Progress, ingest_paths, ingest_records

TAKEN_FROM_BYTES = "taken from the bytes kept of it"
CHUNK = 200


@dataclass(frozen=True)
class Told:
    """One letter after the retry, and why it is where it is."""

    file: str
    line: int | None
    reason: str
    attempts: int


@dataclass
class RetryReport:
    """What became of every letter that waited: ``retried`` is how many, and each is in one of the three."""

    retried: int = 0
    taken: int = 0
    still_refused: list[Told] = field(default_factory=list)
    nothing_to_retry_from: list[Told] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "retried": self.retried,
            "taken": self.taken,
            "still_refused": [vars(each) for each in self.still_refused],
            "nothing_to_retry_from": [vars(each) for each in self.nothing_to_retry_from],
        }


@dataclass
class Retry:
    """One call: where, under whose name, and by which clock."""

    database: Database
    namespace: str
    principal: str
    secret: bytes
    clock: Callable[[], datetime]
    progress: Progress | None = None
    opened: Opened | None = None
    report: RetryReport = field(default_factory=RetryReport)

    def run(self) -> RetryReport:
        """Every letter of the namespace that waits, a file at a time.

        Raises:
            IngestStopped: if it was ended; what was retried before stays so.
        """
        with self.database.read() as session:
            waiting = queries.letters_waiting(session, self.namespace)
        for scope, group in groupby(waiting, key=lambda each: each.scope):
            found = list(group)
            path = file_of(scope, found[0].file)
            if path is not None:
                self._from_file(path, found)
            else:
                for letter in found:
                    self._from_bytes(letter.id)
        return self.report

    def _from_file(self, path: Path, waiting: Sequence[Waiting]) -> None:
        before = {each.line: each for each in self._letters([each.id for each in waiting])}
        report = ingest_paths(
            self.database, [path], self.namespace, principal=self.principal, now=self.clock(), secret=self.secret,
            progress=self.progress, opened=self.opened,
        )  # fmt: skip
        refused = {each.line: each.reason for each in report.rejected}
        for letter in self._letters([each.id for each in waiting]):
            self._count(letter, refused.get(letter.line))
        with self.database.write() as session:
            # What stands on the line now is another text, and was refused there as often as the one before it.
            letters.carry_attempts(session, self.namespace, waiting[0].scope, {
                line: letter.attempts for line, letter in before.items() if line in refused and line is not None
            })  # fmt: skip

    def _letters(self, ids: Sequence[str]) -> list[DeadLetter]:
        found: list[DeadLetter] = []
        for start in range(0, len(ids), CHUNK):
            with self.database.read() as session:
                found += queries.letters_by_ids(session, ids[start : start + CHUNK])
        return found

    def _from_bytes(self, letter_id: str) -> None:
        with self.database.read() as session:
            (letter,) = queries.letters_by_ids(session, [letter_id])
        if letter.data is None:
            self.report.nothing_to_retry_from.append(_told(letter, why_nothing(letter)))
            return
        now = self.clock()
        refused = self._read(letter, letter.data, now)
        with self.database.write() as session:
            if refused is None:
                letters.resolve(session, [letter.id], now=now, resolution=TAKEN_FROM_BYTES)
            else:
                letters.refuse_again(session, letter.id, now=now, reason=refused)
        with self.database.read() as session:
            (after,) = queries.letters_by_ids(session, [letter_id])
        self._count(after)

    def _read(self, letter: DeadLetter, data: bytes, now: datetime) -> str | None:
        """Read the kept bytes as whoever sent them; returns why they were refused, or None."""
        importer = letter.importer if letter.importer in importers() else AUTO
        report = ingest_records(
            self.database, io.BytesIO(data), self.namespace, importer=importer or AUTO, principal=letter.principal,
            principal_capped=letter.principal_capped, now=now, secret=self.secret, scope=letter.source_scope or None,
            name=letter.file, keeps_letters=False, progress=self.progress,
        )  # fmt: skip
        if report.rejected:
            return report.rejected[0].reason
        return None if report.seen else "the bytes kept of it hold no episode"

    def _count(self, letter: DeadLetter, refused: str | None = None) -> None:
        """``refused`` is why what stands in the letter's place now was refused too, though it reads otherwise."""
        self.report.retried += 1
        if letter.resolved_at is not None and refused is None:
            self.report.taken += 1
        else:
            self.report.still_refused.append(_told(letter, refused or letter.reason))


def file_of(scope: str, file: str) -> Path | None:
    """The file that a letter's source was, if it is there: a request or standard input never was one."""
    if not is_file(scope):
        return None
    names = [scope, f"{scope}.gz"]
    if file.endswith(".gz"):
        names.reverse()
    if len(os.fsencode(file)) > LONGEST_SCOPE:
        names.append(file)  # the scope of so long a path is no path
    return next((Path(name) for name in names if Path(name).is_file()), None)


def why_nothing(letter: DeadLetter) -> str:
    """Why a letter cannot be retried."""
    where = "its file is gone" if is_file(letter.source_scope) else "it came as a stream, which is over"
    kept = f"no bytes of it were kept (there were none, or more than {LETTER_BYTES // 1024} KiB)"
    return f"{where}, and {kept}; it had been refused because: {letter.reason}"


def _told(letter: DeadLetter, reason: str) -> Told:
    return Told(letter.file, letter.line, reason, letter.attempts)
