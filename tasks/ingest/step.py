"""Ingest: read sources, prepare each record with no session open, write small batches, keep what was refused.

Idempotent at every point: a batch is one transaction, and a record that was written is recognised the next time, so
an ingest that was killed is finished by running it again.
"""

from __future__ import annotations

import gc
import posixpath
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from storage import audit, episodes, letters
from storage.bodies import load_body, seal_body
from storage.engine import Database
from storage.queries import episodes as queries
from tasks.ingest.fingerprint import episode_id
from tasks.ingest.importers.base import Imported, Importer, Rejected
from tasks.ingest.importers.registry import AUTO, NotRecognised, choose, importers, part_of, unknown_format
from tasks.ingest.letters import Letters
from tasks.ingest.namespace import check_namespace
from tasks.ingest.plan import Plan, body_fields, gives_way, plan_batch
from tasks.ingest.pool import Pool, line_chunks, may_have_children, source_of
from tasks.ingest.prepare import Door, Origin, Prepared
from tasks.ingest.reader import Missing, expand, is_file, open_source, scope_of
from tasks.ingest.ready import BrokenOff, Ready, Worked, make_ready, prepare_lines, records_of, without_collection
from tasks.ingest.redact import Redactor
from tasks.ingest.report import IngestReport, Reject
from tasks.ingest.source import Limits, Line, Source, SourceBroken
from tasks.ingest.stream import Batch, Held, batches
from tasks.ingest.trust import TrustPolicy

# A write transaction may take 50 ms; the batch adapts to stay well under it on a slower disk.
BATCH = 50
SMALLEST_BATCH = 5
TARGET_SECONDS = 0.015
BATCH_BYTES = 4 * 2**20
RACES = 5
COLLECT_EVERY = 20
# A pool takes about a second to start, in which this process reads some 20 MB alone.
POOL_BYTES = 32 * 2**20
# A new rendition changes how a record is read, never whose it is, when it came, or which revision it is.
RENDERING_KEEPS = frozenset(
    {"namespace", "id", "revision", "is_current", "supersedes_id", "source_scope", "source_file", "source_line"}
    | {"source_id", "source_hash", "principal", "principal_capped", "ingested_at"}
)


Progress = Callable[[IngestReport, str], None]
Opened = Callable[[Source], None]


class StopAsked(Exception):
    """Raised by a ``progress`` to end the call after the batch that it was told of."""


class IngestStopped(KeyboardInterrupt):
    """Stopped on request: ``report`` says what was taken. Running it again finishes it."""

    def __init__(self, report: IngestReport) -> None:
        super().__init__("stopped")
        self.report = report


def ingest_paths(
    database: Database,
    paths: Iterable[str | Path],
    namespace: str,
    *,
    importer: str = AUTO,
    principal: str,
    principal_capped: bool = False,
    now: datetime,
    secret: bytes,
    progress: Progress | None = None,
    patterns: Iterable[str] = (),
    scope: str | None = None,
    limits: Limits | None = None,
    opened: Opened | None = None,
) -> IngestReport:
    """Ingest files, folders, globs and ``-`` (standard input).

    ``patterns`` are redaction patterns besides the namespace policy's ``redact_patterns``. ``scope`` replaces the
    file's path as what source ids are unique within. ``progress`` is told of every batch, ``opened`` of every source.
    What a file had refused before and does not refuse now, read to its end, is resolved.

    Raises:
        BadNamespace, UnknownFormat, BadPattern, BadTrustPolicy: before anything is read.
        IngestStopped: where ``progress`` or Ctrl-C ended it; what was written stays.
    """
    ingest = _Ingest.begin(database, namespace, importer, principal, principal_capped, now, secret, patterns, progress)
    ingest.may_pool = True
    given = [str(path) for path in paths]
    try:
        for found in expand(given):
            if isinstance(found, Missing):
                # Nothing was there: it is told, and leaves no letter that would wait for a file that never was.
                ingest.report.rejected.append(Reject(found.path, None, found.reason))
                continue
            try:
                with open_source(found, scope=scope, limits=limits) as source:
                    if opened is not None:
                        opened(source)
                    if ingest.take(source) and scope is None:
                        ingest.resolve([source.scope])
            except SourceBroken as broken:
                ingest.refuse_file(str(found), broken.reason, broken.line)
        ingest.resolve([scope_of(path) for path in given], whole_files=True)
    except (KeyboardInterrupt, StopAsked) as asked:
        raise IngestStopped(ingest.end()) from asked
    finally:
        if ingest.pool is not None:
            ingest.pool.close()
    return ingest.end()


