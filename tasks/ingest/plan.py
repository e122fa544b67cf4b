"""What to do with each record of a batch, given what the store holds: pure, so that every case is a small test.

In this order: the same record again is a duplicate; the same source id with other content is a new revision; the same
run from another place is a duplicate too, and may tell what the first copy did not know. Whatever an agent's token
brought first gives way to an operator's copy: else an agent could keep a verifier's word out by being there before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from tasks.ingest.prepare import Prepared

Row = dict[str, Any]
Verdict = Literal["accepted", "duplicate", "revised"]
SourceKey = tuple[str, str, str]

# What a copy of a run may add where the copy held knows nothing.
FILLABLE = ("started_at", "ended_at", "agent", "agent_version", "model", "retry_of", "reward")


@dataclass
class Plan:
    """Writes in the order they must happen: ``retired``, then ``inserts``, then ``rendered`` and ``filled``.

    ``reseal`` names inserts whose body learnt something from a copy in the same batch.
    """

    inserts: list[Prepared] = field(default_factory=list)
    retired: list[str] = field(default_factory=list)
    rendered: list[tuple[Row, Prepared]] = field(default_factory=list)
    filled: list[tuple[Row, Row]] = field(default_factory=list)
    reseal: set[str] = field(default_factory=set)
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def changes(self) -> bool:
        """Whether anything is to be written at all."""
        return bool(self.inserts or self.retired or self.rendered or self.filled)


def plan_batch(batch: Iterable[Prepared], known: Iterable[Row]) -> Plan:
    """Decide on a batch. ``known`` are the rows that share a source hash, a source id or a fingerprint with it."""
    shelf = _Shelf(known)
    plan = Plan()
    for prepared in batch:
        plan.verdicts.append(_place(prepared, shelf, plan))
    return plan


class _Shelf:
    """The rows held, by each of the three identities; rows of this batch join as they are placed."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.by_hash: dict[str, Row] = {}
        self.by_source: dict[SourceKey, Row] = {}
        self.by_run: dict[str, list[Row]] = defaultdict(list)
        self.new: dict[str, Prepared] = {}
        for row in rows:
            self.put(row)

    def put(self, row: Row) -> None:
        self.by_hash[row["source_hash"]] = row
        if row["is_current"]:
            self.by_run[row["fingerprint"]].append(row)
            if row["source_id"] is not None:
                self.by_source[_source_key(row)] = row


def _place(prepared: Prepared, shelf: _Shelf, plan: Plan) -> Verdict:
    row = prepared.row
    if (same := shelf.by_hash.get(row["source_hash"])) is not None:
        if gives_way(same, row) and same["id"] not in shelf.new:
            _take_over(prepared, same, shelf, plan)
        elif _is_newer_rendition(row, same) and same["id"] not in shelf.new:
            plan.rendered.append((same, prepared))
        return "duplicate"
    older = shelf.by_source.get(_source_key(row)) if row["source_id"] is not None else None
    if older is not None:
        _revise(prepared, older, shelf, plan)
        return "revised"
    twin = next((held for held in shelf.by_run[row["fingerprint"]] if is_same_run(held, row)), None)
    if twin is not None and gives_way(twin, row):
        _revise(prepared, twin, shelf, plan)
        return "revised"
    if twin is not None:
        _learn(row, twin, shelf, plan)
        return "duplicate"
    _insert(prepared, shelf, plan)
    return "accepted"


def _insert(prepared: Prepared, shelf: _Shelf, plan: Plan) -> None:
    plan.inserts.append(prepared)
    shelf.new[prepared.id] = prepared
    shelf.put(prepared.row)


def gives_way(held: Row, row: Row) -> bool:
    """An agent's copy to an operator's."""
    return bool(held["principal_capped"]) and not row["principal_capped"] and held["purged_at"] is None


def _take_over(prepared: Prepared, held: Row, shelf: _Shelf, plan: Plan) -> None:
    """The same record, from now on as the operator's: under its source, where it may be a revision of another."""
    row = prepared.row
    older = shelf.by_source.get(_source_key(row)) if row["source_id"] is not None else None
    if held["is_current"]:
        shelf.by_run[held["fingerprint"]].remove(held)
    if older is not None and older is not held:
        _retire(prepared, older, shelf, plan)
    plan.rendered.append((held, prepared))
    shelf.put(row)


def _revise(prepared: Prepared, older: Row, shelf: _Shelf, plan: Plan) -> None:
    _retire(prepared, older, shelf, plan)
    _insert(prepared, shelf, plan)


def _retire(prepared: Prepared, older: Row, shelf: _Shelf, plan: Plan) -> None:
    prepared.row.update(revision=older["revision"] + 1, supersedes_id=older["id"])
    older["is_current"] = False
    shelf.by_run[older["fingerprint"]].remove(older)
    if older["id"] not in shelf.new:
        plan.retired.append(older["id"])


def is_same_run(held: Row, row: Row) -> bool:
    """Whether two rows of one fingerprint are copies of one run: nothing that both state may contradict.

    Two ids within one file are two runs, said the file.
    """
    one_file = (held["importer"], held["source_scope"]) == (row["importer"], row["source_scope"])
    if one_file and held["source_id"] and row["source_id"] and held["source_id"] != row["source_id"]:
        return False
    if not held["task_key_derived"] and not row["task_key_derived"] and held["task_key"] != row["task_key"]:
        return False
    return not (held["started_at"] and row["started_at"] and held["started_at"] != row["started_at"])


def _learn(row: Row, held: Row, shelf: _Shelf, plan: Plan) -> None:
    """Fill what the held copy lacks. An agent's copy teaches nothing about another principal's run."""
    if held["purged_at"] is not None or (row["principal_capped"] and row["principal"] != held["principal"]):
        return
    found = {name: row[name] for name in FILLABLE if held[name] is None and row[name] is not None}
    if held["task_key_derived"] and not row["task_key_derived"]:
        found |= {"task_key": row["task_key"], "task_key_derived": False}
    if not found:
        return
    filled = sorted(set(found) - {"task_key_derived"})
    copies = [*held["details"].get("copies", []), {"file": row["source_file"], "filled": filled}]
    found["details"] = {**held["details"], "copies": copies}
    held.update(found)
    if held["id"] not in shelf.new:
        plan.filled.append((held, found))
    else:
        shelf.new[held["id"]].learnt.update(body_fields(found))
        plan.reseal.add(held["id"])


def body_fields(found: Row) -> Row:
    """What filled columns are called in the body: times as text."""
    kept = {name: value for name, value in found.items() if name in FILLABLE or name == "task_key"}
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in kept.items()}


def _is_newer_rendition(row: Row, held: Row) -> bool:
    """The same record read by a newer importer or redactor, and by no older one."""
    if held["purged_at"] is not None or row["importer"] != held["importer"]:
        return False
    before = (held["importer_version"], held["redactor_version"])
    after = (row["importer_version"], row["redactor_version"])
    return after != before and all(new >= old for new, old in zip(after, before, strict=True))


def _source_key(row: Row) -> SourceKey:
    return row["importer"], row["source_scope"], row["source_id"]
