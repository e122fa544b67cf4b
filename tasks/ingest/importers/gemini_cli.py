"""Gemini CLI's sessions: one JSON object with its ``messages``, or (newer) one JSON object a line.

In the newer form the first line is the session's head; a message is written again whole each time it changes, so the
last line of an id counts, in the place of the first; ``$set`` changes the head, ``$rewindTo`` takes messages back.
What was taken back did happen and stays, with a note where it was taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.agent_log import (
    Entry,
    count,
    entries,
    episode_of,
    first_request,
    kept,
    kind_of,
    merged,
    objects,
    short,
)
from tasks.ingest.importers.parts.gemini_cli_steps import KINDS, Teller
from tasks.ingest.jsontext import canonical_bytes
from tasks.ingest.source import Sample, Source, SourceBroken

NAME = "gemini-cli"
_WORDS_ONLY = (
    "this is the log of what the user typed (logs.json); it holds nothing that the agent did: "
    "give the sessions under chats/ instead"
)


@dataclass
class Session:
    """One session: its head, its messages by id in the order of their first line, and all that was written.

    ``whole``: it came as one object, so that no later line belongs to it.
    """

    head: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    copied: set[str] = field(default_factory=set)
    written: list[Any] = field(default_factory=list)
    line: int | None = None
    place: str = ""
    whole: bool = False
    notes: Counter[str] = field(default_factory=Counter)
    not_kept: Counter[str] = field(default_factory=Counter)
    cleaned: list[dict[str, int]] = field(default_factory=list)

    def is_of(self, name: str | None) -> bool:
        """Whether a head of that id may belong to this session: its own again, or its first before any message."""
        known = short(self.head.get("sessionId"))
        return not self.whole and (known == name if known is not None else not self.messages)

    def add(self, message: dict[str, Any], *, copied: bool = False) -> None:
        """A message, or its newer version. What a rewritten history says of a message that is known is not news."""
        key = short(message.get("id")) or f"#{len(self.messages)}"
        if copied and key in self.messages:
            return
        if copied:
            self.copied.add(key)
        self.messages[key] = message

    def rewind(self, to: str) -> None:
        """Note where the user took messages back."""
        known = list(self.messages)
        back = len(known) - known.index(to) if to in self.messages else len(known)
        self.notes["rewinds"] += 1
        self.messages[f"#rewind{len(known)}"] = {"type": "rewind", "content": f"{back} messages were taken back"}


class GeminiCli:
    """Coding sessions of Google's Gemini CLI."""

    name = NAME
    version = 1
    about = "Gemini CLI sessions, one JSON object or one JSON line a message"

    def sniff(self, sample: Sample) -> float:
        values = [item for record in sample.records for item in (record[:20] if isinstance(record, list) else [record])]
        return max((_confidence(value) for value in values if isinstance(value, dict)), default=0.0)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        sessions: list[Session] = []
        broken: SourceBroken | None = None
        typed: list[Entry] = []
        try:
            for each in entries(source):
                if isinstance(each, Rejected):
                    yield each
                elif _is_typed(each.value):
                    typed.append(each)
                else:
                    yield from _sort(each, sessions)
        except SourceBroken as error:
            broken = error
        if typed:
            several = f" ({len(typed)} entries)" if len(typed) > 1 else ""
            yield Rejected(typed[0].line, f"{_WORDS_ONLY}{several}", canonical_bytes([each.raw for each in typed]))
        numbers: Counter[str] = Counter()
        for session in sessions:
            yield from _read(session, numbers)
        if broken is not None:
            raise broken


def _confidence(value: dict[str, Any]) -> float:
    has_hash = short(value.get("projectHash")) is not None
    if short(value.get("sessionId")) and has_hash:
        return 0.95
    messages = value.get("messages")
    if isinstance(messages, list):
        mine = any(message.get("type") == "gemini" for message in objects(messages[:20]))
        return 0.9 if mine and "sessionId" in value else 0.6 if mine else 0.4 if has_hash else 0.0
    if _is_typed(value):
        return 0.95
    if set(value) in ({"$set"}, {"$rewindTo"}):
        return 0.6
    return 0.6 if value.get("type") == "gemini" and "content" in value and "id" in value else 0.0


def _is_typed(value: dict[str, Any]) -> bool:
    """Whether this is an entry of logs.json: a message that the user typed, by its number."""
    number, words = value.get("messageId"), value.get("message")
    return isinstance(number, int) and isinstance(words, str) and "sessionId" in value and value.get("type") == "user"


