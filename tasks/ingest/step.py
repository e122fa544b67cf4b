"""Ingest: read sources, prepare each record with no session open, write small batches, keep what was refused.

Idempotent at every point: a batch is one transaction, and a record that was written is recognised the next time, so
an ingest that was killed is finished by running it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from storage import audit, episodes
from storage.bodies import SealedBody, load_body, seal_body
from storage.engine import Database
from storage.ids import keyed_hash
from storage.queries import episodes as queries
from tasks.ingest.importers.base import Imported, Importer, Rejected
from tasks.ingest.importers.registry import AUTO, NotRecognised, choose, importers, part_of, unknown_format
from tasks.ingest.jsontext import tidy_text
from tasks.ingest.namespace import check_namespace
from tasks.ingest.plan import Plan, body_fields, plan_batch
from tasks.ingest.prepare import Door, Origin, Prepared, prepare
from tasks.ingest.reader import Missing, expand, open_source
from tasks.ingest.redact import Redactor
from tasks.ingest.source import Limits, Source, SourceBroken
from tasks.ingest.trust import TrustPolicy

# A write transaction may take 50 ms; the batch adapts to stay well under it on a slower disk.
BATCH = 50
SMALLEST_BATCH = 5
TARGET_SECONDS = 0.025
BATCH_BYTES = 4 * 2**20
LETTER_BYTES = 64 * 2**10
RACES = 5
# A new rendition changes how a record is read, never whose it is, when it came, or which revision it is.
RENDERING_KEEPS = frozenset(
    {"namespace", "id", "revision", "is_current", "supersedes_id", "source_scope", "source_file", "source_line"}
    | {"source_id", "source_hash", "principal", "principal_capped", "ingested_at"}
)


@dataclass(frozen=True)
class Reject:
    """One record, or one file, that was not taken: where, and why."""

    file: str
    line: int | None
    reason: str


@dataclass
class IngestReport:
    """How it went. ``accepted``, ``duplicates`` and ``revised`` never count one record twice.

    ``joined`` counts files that another file's episodes read as a part of theirs.
    """

    accepted: int = 0
    duplicates: int = 0
    revised: int = 0
    joined: int = 0
    rejected: list[Reject] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON shape."""
        return asdict(self)

    @property
    def seen(self) -> int:
        """Records so far, whatever became of them."""
        return self.accepted + self.duplicates + self.revised + self.joined + len(self.rejected)


