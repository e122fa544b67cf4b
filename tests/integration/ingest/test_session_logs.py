"""Session logs that coding agents write: a folder of them is walked whole, and real files give exact counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SESSION = "5f0c-1"


def line(kind: str, content: Any, uuid: str, **more: Any) -> bytes:
    message = {"role": kind, "content": content, "id": uuid}
    value = {"type": kind, "uuid": uuid, "sessionId": SESSION, "isSidechain": False, "message": message, **more}
    return json.dumps(value).encode() + b"\n"


def use(call: str, name: str, **given: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": call, "name": name, "input": given}]


def result(call: str, text: str, *, is_error: bool = False) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_error}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    agents = logs / SESSION / "subagents"
    agents.mkdir(parents=True)
    (logs / f"{SESSION}.jsonl").write_bytes(
        line("user", "Mend the boat", "u1")
        + line("assistant", use("t1", "Task", prompt="Look below deck"), "u2")
        + line("user", result("t1", "dry"), "u3", toolUseResult={"agentId": "a9"})
        + line("assistant", use("t2", "Bash", command="make test"), "u4")
        + line("user", result("t2", "Exit code 2\nno oars", is_error=True), "u5")
    )
    side = {"isSidechain": True, "agentId": "a9"}
    (agents / "agent-a9.jsonl").write_bytes(line("user", "Look below deck", "s1", **side))
    (agents / "agent-a9.meta.json").write_text('{"agentType": "Explore", "toolUseId": "t1"}')
    return logs


def test_a_session_and_its_sub_agents_are_one_episode_with_the_outcome_of_its_last_check(
    folder: Path, ingest: Any, stored: Any
) -> None:
    report = ingest(folder)
    assert (report.accepted, report.joined, report.rejected) == (1, 2, [])
    (row,) = stored()
    assert (row.source_id, row.session_id, row.n_steps) == (SESSION, SESSION, 6)
    assert (row.outcome, row.outcome_source) == ("failure", "exit-code")
    again = ingest(folder)
    assert (again.accepted, again.duplicates, again.joined) == (0, 1, 2)


def test_a_sub_agent_that_grew_makes_a_revision(folder: Path, ingest: Any, stored: Any) -> None:
    ingest(folder)
    grown = line("assistant", [{"type": "text", "text": "Dry."}], "s2", isSidechain=True, agentId="a9")
    with (folder / SESSION / "subagents" / "agent-a9.jsonl").open("ab") as file:
        file.write(grown)
    assert ingest(folder).revised == 1
    (row,) = stored()
    assert (row.revision, row.n_steps) == (2, 7)


def test_a_sub_agent_whose_session_is_gone_is_kept_by_itself(folder: Path, ingest: Any, stored: Any) -> None:
    (folder / f"{SESSION}.jsonl").unlink()
    report = ingest(folder)
    assert (report.accepted, report.joined, report.rejected) == (1, 1, [])
    assert [row.source_id for row in stored()] == [f"{SESSION}/a9"]


@pytest.mark.samples
def test_every_real_session_is_read_and_every_broken_line_refused_with_its_place(
    samples: Path, ingest: Any, stored: Any
) -> None:
    report = ingest(*(samples / name for name in ("claude-code", "codex", "gemini-cli")))
    assert (report.accepted, report.duplicates, report.revised, report.joined) == (8, 0, 0, 0)
    assert {Path(each.file).name for each in report.rejected} == {"edge_cases.jsonl"}
    assert sorted(each.line or 0 for each in report.rejected) == [10, 11, 13, 14, 15, 16, 17, 18]
    rows = {row.source_id: row for row in stored()}
    assert {row.outcome for row in rows.values()} == {"unknown"}
    assert {name: row.n_steps for name, row in rows.items()} == {
        "edge_cases": 11, "test_session": 11, "fc-args-1": 2, "fc-args-2": 2, "fc-1": 3,
        "sess-uuid-1": 4, "sess-uuid-2": 4, "sess-uuid-thinking": 4,
    }  # fmt: skip
