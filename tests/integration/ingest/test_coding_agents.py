"""Real runs of coding agents, where they are present: each labelled one is one episode, and none claims an outcome."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.samples


def test_every_coding_run_is_one_episode_and_the_broken_one_is_refused_with_its_line(
    ingest: Any, stored: Any, samples: Path
) -> None:
    folder = samples / "coding-agents"
    labels = [json.loads(line) for line in (folder / "LABELS.jsonl").read_text().splitlines()]
    report = ingest(folder, namespace="coding")
    assert (report.accepted, report.duplicates, report.revised, report.joined) == (24, 0, 0, 0)
    refused = {Path(each.file).name: each for each in report.rejected}
    assert len(refused) == len(report.rejected) == 2
    assert "no episode format recognised" in refused.pop("LABELS.jsonl").reason
    (broken,) = refused.values()
    assert broken.line == 70
    assert "not JSON from here on" in broken.reason
    rows = {str(Path(row.source_file).relative_to(folder)): row for row in stored("coding")}
    assert rows.keys() | {str(Path(broken.file).relative_to(folder))} == {label["file"] for label in labels}
    assert {row.outcome for row in rows.values()} == {"unknown"}
    assert {label["success"] for label in labels} == {None}
    assert Counter(row.importer for row in rows.values()) == {"swe-agent": 23, "mini-swe-agent": 1}
    for label in labels:
        if "n_steps" in label:
            assert rows[label["file"]].n_calls == label["n_steps"]
            assert rows[label["file"]].task_key not in (None, label["task_id"])
    again = ingest(folder, namespace="coding")
    assert (again.accepted, again.duplicates, again.revised) == (0, 24, 0)