Progress = Callable[[IngestReport, str], None]


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
) -> IngestReport:
    """Ingest files, folders, globs and ``-`` (standard input).

    ``patterns`` are redaction patterns besides the namespace policy's ``redact_patterns``. ``scope`` replaces the
    file's path as what source ids are unique within. ``progress`` is told of every batch.

    Raises:
        BadNamespace, UnknownFormat, BadPattern, BadTrustPolicy: before anything is read.
    """
    ingest = _Ingest.begin(database, namespace, importer, principal, principal_capped, now, secret, patterns, progress)
    for found in expand(paths):
        if isinstance(found, Missing):
            ingest.refuse_file(found.path, found.reason)
            continue
        try:
            with open_source(found, scope=scope, limits=limits) as source:
                ingest.take(source)
        except SourceBroken as broken:
            ingest.refuse_file(str(found), broken.reason, broken.line)
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
) -> IngestReport:
    """The same for one open stream, such as a request's body.

    Source ids are scoped by the principal unless ``scope`` is given: one token cannot revise what another sent.
    """
    ingest = _Ingest.begin(database, namespace, importer, principal, principal_capped, now, secret, patterns, progress)
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

    def take(self, source: Source) -> None:
        """Read one source to its end; whatever breaks it, what came before counts."""
        if self.format == AUTO and part_of(source) is not None:
            self.report.joined += 1
            return
        try:
            chosen = choose(source, self.format)
        except NotRecognised as unknown:
            self.refuse_file(source.path, str(unknown))
            return
        origin = Origin(chosen.name, chosen.version, source.scope, source.path)
        pending: list[Prepared] = []
        refused: list[Rejected] = []
        size = 0
        for found in _records(chosen, source):
            made = self._prepare(found, origin) if isinstance(found, Imported) else found
            if isinstance(made, Prepared):
                pending.append(made)
                size += sum(len(step.get("text", "")) for step in made.payload["steps"])
            else:
                refused.append(made)
            if len(pending) + len(refused) >= self.batch_size or size > BATCH_BYTES:
                self._write(pending, refused, origin)
                pending, refused, size = [], [], 0
        self._write(pending, refused, origin)

    def refuse_file(self, path: str, reason: str, line: int | None = None) -> None:
        """A path that gave no episode at all."""
        self._write([], [Rejected(line, reason)], Origin("", 0, path, path))

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

    def _prepare(self, imported: Imported, origin: Origin) -> Prepared | Rejected:
        try:
            return prepare(imported, self.door, origin)
        except (ValueError, RecursionError, OverflowError) as error:
            return Rejected(imported.line, f"cannot be stored: {type(error).__name__}")

    def _write(self, pending: list[Prepared], refused: list[Rejected], origin: Origin) -> None:
        """One transaction, planned again where another ingest wrote the same records meanwhile."""
        if not pending and not refused:
            return
        letters = [self._letter(each, origin) for each in refused]
        with self.database.read() as session:
            plan = self._plan(session, pending, origin)
        bodies = {each.id: seal_body(self.door.namespace, each.id, each.payload) for each in plan.inserts}
        if plan.changes or letters:
            plan = self._write_batch(pending, letters, bodies, origin)
        self.report.accepted += plan.verdicts.count("accepted")
        self.report.duplicates += plan.verdicts.count("duplicate")
        self.report.revised += plan.verdicts.count("revised")
        self.report.rejected += [Reject(each["file"], each["line"], each["reason"]) for each in letters]
        if self.progress is not None:
            self.progress(self.report, origin.file)

    def _plan(self, session: Session, pending: list[Prepared], origin: Origin) -> Plan:
        """Decide on copies: a plan that lost a race leaves no mark."""
        batch = [Prepared(dict(each.row), dict(each.payload)) for each in pending]
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

    def _write_batch(
        self, pending: list[Prepared], letters: list[dict[str, Any]], bodies: dict[str, SealedBody], origin: Origin
    ) -> Plan:
        for attempt in range(RACES):
            started = time.perf_counter()
            try:
                with self.database.write() as session:
                    plan = self._plan(session, pending, origin)
                    _apply(session, self.door, plan, bodies)
                    episodes.keep_rejected(session, letters)
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

    def _letter(self, refused: Rejected, origin: Origin) -> dict[str, Any]:
        """A dead letter: once per record and reason to look at it, and never with a secret in it."""
        file, reason = tidy_text(origin.file, {}), tidy_text(refused.reason, {})
        data = None
        if refused.data is not None and len(refused.data) <= LETTER_BYTES:
            text, _ = self.door.redactor.redact_text(refused.data.decode("utf-8", "replace"))
            data = text.encode("utf-8")
        identity = refused.data if refused.data is not None else f"{origin.scope}\x00{refused.line}\x00{reason}"
        return {
            "namespace": self.door.namespace,
            "record_hash": keyed_hash(self.door.secret, "dead-letter", self.door.namespace, identity),
            "file": file,
            "line": refused.line,
            "importer": origin.importer or None,
            "reason": reason,
            "data": data,
            "principal": self.door.principal,
            "at": self.door.now,
        }


def _records(importer: Importer, source: Source) -> Iterator[Imported | Rejected]:
    """Everything the importer finds. A stream that breaks off, or a plug-in that fails, is a reject of its own."""
    try:
        yield from importer.read(source)
    except SourceBroken as broken:
        yield Rejected(broken.line, broken.reason)
    except Exception as error:
        yield Rejected(
            None, f"the importer {importer.name} failed here ({type(error).__name__}); what came before counts"
        )


def _apply(session: Session, door: Door, plan: Plan, bodies: dict[str, SealedBody]) -> None:
    namespace = door.namespace
    episodes.retire(session, namespace, plan.retired)
    episodes.mark_evidence_stale(session, namespace, plan.retired)
    sealed = [
        bodies[each.id] if each.id in bodies and each.id not in plan.reseal
        else seal_body(namespace, each.id, each.payload)
        for each in plan.inserts
    ]  # fmt: skip
    episodes.insert_episodes(session, [each.row for each in plan.inserts], sealed)
    for held, prepared in plan.rendered:
        _render_again(session, door, held, prepared)
    for held, found in plan.filled:
        episodes.update_episode(session, namespace, held["id"], found)
        payload = {**load_body(session, namespace, held["id"]), **body_fields(found)}
        episodes.replace_body(session, seal_body(namespace, held["id"], payload))


def _render_again(session: Session, door: Door, held: dict[str, Any], prepared: Prepared) -> None:
    """The same record as a newer importer or redactor reads it. Evidence goes stale only where the steps changed."""
    before = load_body(session, door.namespace, prepared.id)
    values = {name: value for name, value in prepared.row.items() if name not in RENDERING_KEEPS}
    earlier = {
        "importer": held["importer_version"],
        "redactor": held["redactor_version"],
        "until": door.now.isoformat(),
    }
    values["details"] = {**values["details"], "renditions": [*held["details"].get("renditions", []), earlier]}
    episodes.update_episode(session, door.namespace, prepared.id, values)
    episodes.replace_body(session, seal_body(door.namespace, prepared.id, prepared.payload))
    if before["steps"] != prepared.payload["steps"]:
        episodes.mark_evidence_stale(session, door.namespace, [prepared.id])
