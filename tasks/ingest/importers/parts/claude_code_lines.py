"""Lines of Claude Code's logs, sorted into sessions; a session's sub-agents, from its own lines and files beside it.

A session is ``<session>.jsonl``; its sub-agents write into the same file, or into ``agent-<id>.jsonl`` beside it, or
into ``<session>/subagents/agent-<id>.jsonl``, each line with the session's id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from tasks.ingest.importers.base import Rejected
from tasks.ingest.importers.parts.agent_log import Entry, entries, kind_of, objects, short
from tasks.ingest.importers.parts.chat import as_text
from tasks.ingest.importers.parts.reading import obj
from tasks.ingest.source import Sample, Source, SourceBroken

SPEECH = ("user", "assistant")
STARTS_AGENTS = ("Task", "Agent")
UNNAMED = "sub-agent"
_AGENT_FILE = re.compile(r"agent-.+\.jsonl(?:\.gz)?")
_META = ".meta.json"
_SAFE_ID = re.compile(r"[0-9A-Za-z_][\w.-]{0,199}", re.ASCII)


@dataclass
class SubAgent:
    """One sub-agent: its lines, and the tool call that started it, where a record says which."""

    name: str
    lines: list[Entry] = field(default_factory=list)
    call: str | None = None
    file: str | None = None

    @property
    def own_file(self) -> bool:
        """Whether its lines stand in a file beside the session's."""
        return self.file is not None


@dataclass
class Session:
    """One session's lines in recorded order, and its sub-agents in the order in which they were met."""

    id: str | None
    lines: list[Entry] = field(default_factory=list)
    inline: list[Entry] = field(default_factory=list)
    agents: dict[str, SubAgent] = field(default_factory=dict)
    metas: list[Any] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """Everything of the input that belongs to the session: what its identity is made from."""
        beside = {agent.name: [each.raw for each in agent.lines] for agent in self.agents.values() if agent.own_file}
        extra = {"agents": beside, "about_agents": self.metas}
        own = [each.raw for each in self.inline]
        return {"lines": own, **{key: child for key, child in extra.items() if child}}

    @property
    def has_speech(self) -> bool:
        """Whether anything was said outside of its sub-agents."""
        return any(each.value.get("type") in SPEECH for each in self.lines)


def session_id(value: dict[str, Any]) -> str | None:
    """The session that a line names."""
    return short(value.get("sessionId")) or short(value.get("session_id"))


def gather(source: Source, into: list[Session]) -> Iterator[Rejected]:
    """Every line of a file into its session; yields the lines that belong to none.

    Raises:
        SourceBroken: at the end, where the file breaks off: what came before it is sorted.
    """
    found: list[Entry] = []
    refused: list[Entry] = []
    broken: SourceBroken | None = None
    try:
        for each in entries(source, "loglines"):
            if isinstance(each, Rejected):
                yield each
            elif (fault := unusable(each.value)) is not None:
                refused.append(each)
                yield each.rejected(fault)
            else:
                found.append(each)
    except SourceBroken as error:
        broken = error
    yield from _sort(found, refused, into)
    if broken is not None:
        raise broken


def unusable(value: dict[str, Any]) -> str | None:
    """Why a line cannot be read at all, or None. A block that cannot be read is left to its reader."""
    kind = value.get("type")
    if not isinstance(kind, str) or not kind.strip():
        return "type is missing: this is no line of Claude Code"
    for key in ("sessionId", "session_id"):
        if not isinstance(value.get(key), str | None):
            return f"{key} must be text; this is {kind_of(value[key])}"
    if kind not in SPEECH:
        return None
    message = value.get("message")
    if not isinstance(message, dict):
        return f"message must be an object; this is {kind_of(message)}"
    if "content" not in message:
        return "message has no content"
    content = message["content"]
    if not isinstance(content, str | list):
        return f"message.content must be text or a list of blocks; this is {kind_of(content)}"
    if isinstance(content, list) and content and not objects(content):
        return f"message.content[0] must be an object; this is {kind_of(content[0])}"
    return None


