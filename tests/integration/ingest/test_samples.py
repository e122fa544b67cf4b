"""Real runs, where they are present: every labelled one is there with its label's verdict, and the counts are exact."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.samples

LABELS = "LABELS.jsonl"


def labels(samples: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (samples / "tau" / LABELS).read_text().splitlines()]


@pytest.fixture
def files(samples: Path) -> list[Path]:
    return sorted((samples / "tau").glob("*.json*"))


@pytest.mark.parametrize("backwards", [False, True])
def test_every_tau_run_is_accepted_or_a_known_twin(
    files: list[Path], ingest: Any, stored: Any, samples: Path, backwards: bool
) -> None:
    report = ingest(*(reversed(files) if backwards else files), namespace="tau")
    assert (report.accepted, report.duplicates, report.revised) == (560, 26, 0)
    (reject,) = report.rejected
    assert reject.file.endswith(LABELS)
    assert reject.reason.startswith("no episode format recognised: lines with the fields 'episode_sha256'")
    rows = stored("tau")
    assert {row.task_key_derived for row in rows} == {False}
    known = {row.session_id: row for row in rows if row.session_id}
    trials = Counter((row.task_key, row.outcome) for row in rows if row.importer == "tau-bench")
    for label in labels(samples):
        outcome = "success" if label["success"] else "failure"
        if "sim_id" not in label:
            trials[f"{label['domain']}/{label['task_id']}", outcome] -= 1
            continue
        row = known[label["sim_id"]]
        assert row.outcome == outcome
        assert label["task_id"] is None or row.task_key == f"{label['domain']}/{label['task_id']}"
    assert not any(trials.values())
    again = ingest(*files, namespace="tau")
    assert (again.accepted, again.duplicates, again.revised, len(again.rejected)) == (0, 586, 0, 1)


def test_no_credential_of_a_sample_reaches_the_store(files: list[Path], ingest: Any, database: Any) -> None:
    from storage.bodies import load_bodies
    from storage.queries import episodes as queries

    ingest(*(file for file in files if "gpt-oss" in file.name), namespace="tau")
    with database.read() as session:
        rows = queries.current(session, "tau")
        bodies = load_bodies(session, "tau", [row.id for row in rows])
    assert len(bodies) == 31
    assert "api_key" not in json.dumps([bodies, [row.model_dump() for row in rows]], default=str)
