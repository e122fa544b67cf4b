"""The loop: scan, plan, read what is due, remember, wait.

The scan is the truth and the store's memory is a hint, so whatever is lost (a wake-up, a row, this process) costs a
reading that finds only what is known. A file that another's episodes read is never read alone: its owner is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError

from storage.engine import Database
from storage.episodes import ensure_namespace
from storage.trouble import trouble_of
from tasks.ingest.follow_plan import Plan, Sighting, Stamp, plan, retry_after
from tasks.ingest.importers.registry import AUTO, part_of
from tasks.ingest.namespace import check_namespace
from tasks.ingest.reader import open_source, shown
from tasks.ingest.secret_rules import BadPattern
from tasks.ingest.source import Source, SourceBroken
from tasks.ingest.step import IngestReport, IngestStopped, Progress, StopAsked, ingest_source
from tasks.ingest.trust import BadTrustPolicy
from worker.following.memory import Memory, generation
from worker.following.scan import Scan, scan, stamp_of

log = logging.getLogger("slowwave.follow")

RESCAN_SECONDS = 30.0
OF_EVERY_FILE = (DBAPIError, BadPattern, BadTrustPolicy)
"""What is wrong with the store or the policy concerns every file: it is not the fault of the one being read."""
MOST_HOPS = 4
"""A note belongs to a sub-agent's file, which belongs to a session's: no chain of owners is longer."""


@dataclass(frozen=True)
class FileRead:
    """One file that was read, or failed: what the command prints a line of."""

    file: str
    state: str
    report: IngestReport
    parts: tuple[str, ...] = ()
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return {
            "file": self.file,
            "state": self.state,
            **self.report.as_dict(),
            "parts": list(self.parts),
            "error": self.error,
        }


@dataclass
class Summary:
    """How a whole following went. ``growing`` and ``failing`` are as they were at its end."""

    files: int = 0
    accepted: int = 0
    duplicates: int = 0
    revised: int = 0
    rejected: int = 0
    growing: int = 0
    failing: dict[str, str] = field(default_factory=dict)

    def add(self, report: IngestReport) -> None:
        """One more file's counts."""
        self.accepted += report.accepted
        self.duplicates += report.duplicates
        self.revised += report.revised
        self.rejected += len(report.rejected)


@dataclass
class Follower:
    """What is followed, under whose name, and how time passes and news are told."""

    database: Database
    namespace: str
    folders: Sequence[Path]
    principal: str
    secret: bytes
    clock: Callable[[], datetime]
    wait: Callable[[float], None]
    tell: Callable[[FileRead], None]
    note: Callable[[str], None]
    should_stop: Callable[[], bool] = lambda: False
    progress: Progress | None = None
    settle: float = 30.0
    rescan: float = RESCAN_SECONDS
    format: str = AUTO
    leave_out: Path | None = None
    summary: Summary = field(default_factory=Summary)

    def run(self, *, once: bool = False) -> Summary:
        """Follow until told to stop; with ``once``, read what is finished now.

        Raises:
            DBAPIError: with ``once``, or before the first look, where the store fails.
        """
        check_namespace(self.namespace)
        with self.database.write() as session:
            ensure_namespace(session, self.namespace, self.clock())
        self._memory, self._generation = Memory(self.database, self.namespace), generation()
        self._sightings: dict[str, Sighting] = {}
        self._told: dict[str, str] = {}
        self._lost = 0
        while True:
            pause = self._round(once)
            if once or self.should_stop():
                return self.summary
            self.wait(pause)
            if self.should_stop():
                return self.summary

    def _round(self, once: bool) -> float:
        """One look and what it brings; returns how long the next can wait."""
        found = scan(self.folders, self.leave_out)
        self._tell_troubles(found)
        planned = self._plan(found)
        self.summary.growing = len(planned.growing)
        if once:
            self._tell_ahead(found, planned)
        try:
            _Round(self, found, frozenset(planned.growing)).read(planned.due)
        except DBAPIError as error:
            if once:
                raise
            return self._wait_for_the_store(error)
        self._lost = 0
        left = self._plan(found).wait
        return self.rescan if left is None else min(self.rescan, left)

    def _plan(self, found: Scan) -> Plan:
        planned = plan(
            found.found,
            self._sightings,
            self._memory.known,
            generation=self._generation,
            now=self.clock().timestamp(),
            settle=self.settle,
        )
        self._sightings = planned.sightings
        return planned

    def _tell_troubles(self, found: Scan) -> None:
        """What cannot be looked at is told once, and once more when it can be again."""
        for path, why in found.troubles.items():
            if self._told.get(path) != why:
                self.note(f"{path}: {why}. Kept trying.")
            self.summary.failing[path] = why
        for path in [each for each in self._told if each not in found.troubles]:
            self.note(f"{path}: is there again.")
            self.summary.failing.pop(path, None)
        self._told = dict(found.troubles)

    def _tell_ahead(self, found: Scan, planned: Plan) -> None:
        """A single look sees only a file's own clock; where that is ahead, it would never be finished."""
        now = self.clock().timestamp()
        ahead = [path for path in planned.growing if found.found[path].mtime_ns / 1e9 > now]
        if ahead:
            self.note(
                f"{len(ahead)} files bear a time that is yet to come, such as {ahead[0]}: is that machine's clock "
                "wrong? Without --once they are read when they stay as they are."
            )

    def _wait_for_the_store(self, error: DBAPIError) -> float:
        self._lost += 1
        if self._lost == 1:
            trouble = trouble_of(error)
            self.note(f"The database {trouble.what}. Kept trying. {trouble.now}")
        return retry_after(self._lost)


