import json
from typing import Any

import pytest

from tasks.ingest.importers.base import Imported, Rejected

STEP = {"kind": "user", "text": "Cancel LMN42"}


def plain(**changes: Any) -> dict[str, Any]:
    return {"task": "Cancel LMN42", "steps": [STEP], **changes}


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def only(found: list[Imported | Rejected]) -> Any:
    assert len(found) == 1
    return found[0]


def test_task_and_steps_are_enough(read: Any) -> None:
    found = only(read(plain()))
    assert found.episode.outcome == "unknown"
    assert [step.id for step in found.episode.steps] == ["1"]


@pytest.mark.parametrize("shape", ["lines", "list", "object"])
def test_lines_a_list_and_one_object_are_read_alike(read: Any, shape: str) -> None:
    records = [plain(id="a")] if shape == "object" else [plain(id="a"), plain(id="b")]
    content = {"lines": lines(*records), "list": records, "object": records[0]}[shape]
    assert [each.episode.source_id for each in read(content)] == [each["id"] for each in records]


def test_a_bad_record_is_rejected_with_line_and_reason_and_its_neighbours_are_kept(read: Any) -> None:
    found = read(lines(plain(), {"task": "no steps", "outcome": "success"}) + b"{oops\n" + lines(plain(id="z")))
    assert [type(each).__name__ for each in found] == ["Imported", "Rejected", "Rejected", "Imported"]
    assert (found[1].line, found[1].reason) == (2, "steps is missing")
    assert found[2].line == 3
    assert "not JSON" in found[2].reason


def test_a_bad_item_of_a_list_is_named_by_its_line(read: Any) -> None:
    found = read(json.dumps([plain(), plain(outcome="great")], indent=1).encode())
    assert found[1].line > 5
    assert found[1].reason == "item 2: outcome must be one of 'success', 'failure', 'partial', 'unknown'"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (plain(steps="x"), "steps must be a list"),
        (plain(steps=[]), "steps is empty"),
        (plain(task=" "), "task is empty"),
        (plain(task=5), "task must be text"),
        (plain(mood="good"), "mood is not a field of an episode"),
        (plain(started_at="soon"), "started_at must be a time such as"),
        (plain(started_at="0001-01-01T00:00:00+05:00"), "outside the calendar"),
        (plain(reward="lots"), "reward must be a number"),
        (plain(steps=[{"kind": "dance"}]), "steps[0].kind must be one of 'user', 'plan'"),
        (plain(steps=[{"kind": "memory_read", "rule": "r", "version": 10**30}]), "steps[0].version"),
        (plain(steps=[{"kind": "memory_read", "rule": "r", "version": 2**40}]), "steps[0].version is too large"),
        (plain(reward=float("inf")), "reward must be a finite number"),
        (plain(steps=[5]), "steps[0] must be an object"),
    ],
)
def test_reasons_are_words_a_person_understands(read: Any, record: Any, reason: str) -> None:
    assert reason in only(read(record)).reason


def test_a_reason_never_quotes_a_value(read: Any) -> None:
    assert "hunter2" not in only(read(plain(outcome="hunter2", reward="hunter2", started_at="hunter2"))).reason


def test_times_become_utc_and_naive_ones_are_marked(read: Any) -> None:
    zoned = only(read(plain(started_at="2026-11-29T10:00:00+09:00"))).episode
    assert zoned.started_at.isoformat() == "2026-11-29T01:00:00+00:00"
    assert not zoned.time_is_naive
    naive = only(read(plain(ended_at="2026-11-29T10:00:00"))).episode
    assert naive.ended_at.isoformat() == "2026-11-29T10:00:00+00:00"
    assert naive.time_is_naive
    assert only(read(plain(steps=[{**STEP, "at": "2026-11-29T10:00:00"}]))).episode.time_is_naive


def test_numbers_are_taken_for_ids_and_a_step_id_used_twice_is_renamed(read: Any) -> None:
    steps = [{**STEP, "id": 1}, {"kind": "observation", "id": 1, "of": 1}]
    found = only(read(plain(id=17, steps=steps)))
    assert found.episode.source_id == "17"
    assert [(step.id, step.of) for step in found.episode.steps] == [("1", None), ("1#2", "1")]
    assert found.details == {"renamed_steps": 1}