def ingest_source(
    database: Database,
    source: Source,
    namespace: str,
    *,
    importer: str = AUTO,
    principal: str,
    now: datetime,
    secret: bytes,
    progress: Progress | None = None,
) -> IngestReport:
    """The same for one file that the caller has opened.

    Raises:
        IngestStopped: where ``progress`` or Ctrl-C ended it; what was written stays.
    """
    ingest = _Ingest.begin(database, namespace, importer, principal, False, now, secret, (), progress)
    try:
        whole = ingest.take(source)
        ingest.resolve([source.scope], whole_files=not whole)
    except (KeyboardInterrupt, StopAsked) as asked:
        raise IngestStopped(ingest.end()) from asked
    return ingest.end()


def ingest_records(
    database: Database,
    stream: BinaryIO,
    namespace: str,
    *,
    importer: str = AUTO,
    principal: str,
    principal_capped: bool = False,
    now: datetime,
    secret: bytes,
    progress: Progress | None = None,
    patterns: Iterable[str] = (),
    scope: str | None = None,
    name: str = "request",
    limits: Limits | None = None,
    keeps_letters: bool = True,
) -> IngestReport:
    """The same for one open stream, such as a request's body.

    Source ids are scoped by the principal unless ``scope`` is given: one token cannot revise what another sent.
    Without ``keeps_letters`` what is refused is in the report only.
    """
    ingest = _Ingest.begin(database, namespace, importer, principal, principal_capped, now, secret, patterns, progress)
    ingest.keeps_letters = keeps_letters
    ingest.take(Source(stream, name, name, scope or f"{name}:{principal}", limits or Limits()))
    return ingest.end()