def _sort(found: list[Entry], refused: list[Entry], into: list[Session]) -> Iterator[Rejected]:
    """By the id a line names, else by the line it refers to, else to the one session that there is.

    A session whose other lines were refused is one that there is.
    """
    by_uuid = {
        uuid: name
        for each in (*found, *refused)
        if (uuid := short(each.value.get("uuid"))) is not None and (name := session_id(each.value)) is not None
    }
    told = (session_id(each.value) for each in (*found, *refused))
    names = list(dict.fromkeys(name for name in told if name is not None))
    sessions: dict[str | None, Session] = {name: Session(name) for name in names}
    for each in found:
        name = session_id(each.value) or _referred(each.value, by_uuid)
        if name is None and len(names) > 1:
            yield each.rejected(f"names no session, and the file holds {len(names)}")
            continue
        if name is None and names and each.value.get("type") in SPEECH:
            yield each.rejected("names no session, and follows no line of one, as words and calls do")
            continue
        name = name or (names[0] if names else None)
        session = sessions.setdefault(name, Session(name))
        session.inline.append(each)
        if not _is_sidechain(each.value):
            session.lines.append(each)
    for session in sessions.values():
        _sort_agents(session)
    into.extend(session for session in sessions.values() if session.inline)


def _referred(value: dict[str, Any], by_uuid: dict[str, str]) -> str | None:
    references = (value.get(key) for key in ("leafUuid", "parentUuid", "messageId", "logicalParentUuid"))
    return next((by_uuid[each] for each in references if isinstance(each, str) and each in by_uuid), None)


def _is_sidechain(value: dict[str, Any]) -> bool:
    return value.get("isSidechain") is True or short(value.get("parent_tool_use_id")) is not None


def _sort_agents(session: Session) -> None:
    """Older versions name no agent: a chain of parents that begins with a line of its own is one."""
    side = [each for each in session.inline if _is_sidechain(each.value)]
    parents = {short(each.value.get("uuid")): short(each.value.get("parentUuid")) for each in side}
    numbers: dict[str | None, int] = {}
    for each in side:
        call = short(each.value.get("parent_tool_use_id"))
        name = short(each.value.get("agentId")) or call
        if name is None:
            root = _root(short(each.value.get("uuid")), parents)
            name = f"{UNNAMED}-{numbers.setdefault(root, len(numbers) + 1)}"
        agent = session.agents.setdefault(name, SubAgent(name, call=call))
        agent.lines.append(each)


def _root(uuid: str | None, parents: dict[str | None, str | None]) -> str | None:
    seen: set[str | None] = set()
    while uuid not in seen and parents.get(uuid) in parents and parents.get(uuid) is not None:
        seen.add(uuid)
        uuid = parents[uuid]
    return uuid


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """A message's blocks that are objects; plain text is one block."""
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else objects(content)


def tie_agents(session: Session) -> None:
    """Find the call that started each sub-agent: by what the harness recorded, else by the request that was passed."""
    everything = [*session.inline, *(each for agent in session.agents.values() for each in agent.lines)]
    by_uuid: dict[str | None, str | None] = {}
    asked: dict[str, list[str]] = {}
    for each in everything:
        blocks = blocks_of(obj(each.value.get("message")))
        calls = [b for b in blocks if b.get("type") == "tool_use" and b.get("name") in STARTS_AGENTS]
        for call in calls:
            if (used := short(call.get("id"))) is not None:
                prompt = as_text(obj(call.get("input")).get("prompt")).strip()
                if used not in asked.setdefault(prompt, []):
                    asked[prompt].append(used)
        by_uuid[short(each.value.get("uuid"))] = short(calls[0].get("id")) if len(calls) == 1 else None
        data = obj(each.value.get("data"))
        _tie(session, data.get("agentId"), each.value.get("parentToolUseID"))
        used = next((b.get("tool_use_id") for b in blocks if b.get("type") == "tool_result"), None)
        _tie(session, obj(each.value.get("toolUseResult")).get("agentId"), used)
    taken = {agent.call for agent in session.agents.values()}
    for agent in session.agents.values():
        first = next((each.value for each in agent.lines if each.value.get("type") in SPEECH), None)
        if agent.call is None and first is not None:
            prompt = "\n".join(as_text(b.get("text")) for b in blocks_of(obj(first.get("message")))).strip()
            free = [used for used in asked.get(prompt, []) if used not in taken] if prompt else []
            agent.call = free[0] if free else by_uuid.get(short(first.get("parentUuid")))
            taken.add(agent.call)


