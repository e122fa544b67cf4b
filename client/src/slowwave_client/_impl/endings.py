"""What a session keeps of itself, and its end: its reads are reported, and its episode is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowwave_client._impl import flows, recording
from slowwave_client._impl.effects import Flow
from slowwave_client._impl.errors import AccessRefused, SlowwaveError
from slowwave_client._impl.flows import SessionCore, log
from slowwave_client._impl.record import EpisodeRecord


def session_end(session: SessionCore) -> Flow[None]:
    """Tell the server what the session read, then what it did. Neither can break the run: a failure is logged.

    Where reads cannot be reported, the server counts every grant as a read; an episode that is not taken says why in
    its ``problem``.
    """
    yield from flows.session_report(session)
    record = session.record
    if record is None or record.sent is not None:
        return
    try:
        taken = yield from recording.send_episode(session.core, record.as_dict(), session.ingest_token)
    except SlowwaveError as problem:
        record.problem = problem
        hint = "; pass ingest_token, of role ingest" if isinstance(problem, AccessRefused) else ""
        log.warning("slowwave: the episode of session %s was not taken: %s%s", session.session_id, problem, hint)
    else:
        record.sent, record.problem = taken.state, None


class KeepsEpisode:
    """What both sessions have besides flows: a record of the run."""

    _core: flows.SessionCore

    def episode(
        self,
        task: str,
        *,
        task_key: str | None = None,
        environment: Mapping[str, str] | None = None,
        agent_version: str | None = None,
        model: str | None = None,
        tools_offered: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> EpisodeRecord:
        """Keep a record of this run, sent when the session ends. What is read from now on is a step of it by itself.

        Args:
            task: what the run is about.
            task_key: the same for every run of the same task, so that they are compared with one another.
            environment: component name to version.
            agent_version: of the agent.
            model: the model behind it.
            tools_offered: names of the tools the agent could call.
            metadata: anything else, as JSON.

        Raises:
            ValueError: this session keeps a record already.
        """
        if self._core.record is not None:
            raise ValueError(f"session {self._core.session_id!r} keeps a record already: use another session")
        about = {
            "task_key": task_key,
            "environment": dict(environment) if environment else None,
            "agent_version": agent_version,
            "model": model,
            "tools_offered": list(tools_offered) if tools_offered else None,
            "metadata": dict(metadata) if metadata else None,
        }
        core = self._core
        core.record = EpisodeRecord(task, session_id=core.session_id, agent=core.agent, about=about)
        return core.record
