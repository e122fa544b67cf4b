"""Claude Code's session logs: one JSON object a line, or the web export ``{"loglines": […]}``.

One episode a session; its sub-agents' steps stand after the call that started them. Lines are kept in recorded order,
those of abandoned branches too: they happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from tasks.ingest.importers.base import Imported, RecordFault, Rejected
from tasks.ingest.importers.parts.agent_log import episode_of, first_request, kept, merged, short
from tasks.ingest.importers.parts.claude_code_lines import (
    SPEECH,
    Session,
    SubAgent,
    add_own_meta,
    gather,
    join,
    owner,
    session_id,
)
from tasks.ingest.importers.parts.claude_code_steps import Teller
from tasks.ingest.jsontext import canonical_bytes
from tasks.ingest.source import Sample, Source, SourceBroken

NAME = "claude-code"
_MARKS = ("uuid", "parentUuid", "isSidechain", "leafUuid", "sessionId", "session_id")
_OTHER_KINDS = frozenset({"summary", "system", "progress", "queue-operation", "file-history-snapshot", "attachment"})


class ClaudeCode:
    """Coding sessions, with their sub-agents."""

    name = NAME
    version = 1
    about = "Claude Code sessions, one JSON line an event, with their sub-agents' files"

    def sniff(self, sample: Sample) -> float:
        values = [item for record in sample.records for item in _lines(record, sample.shape)]
        return max((_confidence(value) for value in values if isinstance(value, dict)), default=0.0)

    def read(self, source: Source) -> Iterator[Imported | Rejected]:
        sessions: list[Session] = []
        broken: SourceBroken | None = None
        try:
            yield from gather(source, sessions)
        except SourceBroken as error:
            broken = error
        yield from join(source, sessions)
        add_own_meta(source, sessions)
        for session in sessions:
            yield from _read(session)
        if broken is not None:
            raise broken

    def part_of(self, source: Source) -> str | None:
        """The session's file, or for a note on a sub-agent the sub-agent's, where it is beside this one."""
        for name in owner(source):
            near = source.near(name)
            if near is None:
                continue
            with closing(near.stream):
                if source.name.endswith(".json") or self.sniff(near.sample()) >= 0.6:
                    return name
        return None


def _lines(record: Any, shape: str) -> list[Any]:
    if isinstance(record, dict) and isinstance(record.get("loglines"), list):
        return list(record["loglines"][:20])
    return list(record[:20]) if isinstance(record, list) and shape == "document" else [record]


def _confidence(value: dict[str, Any]) -> float:
    kind = value.get("type")
    marks = sum(key in value for key in _MARKS)
    if kind in SPEECH:
        message = value.get("message")
        is_message = isinstance(message, dict) and ("content" in message or "role" in message)
        return (0.95 if is_message else 0.4) if marks and ("uuid" in value or is_message) else 0.0
    if isinstance(kind, str) and kind in _OTHER_KINDS and (marks or "snapshot" in value):
        return 0.6 if session_id(value) or "leafUuid" in value or "snapshot" in value else 0.4
    return 0.0


def _read(session: Session) -> Iterator[Imported | Rejected]:
    """The session's episode; its sub-agents' own where the session itself holds none."""
    if session.has_speech:
        teller = Teller(session)
        teller.tell()
        found = _imported(session, teller, session.record())
        yield from (entry.rejected(reason) for entry, reason in teller.faults)
        yield found
        if isinstance(found, Imported):
            return
    elif not session.agents:
        first = session.inline[0]
        reason = f"session {session.id or 'without an id'}: nothing was said in it"
        yield Rejected(first.line, reason, canonical_bytes(session.record()))
        return
    for agent in session.agents.values():
        teller = Teller(Session(session.id, agents={agent.name: agent}))
        teller.tell_agent(agent, alone=True)
        yield from (entry.rejected(reason) for entry, reason in teller.faults)
        yield _imported(session, teller, {"agent": agent.name, "lines": [each.raw for each in agent.lines]}, agent)


def _imported(
    session: Session, teller: Teller, record: dict[str, Any], agent: SubAgent | None = None
) -> Imported | Rejected:
    lines = session.inline if agent is None else agent.lines
    line = next((each.line for each in lines if agent is None or not agent.own_file), None)
    name = f"session {session.id or 'without an id'}" + (f", sub-agent {agent.name}" if agent else "")
    try:
        episode = episode_of(_fields(session, teller, agent))
    except RecordFault as fault:
        return Rejected(line, f"{name}: {fault}", canonical_bytes(record))
    cleaned = merged([each.cleaned for each in [*lines, *(one for a in session.agents.values() for one in a.lines)]])
    details = {
        **teller.notes,
        **teller.clock.notes(),
        "not_kept": dict(teller.not_kept),
        "cleaned": cleaned,
        "models": teller.models if len(teller.models) > 1 else None,
        "versions": versions if len(versions := _all(session, "version")) > 1 else None,
        "task_from": None if first_request(teller.writer.steps) else "slash command",
        "orphan": "a sub-agent without its session" if agent else None,
    }
    read = [each.file for each in ([agent] if agent else session.agents.values()) if each.file is not None]
    return Imported(episode, record, line, details=kept(details), parts=tuple(read))


def _fields(session: Session, teller: Teller, agent: SubAgent | None) -> dict[str, Any]:
    steps = teller.writer.steps
    acted = any(step["kind"] in ("tool_call", "answer", "plan") for step in steps)
    task = first_request(steps) or (teller.command if acted else None)
    if not task:
        raise RecordFault("no word of the user is in it: the task is unknown")
    source_id = f"{session.id or ''}/{agent.name}" if agent else session.id
    version = next(iter(_all(session, "version")), None)
    about = {"cwd": "cwd", "git_branch": "gitBranch"}
    told = {key: next(iter(_all(session, field)), None) for key, field in about.items()}
    return {
        "id": source_id,
        "session_id": session.id,
        "task": task,
        "agent": NAME,
        "agent_version": version,
        "model": next(iter(teller.models), None),
        "environment": {NAME: version or "unknown"},
        "tools_offered": teller.tools,
        "started_at": teller.clock.first,
        "ended_at": teller.clock.last,
        "steps": steps,
        "metadata": kept({**told, "summary": teller.summary}),
    }


def _all(session: Session, key: str) -> list[str]:
    """The different values of a field over the session, in the order in which they were met."""
    lines = [*session.inline, *(each for agent in session.agents.values() for each in agent.lines)]
    return list(dict.fromkeys(found for each in lines if (found := short(each.value.get(key))) is not None))


IMPORTER = ClaudeCode()