def _tie(session: Session, name: Any, call: Any) -> None:
    agent = session.agents.get(name) if isinstance(name, str) else None
    if agent is not None and agent.call is None:
        agent.call = short(call)


# ── the files beside a session's own ─────────────────────────────────────────────────────────────────────────────────


def agent_of(sample: Sample) -> tuple[str, str] | None:
    """(session, agent) of a file that holds one sub-agent's lines: told by its first lines."""
    for value in sample.records:
        if not isinstance(value, dict) or value.get("type") is None:
            continue
        session, agent = session_id(value), short(value.get("agentId"))
        return (session, agent) if value.get("isSidechain") is True and session and agent else None
    return None


def join(source: Source, sessions: list[Session]) -> Iterator[Rejected]:
    """Add the sub-agents' files to the session that this file is named after; yields their bad lines.

    Together they are kept, so together they may be as large as a document.
    """
    own, left = _stem(source.name), source.limits.document - source.taken
    if not _SAFE_ID.fullmatch(own) or source.neighbours is None:
        return
    for name in [*source.beside("agent-*.jsonl*"), *source.beside(f"{own}/subagents/agent-*.jsonl*")]:
        near = source.near(name) if _AGENT_FILE.fullmatch(name.rsplit("/", 1)[-1]) else None
        if near is None:
            continue
        with closing(near.stream):
            found = agent_of(near.sample())
            if found is None or found[0] != own:
                continue
            session = next((each for each in sessions if each.id == own), None)
            if session is None:
                sessions.append(session := Session(own))
            near.keep_at_most(max(left, 0))
            for bad in _add(session, found[1], near, name):
                yield Rejected(None, f"{name}, line {bad.line}: {bad.reason}", bad.data)
            left -= near.taken
        _add_meta(session, found[1], source, f"{_stem(name)}{_META}")


def _add(session: Session, name: str, near: Source, file: str) -> Iterator[Rejected]:
    agent = session.agents.setdefault(name, SubAgent(name))
    agent.file = file
    try:
        for each in entries(near):
            if isinstance(each, Rejected):
                yield each
            elif (fault := unusable(each.value)) is not None:
                yield each.rejected(fault)
            else:
                agent.lines.append(each)
    except SourceBroken as broken:
        yield Rejected(broken.line, broken.reason)


def _add_meta(session: Session, name: str, source: Source, file: str) -> None:
    near = source.near(file)
    if near is None:
        return
    with closing(near.stream):
        for value in near.sample().records[:1]:
            session.metas.append(value)
            session.agents[name].call = session.agents[name].call or short(obj(value).get("toolUseId"))


def add_own_meta(source: Source, sessions: list[Session]) -> None:
    """A sub-agent's file that is read by itself: what is written about the agent beside it."""
    found = agent_of(source.sample()) if source.name.startswith("agent-") else None
    for session in sessions:
        if found is not None and session.id == found[0] and found[1] in session.agents:
            _add_meta(session, found[1], source, f"{_stem(source.name)}{_META}")


def owner(source: Source) -> Iterator[str]:
    """Where the session's file would be that reads this source as a part of it."""
    if source.neighbours is None or not source.name.startswith("agent-"):
        return
    if source.name.endswith(_META):
        yield from _owner_of_meta(source)
        return
    found = agent_of(source.sample()) if _AGENT_FILE.fullmatch(source.name) else None
    if found is None or not _SAFE_ID.fullmatch(found[0]):
        return
    folders = PurePosixPath(source.path.replace("\\", "/")).parts[-3:-1] or ("",)
    scoped = PurePosixPath(source.scope).parts[-3:-1]
    for suffix in ("", ".gz"):
        yield f"{found[0]}.jsonl{suffix}"
        if (found[0], "subagents") in (folders, scoped):
            yield f"../../{found[0]}.jsonl{suffix}"


def _owner_of_meta(source: Source) -> Iterator[str]:
    records = source.sample().records
    if len(records) == 1 and isinstance(records[0], dict) and "agentType" in records[0]:
        stem = source.name.removesuffix(_META)
        yield from (f"{stem}.jsonl{suffix}" for suffix in ("", ".gz"))


def _stem(name: str) -> str:
    return name.removesuffix(".gz").removesuffix(".jsonl")
