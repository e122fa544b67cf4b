"""Small invented runs in every format that is read: what each importer is shown, fuzzed and mangled with.

An ``Example`` is a file taken apart: ``units`` are its records (JSON values), ``assemble`` puts them into bytes. Where
there are several, each is an episode of its own, so that one may be spoilt and the others counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Assemble = Callable[[list[Any]], bytes]


@dataclass(frozen=True)
class Example:
    """One file of one format. ``episodes`` is how many it holds."""

    format: str
    units: list[Any]
    assemble: Assemble
    episodes: int

    @property
    def data(self) -> bytes:
        return self.assemble(self.units)


def lines(units: list[Any]) -> bytes:
    return b"".join(dumps(unit) + b"\n" for unit in units)


def lines_of_sessions(units: list[Any]) -> bytes:
    """Each unit is the list of a session's lines."""
    return b"".join(lines(unit) if isinstance(unit, list) else lines([unit]) for unit in units)


def a_list(units: list[Any]) -> bytes:
    return dumps(units)


def the_first(units: list[Any]) -> bytes:
    return dumps(units[0])


def under(key: str, **more: Any) -> Assemble:
    return lambda units: dumps({**more, key: units})


def text(units: list[Any]) -> bytes:
    return "".join(unit if isinstance(unit, str) else json.dumps(unit) for unit in units).encode(
        "utf-8", "surrogatepass"
    )


def dumps(value: Any) -> bytes:
    return json.dumps(value).encode()


def _canonical(number: int) -> dict[str, Any]:
    steps = [
        {"id": "1", "kind": "user", "text": f"Move mooring {number}"},
        {"id": "2", "kind": "tool_call", "name": "find"},
    ]
    return {"id": f"r-{number}", "task": f"Move mooring {number}", "steps": steps, "outcome": "success"}


def _tau1(number: int) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "find_ferry", "arguments": '{"port": "Rhin"}'}}
    traj = [
        {"role": "user", "content": f"Book ferry {number}."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "name": "find_ferry", "content": "none"},
    ]
    return {"task_id": number, "trial": 0, "reward": 1.0, "info": {"task": {"instruction": "x"}}, "traj": traj}


def _tau2(number: int) -> dict[str, Any]:
    messages = [
        {"role": "user", "content": f"Where is ferry {number}?", "turn_idx": 0},
        {"role": "assistant", "content": "At the quay.", "turn_idx": 1},
    ]
    return {"id": f"sim-{number}", "task_id": str(number), "messages": messages, "reward_info": {"reward": 0.0}}


_AT = "2026-05-01T10:00:"


def _claude(number: int) -> list[dict[str, Any]]:
    base = {
        "sessionId": f"s-{number}",
        "isSidechain": False,
        "cwd": "/boat",
        "version": "2.0.1",
        "userType": "external",
    }
    use = {"type": "tool_use", "id": f"t-{number}", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": f"t-{number}", "content": "oars", "is_error": False}
    return [
        {**base, "type": "user", "uuid": f"u1-{number}", "parentUuid": None, "timestamp": f"{_AT}00Z",
         "message": {"role": "user", "content": f"List boat {number}"}},
        {**base, "type": "assistant", "uuid": f"u2-{number}", "parentUuid": f"u1-{number}", "timestamp": f"{_AT}01Z",
         "message": {"id": f"m-{number}", "role": "assistant", "model": "m", "content": [use]}},
        {**base, "type": "user", "uuid": f"u3-{number}", "parentUuid": f"u2-{number}", "timestamp": f"{_AT}02Z",
         "toolUseResult": {"stdout": "oars", "stderr": ""}, "message": {"role": "user", "content": [result]}},
    ]  # fmt: skip


def _codex() -> list[dict[str, Any]]:
    call = {"type": "function_call", "name": "shell", "arguments": '{"command": ["ls"]}', "call_id": "c1"}
    output = {
        "type": "function_call_output",
        "call_id": "c1",
        "output": '{"output": "oars", "metadata": {"exit_code": 0}}',
    }
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List the boat"}]}
    at = "2026-05-01T10:00:00Z"
    return [
        {"timestamp": at, "type": "session_meta", "payload": {"id": "rollout-1", "cwd": "/boat", "cli_version": "0.9"}},
        {"timestamp": at, "type": "response_item", "payload": said},
        {"timestamp": at, "type": "response_item", "payload": call},
        {"timestamp": at, "type": "response_item", "payload": output},
    ]


def _gemini() -> dict[str, Any]:
    call = {"id": "c1", "name": "read_file", "args": {"path": "a"}, "status": "success"}
    messages = [
        {"id": "1", "type": "user", "content": "Read the log", "timestamp": "2026-05-01T10:00:00Z"},
        {"id": "2", "type": "gemini", "content": "Reading.", "toolCalls": [call], "timestamp": "2026-05-01T10:00:01Z"},
    ]
    return {"sessionId": "g-1", "projectHash": "h", "startTime": "2026-05-01T10:00:00Z", "messages": messages}


def _openai(number: int) -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": '{"port": "Rhin"}'}}
    return {
        "messages": [
            {"role": "system", "content": "You are a harbour."},
            {"role": "user", "content": f"When is tide {number}?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "at six"},
        ]
    }


def _atif(number: int) -> dict[str, Any]:
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}
    return {
        "schema_version": "ATIF-v1.4",
        "session_id": f"a-{number}",
        "agent": {"name": "harbour-bot", "version": "1"},
        "steps": [
            {"step_id": 1, "source": "user", "message": f"List boat {number}"},
            {"step_id": 2, "source": "agent", "message": "Looking.", "tool_calls": [call],
             "observation": {"results": [{"source_call_id": "c1", "content": "oars"}]}},
        ],
    }  # fmt: skip


def _otel(number: int) -> dict[str, Any]:
    tags = [
        {"key": "gen_ai.system", "type": "string", "value": "x"},
        {"key": "gen_ai.operation.name", "type": "string", "value": "chat"},
        {"key": "gen_ai.prompt.0.role", "type": "string", "value": "user"},
        {"key": "gen_ai.prompt.0.content", "type": "string", "value": f"When is tide {number}?"},
        {"key": "gen_ai.completion.0.role", "type": "string", "value": "assistant"},
        {"key": "gen_ai.completion.0.content", "type": "string", "value": "At six."},
    ]
    span = {"traceID": f"t{number}", "spanID": "s1", "operationName": "chat", "references": [], "tags": tags,
            "startTime": 1_700_000_000_000_000, "duration": 1000, "processID": "p1", "logs": []}  # fmt: skip
    return {"traceID": f"t{number}", "spans": [span], "processes": {"p1": {"serviceName": "bot", "tags": []}}}


def _swe() -> dict[str, Any]:
    entry = {
        "action": "ls",
        "observation": "oars",
        "response": "Look.\n```\nls\n```",
        "thought": "Look.",
        "state": "{}",
    }
    return {
        "environment": "swe_main",
        "trajectory": [entry],
        "history": [{"role": "system", "content": "You edit."}, {"role": "user", "content": "Mend the oar"}],
        "info": {"exit_status": "submitted", "submission": "diff", "model_stats": {}},
    }  # fmt: skip


def _mini() -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": "One bash action."},
        {"role": "user", "content": "Mend the oar"},
        {"role": "assistant", "content": "THOUGHT: look\n\n```bash\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\noars\n</output>"},
    ]


