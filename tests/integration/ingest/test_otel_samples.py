"""Real traces of GenAI, where they are present: every labelled file gives its episodes, and the counts are exact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.samples

# Episodes of each file. One file holds every span of four others again, and two embeddings, which are no conversation.
EPISODES = {
    "agentevals/helm_3.json": 1,
    "agentevals/k8s.json": 1,
    "agentevals/tempo_export_with_batches.json": 1,
    "openinference/ai-generateObject-doGenerate.json": 1,
    "openinference/ai-generateText-doGenerate.json": 2,
    "openinference/ai-generateText.json": 2,
    "openinference/ai-streamText.json": 1,
    "openinference/all-spans.json": 8,
    "openinference/openinference_client_span_tool_calls.json": 1,
    "openinference/otel_genai_client_span_tool_calls.json": 1,
    "openinference/otel_genai_deprecated_client_span_tool_calls.json": 1,
}


def test_every_labelled_file_gives_its_episodes(samples: Path, ingest: Any, stored: Any) -> None:
    labelled = [json.loads(line)["file"] for line in (samples / "otel-genai" / "LABELS.jsonl").read_text().splitlines()]
    assert sorted(labelled) == sorted(EPISODES)
    for file, number in EPISODES.items():
        report = ingest(samples / "otel-genai" / file, namespace="otel/" + file.split("/")[1].split(".")[0].lower())
        assert (report.accepted, report.duplicates, report.revised) == (number, 0, 0), file
        assert len(report.rejected) == (2 if file.endswith("all-spans.json") else 0)
        assert all("embedding: 1" in each.reason for each in report.rejected)


def test_a_span_in_two_files_is_one_episode(samples: Path, ingest: Any, stored: Any) -> None:
    report = ingest(*(samples / "otel-genai" / file for file in EPISODES), namespace="otel")
    assert (report.accepted, report.duplicates, report.revised, len(report.rejected)) == (14, 6, 0, 2)
    assert {(row.importer, row.outcome) for row in stored("otel")} == {("otel-genai", "unknown")}
