"""The five tools. None has a namespace among its arguments: the server was bound to one when it started."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import OrderedDict
from collections.abc import Awaitable
from typing import Annotated, Any, Literal

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from slowwave_client import AsyncMemory, SlowwaveError
from slowwave_client._impl.recording import send_episode, startup
from slowwave_client.mcp import shapes
from slowwave_client.mcp.refusals import refusal, refused

MOST_SESSIONS = 256
"""Sessions that are open at a time; the one not used for longest is reported and closed past that."""
NO_INGEST = {
    "type": "access_refused",
    "what": "this server was started without a token that may record episodes",
    "what_now": "do not try again: tell the user to set SLOWWAVE_INGEST_TOKEN for slowwave-mcp",
}
Plain = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
SessionId = Annotated[
    Plain | None, Field(description="The run that calls: what the first answer named, or an id of your own.")
]
RuleId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$", description="As search_rules gave it.")]
Budget = Annotated[int | None, Field(ge=1, le=1_000_000, description="At most so many tokens of rules.")]
Task = Annotated[str, Field(min_length=1, max_length=20_000, description="What you are about to do, in any language.")]
Environment = Annotated[
    dict[Plain, Plain] | None, Field(max_length=100, description='Component to version, such as {"shop": "2.1"}.')
]
Steps = Annotated[
    list[dict[str, Any]],
    Field(
        min_length=1,
        max_length=5_000,
        description="In order. Each has kind (user, plan, claim, tool_call, observation, answer, memory_read, "
        "memory_write or system) and text; a tool_call has id, name and arguments, its observation has of (that id) "
        "and is_error.",
    ),
]


class Tools:
    """What the tools do, over one client. ``own_session`` is for calls that name none; None makes one for each."""

    def __init__(
        self, memory: AsyncMemory, *, agent: str | None, ingest_token: str | None, own_session: str | None
    ) -> None:
        self._memory = memory
        self._agent = agent
        self._ingest_token = ingest_token
        self._own_session = own_session
        self._open: OrderedDict[str, None] = OrderedDict()

    async def search_rules(
        self,
        task: Task,
        environment: Environment = None,
        k: Annotated[int, Field(ge=1, le=50, description="At most so many rules.")] = 5,
        token_budget: Budget = None,
        session_id: SessionId = None,
    ) -> Annotated[CallToolResult, shapes.SearchShape]:
        """Reviewed rules that fit a task, best first. Call it before you begin, and again when check_session says so.

        Each was approved by a person for the scope it names. No rules is an answer too: then go on without.
        """
        return await _told(self._search(await self._session(session_id), task, environment, k, token_budget))

    async def get_rule(
        self, rule_id: RuleId, session_id: SessionId = None
    ) -> Annotated[CallToolResult, shapes.OneRuleShape]:
        """One rule by its id, as it holds now. An error of type rule_withdrawn says why it no longer does."""
        return await _told(self._get(await self._session(session_id), rule_id))

    async def startup_rules(
        self, token_budget: Budget = None, session_id: SessionId = None
    ) -> Annotated[CallToolResult, shapes.StartupShape]:
        """The few rules worth knowing before any task is given, each with the reason why."""
        return await _told(self._startup(await self._session(session_id), token_budget))

    async def record_episode(
        self,
        task: Task,
        steps: Steps,
        outcome: Annotated[
            Literal["success", "failure", "partial", "unknown"], Field(description="As you saw it end; do not guess.")
        ] = "unknown",
        task_key: Annotated[Plain | None, Field(description="The kind of task: runs of one kind are compared.")] = None,
        environment: Environment = None,
        session_id: SessionId = None,
    ) -> Annotated[CallToolResult, shapes.RecordShape]:
        """Send what happened in this run, once, at its end: raw evidence, of which people may make a rule.

        The outcome counts as self-reported. Recording the same again changes nothing.
        """
        if self._ingest_token is None:
            return refused(dict(NO_INGEST))
        session = await self._session(session_id)
        episode: dict[str, Any] = {
            "task": task,
            "steps": steps,
            "outcome": outcome,
            "outcome_source": "self-reported",
            "session_id": session,
        }
        more = {"task_key": task_key, "environment": environment, "agent": self._agent}
        episode |= {name: value for name, value in more.items() if value}
        return await _told(self._record(session, episode))

    async def check_session(self, session_id: SessionId = None) -> Annotated[CallToolResult, shapes.CheckShape]:
        """Whether anything this run has read was withdrawn since. Call it before an act that cannot be undone.

        fine: go on. read-only: search again before you act. stop: change nothing more, and tell the user.
        """
        return await _told(self._check(await self._session(session_id)))

    async def close(self) -> None:
        """Report what every open session read."""
        while self._open:
            await self._end(self._open.popitem(last=False)[0])

    async def _search(
        self, session: str, task: str, environment: dict[str, str] | None, k: int, budget: int | None
    ) -> BaseModel:
        found = await self._memory.rules(task, environment, session, self._agent, k, budget)
        return shapes.of_search(session, found)

    async def _get(self, session: str, rule_id: str) -> BaseModel:
        return shapes.of_rule(session, await self._memory.rule(rule_id, session, self._agent))

    async def _startup(self, session: str, budget: int | None) -> BaseModel:
        flow = startup(self._memory._core, session, self._agent, budget)
        return shapes.of_startup(session, await self._memory._run(flow))

    async def _record(self, session: str, episode: dict[str, Any]) -> BaseModel:
        said = json.dumps(episode, sort_keys=True, ensure_ascii=True)
        name = f"mcp-{hashlib.sha256(said.encode()).hexdigest()[:32]}"
        flow = send_episode(self._memory._core, {"id": name, **episode}, self._ingest_token)
        done = await self._memory._run(flow)
        return shapes.RecordShape(session_id=session, id=name, state=done.state)

    async def _check(self, session: str) -> BaseModel:
        return shapes.of_check(session, await self._memory.check(session))

    async def _session(self, given: str | None) -> str:
        session = given or self._own_session or f"mcp-{uuid.uuid4()}"
        self._open[session] = None
        self._open.move_to_end(session)
        if len(self._open) > MOST_SESSIONS:
            await self._end(self._open.popitem(last=False)[0])
        return session

    async def _end(self, session: str) -> None:
        await self._memory.session(session, self._agent).report()


async def _told(work: Awaitable[BaseModel]) -> CallToolResult:
    """The answer, for programs and as text; or what went wrong, by type."""
    try:
        answer = await work
    except SlowwaveError as problem:
        return refusal(problem)
    text = TextContent(type="text", text=answer.model_dump_json())
    return CallToolResult(content=[text], structured_content=answer.model_dump(mode="json"))
