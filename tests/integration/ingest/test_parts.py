"""Files that belong to another's episode and were there before it: what they gave alone gives way."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from storage.engine import Database
from storage.queries import episodes as queries
from tasks.ingest.source import Limits

from .conftest import NOW


def said(kind: str, content: Any, uuid: str, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {"type": kind, "sessionId": "s-1", "uuid": uuid, "message": message, **more}


def side(kind: str, content: Any, uuid: str) -> dict[str, Any]:
    return said(kind, content, uuid, isSidechain=True, agentId="oar")


SESSION = [said("user", "Mend the boat", "u1"), said("assistant", "Mended", "u2")]
AGENT = [side("user", "Count the oars", "a1"), side("assistant", "Four", "a2")]


def trajectory(name: str, **result: Any) -> dict[str, Any]:
    call = {"tool_call_id": "c1", "function_name": "ask", "arguments": {}}
    steps = [
        {"step_id": 1, "source": "user", "message": f"Mend boat {name}"},
        {"step_id": 2, "source": "agent", "message": "", "tool_calls": [call],
         "observation": {"results": [{"source_call_id": "c1", "content": "four", **result}]}},
    ]  # fmt: skip
    agent = {"name": "carpenter", "version": "1"}
    return {"schema_version": "ATIF-v1.7", "session_id": name, "trajectory_id": name, "agent": agent, "steps": steps}


def lines(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in values))
    return path


@pytest.mark.parametrize("read", ["the session alone", "the folder"])
def test_a_sub_agent_read_before_its_session_is_no_second_run_once_that_is_there(
    tmp_path: Path, ingest: Any, stored: Any, read: str
) -> None:
    agent = lines(tmp_path / "agent-oar.jsonl", AGENT)
    ingest(agent)
    assert [each.source_id for each in stored()] == ["s-1/oar"]
    session = lines(tmp_path / "s-1.jsonl", SESSION)
    for _ in range(2):
        ingest(session if read == "the session alone" else tmp_path)
        assert [each.source_id for each in stored()] == ["s-1"]


def test_a_sub_trajectory_read_before_its_parent_is_no_second_run_once_that_is_there(
    tmp_path: Path, ingest: Any, stored: Any
) -> None:
    child, parent = tmp_path / "child.json", tmp_path / "parent.json"
    child.write_text(json.dumps(trajectory("child")))
    ingest(child)
    reference = {"session_id": "child", "trajectory_path": "child.json"}
    parent.write_text(json.dumps(trajectory("parent", subagent_trajectory_ref=[reference])))
    ingest(parent)
    assert [each.source_id for each in stored()] == ["parent"]


def test_a_result_refused_before_its_trajectory_came_is_resolved_by_it(
    tmp_path: Path, ingest: Any, database: Database
) -> None:
    result = tmp_path / "result.json"
    result.write_text(json.dumps({"trial_name": "t", "verifier_result": {"rewards": {"reward": 1.0}}}))
    assert len(ingest(result).rejected) == 1
    run = tmp_path / "trajectory.json"
    run.write_text(json.dumps(trajectory("run")))
    ingest(run, now=NOW + timedelta(minutes=1))
    with database.read() as session:
        assert queries.dead_letters(session, "lab") == []


def test_a_session_and_its_sub_agents_are_no_larger_together_than_a_document(
    tmp_path: Path, ingest: Any, stored: Any
) -> None:
    session = lines(tmp_path / "s-1.jsonl", SESSION)
    many = [side("assistant", f"Oar {number}", f"a{number}") for number in range(1000)]
    (tmp_path / "agent-oar.jsonl").write_bytes(
        gzip.compress("".join(json.dumps(each) + "\n" for each in many).encode())
    )
    report = ingest(session, limits=Limits(document=20_000))
    assert report.accepted == 1
    (refused,) = report.rejected
    assert refused.reason.endswith("bytes: split it")
    (held,) = stored()
    assert held.n_steps < 200


def test_a_session_larger_than_a_document_is_kept_up_to_there_and_says_so(
    tmp_path: Path, ingest: Any, stored: Any
) -> None:
    many = [said("user", "Mend the boat", "u0"), *(said("assistant", f"Oar {at}", f"u{at}") for at in range(1, 1000))]
    report = ingest(lines(tmp_path / "s-1.jsonl", many), limits=Limits(document=20_000))
    assert [each.reason for each in report.rejected] == ["more than 20,000 bytes: split it"]
    assert 1 < stored()[0].n_steps < 200
