"""Codex's rollout files: one JSON object a line, ``{timestamp, type, payload}``; older ones without the wrapper.

One episode a session. A message is written twice, as what was sent to the model (``response_item``) and as what was
shown (``event_msg``): the first is kept, the second only where the first does not say it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.agent_log import (
    Entry,
    entries,
    episode_of,
    first_request,
    kept,
    merged,
    short,
)
from tasks.ingest.importers.parts.codex_steps import Teller, item_kind
from tasks.ingest.importers.parts.reading import obj
from tasks.ingest.jsontext import canonical_bytes
from tasks.ingest.source import Sample, Source, SourceBroken

NAME = "codex"
_WRAPPED = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_FLAT = frozenset({"reasoning", "function_call", "function_call_output", "local_shell_call"})


@dataclass
class Session:
    """One session: what it says of itself, and its lines in recorded order. ``spoken``: not bookkeeping only."""

    meta: dict[str, Any] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    copied_from: list[str] = field(default_factory=list)
    spoken: bool = False

    def takes(self, meta: dict[str, Any]) -> bool:
        """Whether a head belongs to this session: its first, its own again, or that of one it was forked from."""
        name = session_id(meta)
        if not (self.meta or self.spoken) or (self.meta and (name is None or name in self.known)):
            if self.meta and name is not None and name != session_id(self.meta):
                self.copied_from.append(name)
            self.meta = self.meta or meta
            self.known |= {each for each in (name, *parents(meta)) if each is not None}
            return True
        return False


class Codex:
    """Coding sessions of OpenAI's Codex."""

    name = NAME
    version = 1
    about = "Codex rollouts, one JSON line an event"

    def sniff(self, sample: Sample) -> float:
        values = [value for value in sample.records if isinstance(value, dict)]
        best = max((_confidence(value) for value in values), default=0.0)
        headed = any(_is_flat_head(value) for value in values)
        return 0.9 if headed and best >= 0.5 else best or (0.4 if headed and len(values) > 1 else 0.0)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        sessions: list[Session] = [Session()]
        broken: SourceBroken | None = None
        try:
            for each in entries(source):
                fault = _sort(each, sessions) if isinstance(each, Entry) else each
                if fault is not None:
                    yield fault
        except SourceBroken as error:
            broken = error
        numbers: dict[str, int] = {}
        for session in sessions:
            if session.entries:
                yield from _read(session, numbers)
        if broken is not None:
            raise broken


def _confidence(value: dict[str, Any]) -> float:
    kind, payload = value.get("type"), value.get("payload")
    if isinstance(kind, str) and kind in _WRAPPED:
        return 0.95 if isinstance(payload, dict) else 0.4
    if isinstance(kind, str) and kind in _FLAT and "message" not in value:
        return 0.5 if item_kind(value) else 0.0
    content = value.get("content")
    first = obj(content[0]) if isinstance(content, list) and content else {}
    return 0.5 if kind == "message" and first.get("type") in ("input_text", "output_text") else 0.0


def _is_flat_head(value: dict[str, Any]) -> bool:
    """The first line of an older file: an id and a time, and no kind."""
    return bool(
        short(value.get("id"))
        and short(value.get("timestamp"))
        and "type" not in value
        and ("instructions" in value or "git" in value)
    )


def session_id(meta: dict[str, Any]) -> str | None:
    """The id that a session's head gives it."""
    return short(meta.get("id")) or short(meta.get("session_id"))


def parents(meta: dict[str, Any]) -> list[str]:
    """The sessions that this one was forked from, or spawned by."""
    source = obj(meta.get("source"))
    spawn = obj(obj(source.get("subagent")).get("thread_spawn"))
    named = (meta.get("forked_from_id"), meta.get("parent_thread_id"), spawn.get("parent_thread_id"))
    return list(dict.fromkeys(each for name in named if (each := short(name)) is not None))


def _sort(entry: Entry, sessions: list[Session]) -> Rejected | None:
    kind, payload = unwrapped(entry.value)
    if kind is None:
        return entry.rejected("type is missing: this is no line of Codex")
    if not isinstance(payload, dict):
        return entry.rejected(f"the payload of {kind[:40]!r} must be an object")
    if kind == "session_meta" and not sessions[-1].takes(payload):
        sessions.append(Session())
        sessions[-1].takes(payload)
    sessions[-1].entries.append(entry)
    sessions[-1].spoken |= kind in ("response_item", "event_msg", "compacted")
    return None


def unwrapped(value: dict[str, Any]) -> tuple[str | None, Any]:
    """(kind, payload) of a line, wrapped or not."""
    kind = value.get("type")
    if "payload" in value:
        return short(kind), value["payload"]
    if _is_flat_head(value):
        return "session_meta", value
    if short(value.get("record_type")) is not None:
        return str(value["record_type"]), {}
    if isinstance(kind, str) and kind in _WRAPPED:
        return kind, None
    return ("response_item", value) if item_kind(value) is not None else (short(kind), {})


def _read(session: Session, numbers: dict[str, int]) -> Iterator[Imported | Rejected]:
    teller = Teller([(each, *unwrapped(each.value)) for each in session.entries])
    teller.tell()
    yield from (entry.rejected(reason) for entry, reason in teller.faults)
    first, name = session.entries[0], session_id(session.meta)
    record = [each.raw for each in session.entries]
    try:
        episode = episode_of(_fields(session, teller, numbers))
    except RecordFault as fault:
        yield Rejected(first.line, f"session {name or 'without an id'}: {fault}", canonical_bytes(record))
        return
    details = {
        **teller.notes,
        **teller.clock.notes(),
        "not_kept": dict(teller.not_kept),
        "cleaned": merged([each.cleaned for each in session.entries]),
        "models": teller.models if len(teller.models) > 1 else None,
        "forked_from": short(session.meta.get("forked_from_id")),
        "spawned_by": next(
            (each for each in parents(session.meta) if each != session.meta.get("forked_from_id")), None
        ),
        "heads_copied_from": list(dict.fromkeys(session.copied_from)),
    }
    yield Imported(episode, record, first.line, details=kept(details))


def _fields(session: Session, teller: Teller, numbers: dict[str, int]) -> dict[str, Any]:
    steps, meta = teller.writer.steps, session.meta
    task = first_request(steps)
    if task is None:
        raise RecordFault("no word of the user is in it: the task is unknown")
    name, version, git = session_id(meta), short(meta.get("cli_version")), obj(meta.get("git"))
    told = {
        "cwd": short(meta.get("cwd")) or teller.cwd,
        "git_branch": short(git.get("branch")),
        "git_commit": short(git.get("commit_hash")) or short(git.get("sha")),
        "originator": short(meta.get("originator")),
    }
    source_id = name
    if name is not None:
        numbers[name] = numbers.get(name, 0) + 1
        source_id = name if numbers[name] == 1 else f"{name}#{numbers[name]}"
    return {
        "id": source_id,
        "session_id": name,
        "task": task,
        "agent": NAME,
        "agent_version": version,
        "model": next(iter(teller.models), None) or short(meta.get("model")),
        "environment": {NAME: version or "unknown"},
        "started_at": teller.clock.first,
        "ended_at": teller.clock.last,
        "steps": steps,
        "metadata": kept(told),
    }


IMPORTER = Codex()
