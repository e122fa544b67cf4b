"""Where an agent works: it calls tools against the state, and every act becomes a step of the trace."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from worlds.engine.rules import Rule
from worlds.engine.state import State
from worlds.engine.tool import Tool, ToolError

FAULT_RATE = 0.03
"""How often a read times out; the back offices of real shops do, and agents ask once more."""

TIMED_OUT = "Error [upstream_timeout]: The service did not answer in 5 s. Retry."


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call came back with. ``error`` is the tool's code, empty when it worked."""

    data: Mapping[str, Any]
    error: str = ""

    def __getitem__(self, key: str) -> Any:
        return self.data[key]


class Desk:
    """State, tools and the growing trace (``steps``, canonical step dicts with ids from ``"1"``)."""

    def __init__(self, state: State, tools: Mapping[str, Tool], release: str, rng: random.Random) -> None:
        self.state = state
        self.steps: list[dict[str, Any]] = []
        self._tools = tools
        self._release = release
        self._rng = rng
        self._cites: list[str] = []

    def user(self, text: str) -> None:
        self._add("user", text=text)

    def plan(self, text: str) -> None:
        self._add("plan", text=text)

    def answer(self, text: str) -> None:
        self._add("answer", text=text)

    def read_rule(self, rule: Rule) -> str:
        """Record that the agent read ``rule``; gives the step's id."""
        return self._add("memory_read", rule=rule.id, version=rule.version, snapshot=rule.text)

    def cite(self, step_id: str) -> None:
        """The next call was made because of this step."""
        self._cites.append(step_id)

    def call(self, name: str, **arguments: Any) -> Reply:
        """Call a tool as the agent. A read that times out is asked for once more."""
        tool = self._tools[name]
        if not tool.writes and self._rng.random() < FAULT_RATE:
            call_id = self._record_call(name, arguments, {})
            self._observe(call_id, TIMED_OUT, error=True)
        return self._run(tool, arguments, {})

    def user_call(self, name: str, **arguments: Any) -> Reply:
        """The person does something on their own side, such as pulling a plug."""
        return self._run(self._tools[name], arguments, {"requestor": "user"})

    def _run(self, tool: Tool, arguments: dict[str, Any], extra: dict[str, Any]) -> Reply:
        call_id = self._record_call(tool.name, arguments, extra)
        try:
            data = tool.body(self.state, self._release, **arguments)
        except ToolError as refused:
            self._observe(call_id, str(refused), error=True)
            return Reply({}, refused.code)
        self._observe(call_id, json.dumps(data, ensure_ascii=False), error=False)
        return Reply(data)

    def _record_call(self, name: str, arguments: dict[str, Any], extra: dict[str, Any]) -> str:
        if self._cites:
            extra = {**extra, "cites": self._cites}
            self._cites = []
        return self._add("tool_call", name=name, arguments=arguments, **extra)

    def _observe(self, call_id: str, text: str, *, error: bool) -> None:
        self._add("observation", of=call_id, text=text, is_error=error, source="tool")

    def _add(self, kind: str, **fields: Any) -> str:
        step_id = str(len(self.steps) + 1)
        self.steps.append({"id": step_id, "kind": kind, **fields})
        return step_id