def _dojo() -> dict[str, Any]:
    call = {"function": "get_tide", "args": {"port": "Rhin"}, "id": "c1"}
    messages = [
        {"role": "user", "content": "When is the tide?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "at six", "tool_call_id": "c1", "tool_call": call, "error": None},
        {"role": "assistant", "content": "At six.", "tool_calls": None},
    ]
    return {"suite_name": "harbour", "pipeline_name": "p", "user_task_id": "user_task_0", "injection_task_id": None,
            "attack_type": None, "injections": {}, "messages": messages, "error": None, "utility": True,
            "security": True, "duration": 1.0}  # fmt: skip


def _alfworld(number: int) -> dict[str, Any]:
    traj = f"You are in a boathouse.\nYour task is to: put oar {number} in locker.\n> go to locker 1\nIt is closed.\n"
    return {"name": f"pick_and_place_simple-Oar-None-Locker-{number}/trial_T1", "result": True, "traj": traj}


def _who(number: int) -> dict[str, Any]:
    history = [
        {"role": "user", "name": "Tide_Expert", "content": "Look it up."},
        {"role": "user", "name": "Checker", "content": "At five."},
    ]
    return {"question": f"When is tide {number}?", "question_ID": f"q-{number}", "history": history,
            "ground_truth": "six", "is_correct": False, "mistake_agent": "Checker",
            "mistake_step": "1", "mistake_reason": "guessed"}  # fmt: skip


_REACT = [
    "########################################\nBEGIN TRIAL 1\nTrial summary: Correct: 1, Incorrect: 1, Halted: 0\n"
    "#######################################\n------------- BEGIN CORRECT AGENTS -------------\n\n",
    "Question: When is the tide at Rhin?\nThought 1: I need to search Rhin.\nAction 1: Search[Rhin]\n"
    "Observation 1: High water at six.\nThought 2: Done.\nAction 2: Finish[six]\nObservation 2: Answer is CORRECT\n\n",
    "------------- BEGIN INCORRECT AGENTS -----------\n\n",
    "Question: Who keeps the lock?\nThought 1: I need to search lock.\nAction 1: Search[lock]\n"
    "Observation 1: Kept by Ida.\nThought 2: Done.\nAction 2: Finish[Bo]\nObservation 2: Answer is INCORRECT\n\n",
    "------------- BEGIN HALTED AGENTS --------------\n\n",
]

EXAMPLES = [
    Example("canonical", [_canonical(1), _canonical(2)], lines, 2),
    Example("canonical", [_canonical(1), _canonical(2)], a_list, 2),
    Example("tau-bench", [_tau1(1), _tau1(2)], a_list, 2),
    Example("tau2", [_tau2(1), _tau2(2)], under("simulations", info={}, tasks=[]), 2),
    Example("atif", [_atif(1), _atif(2)], lines, 2),
    Example("atif", [_atif(1)], the_first, 1),
    Example("claude-code", [_claude(1), _claude(2)], lines_of_sessions, 2),
    Example("codex", [_codex()], lines_of_sessions, 1),
    Example("gemini-cli", [_gemini()], the_first, 1),
    Example("openai-messages", [_openai(1), _openai(2)], lines, 2),
    Example("openai-messages", [_openai(1)["messages"]], the_first, 1),
    Example("otel-genai", [_otel(1), _otel(2)], under("data", total=0), 2),
    Example("swe-agent", [_swe()], the_first, 1),
    Example("mini-swe-agent", [_mini()], the_first, 1),
    Example("agentdojo", [_dojo()], the_first, 1),
    Example("alfworld", [_alfworld(1), _alfworld(2)], lines, 2),
    Example("react-log", _REACT, text, 2),
    Example("who-when", [_who(1)], the_first, 1),
]