class _Round:
    """The reading of what is due after one scan."""

    def __init__(self, follower: Follower, found: Scan, growing: frozenset[str]) -> None:
        self._of, self._found, self._growing = follower, found, growing
        self._memory, self._generation = follower._memory, follower._generation
        self._done: set[str] = set()
        self._parts: dict[str, dict[str, Stamp]] = {}
        self._where: dict[str, Path] = dict(found.where)

    def read(self, due: Sequence[str]) -> None:
        """Files on their own first; then the owners of what is part of another, each once."""
        for path in due:
            if self._of.should_stop():
                return
            if not self._read_by_another(path):
                self._one(path)
        for owner, parts in sorted(self._parts.items()):
            if self._of.should_stop():
                return
            self._owner(owner, parts)

    def _read_by_another(self, path: str) -> bool:
        known = self._memory.look_again(path)
        same = known is not None and not known.failed and known.generation == self._generation
        return same and known is not None and known.stamp == self._found.found[path]

    def _one(self, path: str) -> None:
        stamp = self._found.found[path]
        try:
            with open_source(self._where[path]) as source:
                owner = part_of(source, self._of.format)
                if owner is None:
                    self._ingest(path, source, {path: stamp})
                else:
                    self._is_part(path, stamp, _owner_path(self._where[path], owner))
        except SourceBroken as broken:
            self._failed(path, stamp, broken.reason)
        except OF_EVERY_FILE:
            raise
        except Exception as defect:
            self._failed(path, stamp, _defect(path, defect))

    def _is_part(self, path: str, stamp: Stamp, owner: Path) -> None:
        self._where[shown(owner)] = owner
        self._parts.setdefault(shown(owner), {})[path] = stamp

    def _owner(self, owner: str, parts: dict[str, Stamp], hops: int = 0) -> None:
        """Read the owner of changed parts, unless this round has or it is still growing: then a later one does."""
        path = self._where[owner]
        if owner in self._done:
            self._memory.read(parts, self._generation, {}, self._of.clock(), owner)
            return
        if owner in self._growing:
            return
        try:
            stamp = self._found.found.get(owner) or stamp_of(path)
            if stamp is None:
                raise SourceBroken("is not a regular file")
            with open_source(path) as source:
                above = part_of(source, self._of.format)
                if above is None or hops >= MOST_HOPS:
                    self._ingest(owner, source, {owner: stamp, **parts})
                    return
            higher = _owner_path(path, above)
            self._where[shown(higher)] = higher
            self._owner(shown(higher), {owner: stamp, **parts}, hops + 1)
        except OF_EVERY_FILE:
            raise
        except Exception as error:
            why = str(error) if isinstance(error, SourceBroken | OSError) else _defect(owner, error)
            for part, own in parts.items():
                self._failed(part, own, f"the file that it is a part of, {owner}: {why}")

    def _ingest(self, path: str, source: Source, stamps: dict[str, Stamp]) -> None:
        """Read one source into the store, and only then remember that it was."""
        of = self._of
        try:
            report = ingest_source(
                of.database, source, of.namespace, importer=of.format, principal=of.principal, now=of.clock(),
                secret=of.secret, progress=self._watch,
            )  # fmt: skip
        except IngestStopped as stopped:
            of.summary.add(stopped.report)
            return
        except DBAPIError as error:
            # A store that is gone, full or busy concerns every file; one that refuses this file, this file.
            if trouble_of(error).kind != "failed":
                raise
            log.exception("follow.refused path=%s", path)
            self._failed(path, stamps[path], f"the store refused what is in it ({type(error.orig).__name__})")
            return
        of.summary.add(report)
        if source.broken is not None and source.broken.may_pass:
            self._failed(path, stamps[path], source.broken.reason, report)
            return
        counts = {**report.as_dict(), "rejected": len(report.rejected)}
        self._memory.read(stamps, self._generation, counts, of.clock(), path)
        self._done.add(path)
        of.summary.files += 1
        of.summary.failing.pop(path, None)
        parts = tuple(sorted(each for each in stamps if each != path))
        of.tell(FileRead(path, "read", report, parts))

    def _watch(self, report: IngestReport, source: str) -> None:
        if self._of.progress is not None:
            self._of.progress(report, source)
        if self._of.should_stop():
            raise StopAsked

    def _failed(self, path: str, stamp: Stamp, reason: str, report: IngestReport | None = None) -> None:
        """Told once; a file that went away meanwhile is no failure of reading, and comes back as a new one."""
        if not self._where[path].exists():
            self._memory.forget(path)
            self._of.note(f"{path}: went away before it was read.")
            return
        self._of.summary.failing[path] = reason
        if self._memory.failed(path, stamp, self._generation, reason, self._of.clock()):
            self._of.note(f"{path}: {reason}. Kept trying.")
            self._of.tell(FileRead(path, "failed", report or IngestReport(), error=reason))


def _defect(path: str, error: Exception) -> str:
    """A fault of ours or of a plug-in holds up no other file; the log has all of it."""
    log.exception("follow.failed path=%s", path)
    return f"reading it failed ({type(error).__name__}): a defect, which the log describes"


def _owner_path(part: Path, owner: str) -> Path:
    """Where the owner lies that an importer named: relative to the part's folder, as ``Source.near`` takes it."""
    return (part.parent / owner).resolve()