@dataclass
class _Ingest:
    """One call: what it writes under, and what it has written."""

    database: Database
    door: Door
    format: str
    progress: Progress | None
    report: IngestReport = field(default_factory=IngestReport)
    batch_size: int = BATCH
    keeps_letters: bool = True
    may_pool: bool = False
    pool: Pool[Worked] | None = None
    superseded: set[str] = field(default_factory=set)
    last_words: dict[str, str] = field(default_factory=dict)
    mostly_new: bool = True

    def __post_init__(self) -> None:
        self.letters = Letters(self.door)

    @classmethod
    def begin(
        cls,
        database: Database,
        namespace: str,
        importer: str,
        principal: str,
        principal_capped: bool,
        now: datetime,
        secret: bytes,
        patterns: Iterable[str],
        progress: Progress | None,
    ) -> _Ingest:
        check_namespace(namespace)
        if importer != AUTO and importer not in importers():
            raise unknown_format(importer)
        with database.read() as session:
            held = queries.namespace(session, namespace)
        policy = held.policy if held is not None else {}
        redactor = Redactor(chain(patterns, policy.get("redact_patterns", [])))
        trust = TrustPolicy.read(policy.get("trust"))
        if held is None:
            with database.write() as session:
                episodes.ensure_namespace(session, namespace, now)
        return cls(
            database, Door(namespace, principal, principal_capped, secret, now, redactor, trust), importer, progress
        )

    def take(self, source: Source) -> bool:
        """Read one source; whatever breaks it, what came before counts. Returns whether it was read to its end."""
        self.letters.places.clear()
        self.last_words.clear()
        if part_of(source, self.format) is not None:
            self.report.joined += 1
            return True
        try:
            chosen = choose(source, self.format)
        except NotRecognised as unknown:
            self.refuse_file(source.path, str(unknown), scope=source.scope)
            return False
        origin = Origin(chosen.name, chosen.version, source.scope, source.path)
        seen = self.report.seen
        with without_collection():
            by_line = self._is_for_pool(chosen, source)
            whole = self._take_lines(source, origin) if by_line else self._take_all(records_of(chosen, source), origin)
        if whole and is_file(source.scope):
            self._bring_back(origin)
        if whole and self.report.seen == seen:
            said = f"holds no record of {chosen.name}" if source.position else "the file is empty"
            self._write([], [Rejected(None, said)], origin)
        return whole

    def _take_all(self, found: Iterable[Imported | Rejected], origin: Origin) -> bool:
        """Write everything found, batch by batch. Returns whether it was read to its end."""
        whole = True
        for number, batch in enumerate(batches(found, self.door, lambda: self.batch_size, BATCH_BYTES), 1):
            whole = whole and not any(isinstance(each, BrokenOff) for each in batch.refused)
            self._take_batch(batch, origin)
            self._take_over([name for each in batch.records for name in each.imported.parts], origin)
            if number % COLLECT_EVERY == 0:
                gc.collect(0)
        return whole

    def _is_for_pool(self, importer: Importer, source: Source) -> bool:
        """A large file of lines; the pool for it is started at the first such file."""
        if not self.may_pool or not getattr(importer, "by_line", False) or source.size < POOL_BYTES:
            return False
        if source.sample().shape != "lines" or not may_have_children():
            return False
        if self.pool is None:
            self.pool = Pool(prepare_lines, self.door, prepare_lines.__module__)
        return True

    def _take_lines(self, source: Source, origin: Origin) -> bool:
        """The same with the help of other cores: children make the lines ready, in order, while this one writes."""
        assert self.pool is not None
        waiting: deque[tuple[list[Line], Future[Worked] | None]] = deque()
        whole = True
        for chunk in line_chunks(source, lambda: self.batch_size):
            # What is mostly known already is recognised here, by its hash, in less time than a child takes.
            waiting.append((chunk, self.pool.submit(chunk, origin) if self.mostly_new else None))
            if len(waiting) > self.pool.depth:
                whole = self._take_chunk(*waiting.popleft(), origin) and whole
        while waiting:
            whole = self._take_chunk(*waiting.popleft(), origin) and whole
        if source.broken is not None:
            self._write([], [BrokenOff(source.broken.line, source.broken.reason)], origin)
        return whole and source.broken is None

    def _take_chunk(self, lines: list[Line], promise: Future[Worked] | None, origin: Origin) -> bool:
        assert self.pool is not None
        worked = self.pool.result(promise) if promise is not None else None
        if worked is None:
            return self._take_all(records_of(importers()[origin.importer], source_of(lines, origin)), origin)
        known = self._known([each.hashed for each in worked.ready], origin)
        new = [each for each in worked.ready if each.hashed not in known]
        refused = worked.refused
        size = self.batch_size  # fixed here: every write may change it, and a slice must end where the next begins
        for start in range(0, max(len(new), 1), size):
            self._write(new[start : start + size], refused, origin)
            refused = []
        self._note_last_words((each.prepared.row["source_id"], each.hashed) for each in worked.ready)
        return not any(isinstance(each, BrokenOff) for each in worked.refused)

    def refuse_file(self, path: str, reason: str, line: int | None = None, scope: str | None = None) -> None:
        """A path that gave no episode at all."""
        self._write([], [Rejected(line, reason)], Origin("", 0, scope or scope_of(path), path))

    def resolve(self, scopes: Sequence[str], *, whole_files: bool = False) -> None:
        """What these sources had refused, and did not refuse in this call, is done with."""
        now, namespace = self.door.now, self.door.namespace
        with self.database.read() as session:
            waiting = queries.scopes_with_letters(session, namespace, scopes, before=now)
        if waiting:
            with self.database.write() as session:
                letters.resolve_rest(session, namespace, waiting, now=now, whole_files=whole_files)

    def _note_last_words(self, records: Iterable[tuple[str | None, str]]) -> None:
        """Remember the source ids whose last record, so far, is one that another has superseded."""
        for source_id, hashed in records:
            if source_id is not None and episode_id(hashed) in self.superseded:
                self.last_words[source_id] = hashed
            elif source_id is not None:
                self.last_words.pop(source_id, None)

    def _bring_back(self, origin: Origin) -> None:
        """A file that says again what it had said before: the earlier revision is the current one again."""
        for source_id, hashed in self.last_words.items():
            with self.database.write() as session:
                found = queries.superseded(
                    session, self.door.namespace, origin.importer, origin.scope, source_id, hashed
                )
                if found is not None:
                    earlier, current = found
                    newest = current.revision + 1
                    episodes.bring_back(session, self.door.namespace, earlier.id, current.id, revision=newest)
                    self.report.duplicates -= 1
                    self.report.revised += 1

    def _take_over(self, parts: Sequence[str], origin: Origin) -> None:
        """What these files gave alone, before the file was there that reads them as its parts, gives way to it."""
        if not parts or not is_file(origin.scope):
            return
        scopes = [scope_of(posixpath.normpath(posixpath.join(posixpath.dirname(origin.scope), each))) for each in parts]
        namespace = self.door.namespace
        with self.database.read() as session:
            alone = queries.current_of_scopes(session, namespace, origin.importer, scopes)
        if alone:
            with self.database.write() as session:
                episodes.retire(session, namespace, alone)
                episodes.mark_evidence_stale(session, namespace, alone)
        self.resolve(scopes)

    def end(self) -> IngestReport:
        """One entry in the audit log for the whole call."""
        counts = {**self.report.as_dict(), "rejected": len(self.report.rejected)}
        with self.database.write() as session:
            audit.record(
                session,
                actor=self.door.principal,
                action="episodes.ingested",
                namespace=self.door.namespace,
                detail=counts,
                now=self.door.now,
            )
        return self.report

    def _take_batch(self, batch: Batch, origin: Origin) -> None:
        """What is known by its hash is counted; the rest is prepared and sealed with no transaction open."""
        known = self._known([each.hashed for each in batch.records], origin)
        new = [each for each in batch.records if each.hashed not in known]
        worked = make_ready(new, self.door, origin)
        self._write(worked.ready, [*batch.refused, *worked.refused], origin)
        self._note_last_words((each.imported.episode.source_id, each.hashed) for each in batch.records)

    def _known(self, hashes: list[str], origin: Origin) -> set[str]:
        """Those of these records that are stored as they would be now. They are counted as duplicates here."""
        with self.database.read() as session:
            held = queries.held(session, self.door.namespace, hashes)
        version = self.door.redactor.version
        capped = self.door.principal_capped
        known = {hashed for hashed, by in held.items() if Held(*by).is_final(origin, version, capped=capped)}
        self.superseded = {episode_id(hashed) for hashed, by in held.items() if not Held(*by).is_current}
        count = sum(hashed in known for hashed in hashes)
        self.report.duplicates += count
        self.mostly_new = 2 * count <= len(hashes)
        return known

    def _write(self, ready: list[Ready], refused: list[Rejected], origin: Origin) -> None:
        """One transaction, planned again where another ingest wrote the same records meanwhile."""
        refusals = [self.letters.write(each, origin) for each in refused]
        kept = refusals if self.keeps_letters else []
        if ready or kept:
            plan = self._write_batch(ready, kept, origin)
            self.superseded |= {*plan.retired, *(each.id for each in plan.inserts if not each.row["is_current"])}
            self.report.accepted += plan.verdicts.count("accepted")
            self.report.duplicates += plan.verdicts.count("duplicate")
            self.report.revised += plan.verdicts.count("revised")
        self.report.rejected += [Reject(each["file"], each["line"], each["reason"]) for each in refusals]
        if self.progress is not None:
            self.progress(self.report, origin.file)

    def _plan(self, session: Session, ready: list[Ready], origin: Origin) -> Plan:
        """Decide on copies: a plan that lost a race leaves no mark."""
        batch = [Prepared(dict(each.prepared.row), each.prepared.body) for each in ready]
        known = queries.related(
            session,
            self.door.namespace,
            hashes=[each.row["source_hash"] for each in batch],
            fingerprints=[each.row["fingerprint"] for each in batch],
            importer=origin.importer,
            source_scope=origin.scope,
            source_ids=[each.row["source_id"] for each in batch if each.row["source_id"] is not None],
        )
        return plan_batch(batch, known)

    def _write_batch(self, ready: list[Ready], refusals: list[dict[str, Any]], origin: Origin) -> Plan:
        bodies = {each.prepared.id: each for each in ready}
        for attempt in range(RACES):
            started = time.perf_counter()
            try:
                with self.database.write() as session:
                    plan = self._plan(session, ready, origin)
                    _apply(session, self.door, plan, bodies)
                    letters.keep_rejected(session, refusals)
            except IntegrityError:
                if attempt == RACES - 1:
                    raise
            else:
                self._adapt(time.perf_counter() - started)
                return plan
        raise AssertionError("unreachable")

    def _adapt(self, seconds: float) -> None:
        """Halve the batch after a slow transaction, grow it slowly after fast ones."""
        if seconds > TARGET_SECONDS:
            self.batch_size = max(SMALLEST_BATCH, self.batch_size // 2)
        else:
            self.batch_size = min(BATCH, self.batch_size + SMALLEST_BATCH)


def _apply(session: Session, door: Door, plan: Plan, bodies: dict[str, Ready]) -> None:
    namespace = door.namespace
    episodes.retire(session, namespace, plan.retired)
    episodes.mark_evidence_stale(session, namespace, plan.retired)
    sealed = [
        seal_body(namespace, each.id, {**bodies[each.id].payload(), **each.learnt})
        if each.id in plan.reseal
        else bodies[each.id].body
        for each in plan.inserts
    ]  # fmt: skip
    episodes.insert_episodes(session, [each.row for each in plan.inserts], sealed)
    for held, prepared in plan.rendered:
        _render_again(session, door, held, prepared, bodies[prepared.id])
    for held, found in plan.filled:
        episodes.update_episode(session, namespace, held["id"], found)
        payload = {**load_body(session, namespace, held["id"]), **body_fields(found)}
        episodes.replace_body(session, seal_body(namespace, held["id"], payload))


def _render_again(session: Session, door: Door, held: dict[str, Any], prepared: Prepared, ready: Ready) -> None:
    """The same record as a newer importer or redactor reads it. Evidence goes stale only where the steps changed."""
    before = load_body(session, door.namespace, prepared.id)
    row = prepared.row
    kept = frozenset({"namespace", "id", "source_hash", "ingested_at"}) if gives_way(held, row) else RENDERING_KEEPS
    values = {name: value for name, value in row.items() if name not in kept}
    earlier = {
        "importer": held["importer_version"],
        "redactor": held["redactor_version"],
        "until": door.now.isoformat(),
        **({"principal": held["principal"]} if gives_way(held, row) else {}),
    }
    values["details"] = {**values["details"], "renditions": [*held["details"].get("renditions", []), earlier]}
    episodes.update_episode(session, door.namespace, prepared.id, values)
    episodes.replace_body(session, ready.body)
    if before["steps"] != ready.payload()["steps"]:
        episodes.mark_evidence_stale(session, door.namespace, [prepared.id])
