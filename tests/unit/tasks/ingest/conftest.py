"""Sources made of bytes, and small invented runs in each format."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tasks.ingest.importers.base import Imported, Rejected
from tasks.ingest.importers.registry import choose
from tasks.ingest.prepare import Door
from tasks.ingest.redact import Redactor
from tasks.ingest.source import Source

Read = Callable[..., list[Imported | Rejected]]


def as_source(content: Any, name: str = "file.json") -> Source:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return Source(io.BytesIO(data), name, name, name)


@pytest.fixture
def read() -> Read:
    def reading(content: Any, name: str = "file.json", importer: str = "auto") -> list[Imported | Rejected]:
        source = as_source(content, name)
        return list(choose(source, importer).read(source))

    return reading


@pytest.fixture
def door() -> Door:
    return Door("acme/support", "ops", False, b"k" * 32, datetime(2026, 11, 30, tzinfo=UTC), Redactor())


def plain(**changes: Any) -> dict[str, Any]:
    """A canonical record."""
    steps = [{"id": "1", "kind": "user", "text": "Cancel LMN42"}, {"id": "2", "kind": "tool_call", "name": "find"}]
    return {"id": "r-1", "task": "Cancel LMN42", "steps": steps, "outcome": "success", **changes}


def tau1_run(**changes: Any) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "find_ferry", "arguments": '{"port": "Rhin"}'}}
    traj = [
        {"role": "system", "content": "# Ferry agent policy\nBe kind."},
        {"role": "user", "content": "Book me a ferry."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "find_ferry", "content": "Error: no such port"},
        {"role": "assistant", "content": "There is none."},
    ]
    info = {"task": {"user_id": "u", "instruction": "You are Ida. Book a ferry."}}
    return {"task_id": 4, "trial": 1, "reward": 0.0, "info": info, "traj": traj, **changes}


def tau2_run(**changes: Any) -> dict[str, Any]:
    looks = {"id": "u1", "name": "look", "arguments": {}, "requestor": "user"}
    asks = {"id": "a1", "name": "status", "arguments": {"b": 1}, "requestor": "assistant"}
    messages = [
        {"role": "assistant", "content": "Hi!", "tool_calls": None, "timestamp": "2026-03-01T10:00:00"},
        {"role": "user", "content": "My boat is late.", "timestamp": "2026-03-01T10:00:05"},
        {"role": "user", "content": None, "tool_calls": [looks]},
        {"role": "tool", "id": "u1", "content": "fog", "requestor": "user", "error": False},
        {"role": "assistant", "content": "Checking.", "tool_calls": [asks]},
        {"role": "tool", "id": "a1", "content": "late", "requestor": "assistant", "error": True},
    ]
    times = {"start_time": "2026-03-01T10:00:00", "end_time": "2026-03-01T10:01:00"}
    reward = {"reward": 1.0, "action_checks": checks("status")}
    run = {"id": "sim-1", "task_id": "7", "trial": 0, **times, "termination_reason": "user_stop"}
    return {**run, "reward_info": reward, "messages": messages, **changes}


def checks(name: str) -> list[dict[str, Any]]:
    return [{"action": {"action_id": "x", "name": name, "arguments": {"b": 1}}, "action_match": True}]


def tau2_task(task_id: str, name: str) -> dict[str, Any]:
    told = {"reason_for_call": f"About {name}.", "known_info": "You are Ida."}
    criteria = {"actions": [{"action_id": "x", "name": name, "arguments": {"b": 1}}], "nl_assertions": []}
    return {"id": task_id, "user_scenario": {"instructions": told}, "ticket": None, "evaluation_criteria": criteria}


def tau2_file(*runs: dict[str, Any], tasks: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    agent = {"implementation": "llm_agent", "llm": "model-x", "llm_args": {"api_key": "do-not-copy-me"}}
    info = {"git_commit": "abc", "agent_info": agent, "environment_info": {"domain_name": "ferry"}}
    listed = tasks if tasks is not None else [tau2_task("7", "status"), tau2_task("8", "refund")]
    return {"timestamp": "2026-03-01", "info": info, "tasks": listed, "simulations": list(runs)}