def _sort(entry: Entry, sessions: list[Session]) -> Iterator[Rejected]:
    value = entry.value
    if "messages" in value or ("sessionId" in value and "projectHash" in value):
        yield from _head(entry, sessions)
        return
    if not sessions or sessions[-1].whole:
        sessions.append(Session(line=entry.line))
    session = sessions[-1]
    if isinstance(value.get("$rewindTo"), str):
        session.rewind(value["$rewindTo"])
    elif isinstance(value.get("$set"), dict):
        changed = value["$set"]
        session.head |= {key: child for key, child in changed.items() if key not in ("messages", "sessionId")}
        if isinstance(changed.get("messages"), list):
            session.notes["history_rewritten"] += 1
            for message in objects(changed["messages"]):
                session.add(message, copied=True)
    elif (fault := _unusable(value)) is not None:
        yield entry.rejected(fault)
        return
    else:
        session.add(value)
    session.written.append(entry.raw)
    session.cleaned.append(entry.cleaned)


def _head(entry: Entry, sessions: list[Session]) -> Iterator[Rejected]:
    """A session's head, with its messages in the older form. The same head again belongs to the same session."""
    value = entry.value
    name = short(value.get("sessionId"))
    if "messages" in value or not sessions or not sessions[-1].is_of(name):
        sessions.append(Session(line=entry.line, place=entry.place, whole="messages" in value))
    session = sessions[-1]
    session.head |= {key: child for key, child in value.items() if key != "messages"}
    session.written.append(entry.raw)
    session.cleaned.append(entry.cleaned)
    messages = value.get("messages", [])
    if not isinstance(messages, list):
        yield entry.rejected(f"messages must be a list; this is {kind_of(messages)}")
        return
    for position, message in enumerate(messages):
        reason = _unusable(message) if isinstance(message, dict) else f"must be an object; this is {kind_of(message)}"
        if reason is None:
            session.add(message)
        else:
            yield Rejected(entry.line, f"{entry.place}messages[{position}]: {reason}", canonical_bytes(message))


def _unusable(message: dict[str, Any]) -> str | None:
    if short(message.get("type")) is None:
        return "type is missing: this is no message of Gemini CLI"
    if message["type"] in KINDS and not any(key in message for key in ("content", "toolCalls", "thoughts")):
        return "a message without content"
    return None


def _read(session: Session, numbers: Counter[str]) -> Iterator[Imported | Rejected]:
    teller = Teller(not_kept=session.not_kept)
    for key, message in session.messages.items():
        teller.tell(message, is_copied=key in session.copied)
    name = short(session.head.get("sessionId"))
    record = session.written[0] if len(session.written) == 1 else session.written
    try:
        episode = episode_of(_fields(session, teller, name))
    except RecordFault as fault:
        where = f"{session.place}session {name or 'without an id'}: "
        yield Rejected(session.line, f"{where}{fault}", canonical_bytes(record))
        return
    if name is not None:
        numbers[name] += 1
        if numbers[name] > 1:
            episode = episode.model_copy(update={"source_id": f"{name}#{numbers[name]}"})
    if "memoryScratchpad" in session.head:
        count(session.not_kept, "memoryScratchpad")
    details = {
        **session.notes,
        **teller.notes,
        **teller.clock.notes(),
        "not_kept": dict(session.not_kept),
        "cleaned": merged(session.cleaned),
        "models": teller.models if len(teller.models) > 1 else None,
        "kind": None if session.head.get("kind") in (None, "main") else short(session.head["kind"]),
    }
    yield Imported(episode, record, session.line, details=kept(details))


def _fields(session: Session, teller: Teller, name: str | None) -> dict[str, Any]:
    steps, head = teller.writer.steps, session.head
    task = teller.shown or first_request(steps)
    if task is None:
        raise RecordFault("no word of the user is in it: the task is unknown")
    clock = teller.clock
    for key in ("startTime", "lastUpdated"):
        clock.read(head.get(key), in_order=False)
    folders = head.get("directories")
    told = {
        "summary": short(head.get("summary")),
        "project_hash": short(head.get("projectHash")),
        "directories": [each for each in map(short, folders) if each] if isinstance(folders, list) else None,
    }
    return {
        "id": name,
        "session_id": name,
        "task": task,
        "agent": NAME,
        "model": next(iter(teller.models), None),
        "environment": {NAME: "unknown"},
        "started_at": clock.first,
        "ended_at": clock.last,
        "steps": steps,
        "metadata": kept(told),
    }


IMPORTER = GeminiCli()
