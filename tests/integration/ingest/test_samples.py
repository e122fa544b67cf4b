"""Real runs, where they are present: every labelled one is there with its label's verdict, and the counts are exact."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.samples

LABELS = "LABELS.jsonl"
FOLDERS = (
    "tau", "agentdojo", "alfworld", "hotpotqa", "coding-agents", "who-when", "claude-code", "codex", "gemini-cli",
    "otel-genai",
)  # fmt: skip
# Duplicates besides: 26 of tau, 4 of alfworld, and 6 traces that an export of otel-genai repeats.
COUNTS = Counter(
    {
        "alfworld": 637, "react-log": 626, "tau2": 434, "agentdojo": 204, "tau-bench": 126, "who-when": 112,
        "swe-agent": 23, "otel-genai": 14, "codex": 3, "gemini-cli": 3, "claude-code": 2, "mini-swe-agent": 1,
    }
)  # fmt: skip
REASONS = {
    ("BabyEncryption.traj", 70): "not JSON from here on, and what came before makes no run",
    ("edge_cases.jsonl", 10): "message has no content",
    ("edge_cases.jsonl", 11): "message must be an object; this is text",
    ("edge_cases.jsonl", 13): "an entry must be an object; this is text",
    ("edge_cases.jsonl", 14): "type is missing",
    ("edge_cases.jsonl", 15): "an entry must be an object; this is a number",
    ("edge_cases.jsonl", 16): "an entry must be an object; this is a list",
    ("edge_cases.jsonl", 17): "session todowrite_session: no word of the user is in it",
    ("edge_cases.jsonl", 18): "message.content[0] must be an object; this is text",
    # Two traces of that file hold an embedding and nothing that was said.
    ("all-spans.json", 1): "trace ",
}
# Broken on purpose: its label says so, and that no verdict is known.
UNREADABLE = {"coding-agents/malformed/BabyEncryption.traj": 1}
VERDICT = {True: "success", False: "failure", None: "unknown"}


def labels(samples: Path, folder: str = "tau") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (samples / folder / LABELS).read_text().splitlines()]


def file_of(folder: str, name: str) -> str:
    """What a label calls a file, as it is called beside the labels."""
    return f"{name.removeprefix('knowagent/')}.gz" if folder == "alfworld" else name


def test_every_labelled_run_of_every_format_is_there_with_its_verdict(samples: Path, ingest: Any, stored: Any) -> None:
    report = ingest(*(samples / folder for folder in FOLDERS), namespace="all")
    rows = stored("all")
    assert Counter(row.importer for row in rows) == COUNTS
    assert (report.accepted, report.duplicates, report.revised, report.joined) == (COUNTS.total(), 36, 0, 0)
    assert_true_reasons(samples, report)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[str(Path(row.source_file).relative_to(samples))][row.outcome] += 1
    missing: Counter[str] = Counter()
    for folder in FOLDERS:
        if folder != "tau" and (samples / folder / LABELS).exists():
            for file, verdicts in verdicts_of(samples, folder).items():
                missing += Counter({file: (verdicts - found[file]).total()})
    # Four runs of the second round of alfworld are letter for letter those of the first, whose episodes stand for both.
    assert missing == {"alfworld/KnowAgentALFWorld_llama-2-13b_D1.jsonl.gz": 4, **UNREADABLE}


def verdicts_of(samples: Path, folder: str) -> dict[str, Counter[str]]:
    wanted: dict[str, Counter[str]] = defaultdict(Counter)
    for label in labels(samples, folder):
        verdict = label.get("utility" if folder == "agentdojo" else "success")
        wanted[f"{folder}/{file_of(folder, label['file'])}"][VERDICT[verdict]] += 1
    return wanted


def assert_true_reasons(samples: Path, report: Any) -> None:
    rejected = [(str(Path(each.file).relative_to(samples)), each.line, each.reason) for each in report.rejected]
    labels = [(file, line, why) for file, line, why in rejected if file.endswith(LABELS)]
    assert [file for file, _, _ in labels] == [
        f"{folder}/{LABELS}" for folder in FOLDERS if (samples / folder / LABELS).exists()
    ]
    assert all(
        why.startswith("no episode format recognised: lines with the fields 'episode_sha256'") for _, _, why in labels
    )
    others = {(Path(file).name, line): why for file, line, why in rejected if not file.endswith(LABELS)}
    assert {place: why for place, why in others.items() if not why.startswith(REASONS.get(place, "-"))} == {}
    assert len(rejected) == len(labels) + len(REASONS) + 1


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
