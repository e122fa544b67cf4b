"""Every format through the whole door, on both databases: as files in one folder, as a request, spoilt and odd."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from storage.bodies import load_bodies
from storage.engine import Database
from support.episode_files import EXAMPLES, Example
from support.mangling import mangle
from tasks.ingest.episode import Episode
from tasks.ingest.source import Limits

from .conftest import record

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.format}-{each.assemble.__name__}")


@pytest.fixture
def bodies(database: Database, stored: Any) -> Any:
    def reading(namespace: str = "lab") -> list[Episode]:
        with database.read() as session:
            held = load_bodies(session, namespace, [row.id for row in stored(namespace)])
        return [Episode.model_validate(body) for body in held.values()]

    return reading


def test_a_folder_may_mix_all_formats_under_any_name(tmp_path: Path, ingest: Any, stored: Any) -> None:
    wanted: Counter[str] = Counter()
    folder = tmp_path / "mixed"
    folder.mkdir()
    for number, example in enumerate(EXAMPLES):
        packed = gzip.compress(example.data) if number % 2 else example.data
        (folder / f"{number:02}.dat").write_bytes(packed)
        wanted[example.format] += example.episodes
    report = ingest(folder)
    assert (report.rejected, report.revised) == ([], 0)
    # Two canonical records and one of atif stand in two files each.
    assert (report.accepted, report.duplicates) == (wanted.total() - 3, 3)
    assert Counter(row.importer for row in stored()) == wanted - Counter({"canonical": 2, "atif": 1})
    assert ingest(folder).accepted == 0


@each_example
def test_a_request_takes_what_a_file_may_hold(example: Example, post: Any, stored: Any, bodies: Any) -> None:
    report = post(example.data)
    assert (report.accepted, report.rejected) == (example.episodes, [])
    assert {row.importer for row in stored()} == {example.format}
    assert all(episode.task.strip() and episode.steps for episode in bodies())


@each_example
def test_spoilt_records_never_stop_the_door(example: Example, post: Any, bodies: Any) -> None:
    seed = 20261130
    print("seed", seed)
    rng = random.Random(f"{seed}{example.format}{example.assemble.__name__}")
    good = {json.dumps(episode.model_dump(mode="json")["steps"]) for episode in _alone(example, post, bodies)}
    for round_number in range(12):
        units = list(example.units)
        at = rng.randrange(len(units))
        units[at] = mangle(units[at], rng.randrange, times=rng.randint(1, 6))
        namespace = f"lab/{round_number}"
        report = post(example.assemble(units), namespace=namespace, importer=example.format)
        assert report.seen or not example.assemble(units).strip(), "something was said of it"
        if example.episodes == len(units) > 1:
            held = {json.dumps(episode.model_dump(mode="json")["steps"]) for episode in bodies(namespace)}
            assert len(good - held) <= 1


def _alone(example: Example, post: Any, bodies: Any) -> list[Episode]:
    post(example.data, namespace="lab/whole")
    return bodies("lab/whole")  # type: ignore[no-any-return]


def test_huge_observations_and_thousands_of_steps_are_kept_whole(post: Any, bodies: Any, stored: Any) -> None:
    steps = [{"id": str(n), "kind": "observation", "text": f"line {n}"} for n in range(5000)]
    post(
        record(id="long", steps=steps),
        record(id="wide", steps=[{"id": "1", "kind": "observation", "text": "é" * 1_500_000}]),
    )
    assert sorted(row.n_steps for row in stored()) == [1, 5000]
    assert max(len(step.text) for episode in bodies() for step in episode.steps) == 1_500_000


def test_bytes_that_are_no_text_are_shown_counted_and_never_lose_the_record(
    post: Any, bodies: Any, stored: Any
) -> None:
    step = b'{"id": "r", "task": "a\\u0000b\\ud800", "steps": [{"kind": "user", "text": "\xff\xfe ok \xc3\xa9"}]}\n'
    assert post(step).accepted == 1
    (episode,) = bodies()
    assert episode.task == "a\u2400b\ufffd"
    assert episode.steps[0].text == "\ufffd\ufffd ok é"
    (row,) = stored()
    assert row.details["cleaned"] == {"nul": 1, "not_utf8": 3}


def test_an_id_twice_in_one_file_is_a_revision_and_said_so(post: Any, stored: Any) -> None:
    report = post(record(), record(outcome="failure"))
    assert (report.accepted, report.revised) == (1, 1)
    assert [(row.revision, row.outcome) for row in stored()] == [(2, "failure")]


def test_arguments_that_are_no_json_stay_as_they_were_written(post: Any, bodies: Any) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "cut", "arguments": '{"a": 1, oops'}}
    post(
        {"messages": [{"role": "user", "content": "Cut"}, {"role": "assistant", "content": None, "tool_calls": [call]}]}
    )
    (episode,) = bodies()
    (made,) = (step for step in episode.steps if step.kind == "tool_call")
    assert (made.arguments, made.raw_arguments) == (None, '{"a": 1, oops')


def test_nesting_past_the_limit_is_refused_and_the_next_record_is_taken(post: Any) -> None:
    deep = b'{"task": "t", "steps": [], "metadata": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}\n"
    report = post(deep, record())
    assert report.accepted == 1
    assert [(each.line, "nested" in each.reason) for each in report.rejected] == [(1, True)]


def test_a_gzip_bomb_is_refused_with_the_bound_it_broke(tmp_path: Path, ingest: Any) -> None:
    line = json.dumps(record()).encode() + b"\n"
    bomb = io.BytesIO()
    with gzip.GzipFile(fileobj=bomb, mode="wb") as packed:
        packed.write(line)
        for _ in range(64):
            packed.write(b" " * 2**20)
    (tmp_path / "bomb.gz").write_bytes(bomb.getvalue())
    report = ingest(tmp_path, limits=Limits(total=8 * 2**20, document=4 * 2**20, line=2**20))
    assert report.accepted == 1, "what came before is kept"
    assert any("more than" in each.reason for each in report.rejected)


def test_a_clock_that_runs_backwards_is_noted_and_nothing_is_reordered(post: Any, stored: Any, bodies: Any) -> None:
    steps = [
        {"id": "1", "kind": "user", "text": "a", "at": "2026-05-01T10:00:00Z"},
        {"id": "2", "kind": "answer", "text": "b", "at": "2026-05-01T09:00:00Z"},
    ]
    post(record(steps=steps, started_at="2026-05-01T10:00:00Z", ended_at="2026-05-01T09:00:00Z"))
    (row,) = stored()
    assert row.details["clock"] == "ended before it started"
    assert [step.id for step in bodies()[0].steps] == ["1", "2"]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\x00\x00\x00\x00", b"\xef\xbb\xbf", b"[]", b"{}", b"null", b" "])
def test_a_file_without_an_episode_is_refused_with_a_reason(tmp_path: Path, ingest: Any, data: bytes) -> None:
    (tmp_path / "x.json").write_bytes(data)
    for importer in ("auto", "canonical", "openai-messages"):
        report = ingest(tmp_path / "x.json", importer=importer)
        assert report.accepted == 0
        assert len(report.rejected) == 1, importer


def test_a_protected_source_may_be_pointed_to_instead_of_copied(post: Any, bodies: Any) -> None:
    step = {"id": "1", "kind": "observation", "uri": "vault://contracts/17", "source": "vault"}
    post(record(steps=[step]))
    assert (bodies()[0].steps[0].uri, bodies()[0].steps[0].text) == ("vault://contracts/17", "")
