from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import select

from storage import audit
from storage.bodies import load_body
from storage.engine import Database
from storage.queries import episodes as queries
from storage.tables import AuditEntry, Candidate, DeadLetter, EpisodeBody, Evidence
from tasks.ingest.episode import Episode
from tasks.ingest.importers import registry
from tasks.ingest.importers.canonical import Canonical
from tasks.ingest.importers.registry import UnknownFormat
from tasks.ingest.namespace import BadNamespace
from tasks.ingest.secret_rules import BadPattern
from tasks.ingest.step import Reject, ingest_paths

from .conftest import NOW, SECRET, record


def counts(report: Any) -> tuple[int, int, int, int]:
    return report.accepted, report.duplicates, report.revised, len(report.rejected)


def write(path: Path, *records: Any) -> Path:
    data = b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in records)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_what_is_stored_is_the_episode_again(post: Any, stored: Any, database: Database) -> None:
    post(record(started_at="2026-11-29T01:02:03Z", session_id="s-1", agent="bot"))
    (row,) = stored()
    assert (row.source_id, row.session_id, row.agent, row.outcome) == ("r-1", "s-1", "bot", "success")
    assert (row.n_steps, row.n_calls, row.principal) == (2, 1, "ops")
    with database.read() as session:
        episode = Episode.model_validate(load_body(session, "lab", row.id))
    assert [step.kind for step in episode.steps] == ["user", "tool_call"]


def test_a_second_ingest_gives_only_duplicates_and_writes_nothing(tmp_path: Path, ingest: Any, stored: Any) -> None:
    file = write(tmp_path / "a.jsonl", *(record(id=f"r-{n}") for n in range(120)))
    assert counts(ingest(file)) == (120, 0, 0, 0)
    before = [row.model_dump() for row in stored()]
    assert counts(ingest(file)) == (0, 120, 0, 0)
    assert [row.model_dump() for row in stored()] == before


def test_bad_records_are_kept_aside_once_with_file_line_and_reason(
    tmp_path: Path, ingest: Any, database: Database
) -> None:
    file = write(tmp_path / "a.jsonl.gz", record(), b"{broken\n", record(id="r-2"), {"task": "x", "outcome": "success"})
    for _ in range(2):
        report = ingest(file)
        assert report.accepted + report.duplicates == 2
        assert [(each.file, each.line) for each in report.rejected] == [(str(file), 2), (str(file), 4)]
    assert report.rejected[1] == Reject(str(file), 4, "steps is missing")
    with database.read() as session:
        letters = queries.dead_letters(session, "lab")
    assert sorted((each.line, each.importer) for each in letters) == [(2, "canonical"), (4, "canonical")]


def test_a_dead_letter_holds_no_secret(post: Any, database: Database) -> None:
    post({"task": "x", "steps": "no list", "metadata": {"api_key": "tulip-field-77"}})
    with database.read() as session:
        (letter,) = session.exec(select(DeadLetter)).all()
    assert letter.data is not None
    assert b"tulip-field-77" not in letter.data


def test_an_edited_file_gives_a_revision_and_evidence_on_the_old_one_is_stale(
    tmp_path: Path, ingest: Any, stored: Any, database: Database
) -> None:
    file = write(tmp_path / "a.jsonl", record(), record(id="r-2"))
    ingest(file)
    old = next(row for row in stored() if row.source_id == "r-1")
    cite(database, old.id)
    write(file, record(outcome="failure"), record(id="r-2"))
    assert counts(ingest(file)) == (0, 1, 1, 0)
    new = next(row for row in stored() if row.source_id == "r-1")
    assert (new.revision, new.supersedes_id, new.outcome) == (2, old.id, "failure")
    with database.read() as session:
        assert session.exec(select(Evidence.is_stale)).all() == [True]
        kept = queries.revisions(session, "lab", new.importer, new.source_scope, "r-1")
        assert [(each.revision, each.is_current) for each in kept] == [(1, False), (2, True)]
        assert load_body(session, "lab", old.id)["outcome"] == "success"
    assert counts(ingest(file)) == (0, 2, 0, 0)


def cite(database: Database, episode_id: str) -> None:
    hashes = {"content_hash": "c", "packet_hash": "p"}
    with database.write() as session:
        session.add(
            Candidate(
                namespace="lab",
                id="c-1",
                kind="rule",
                tier="low",
                title="t",
                predicate_id="p",
                created_at=NOW,
                updated_at=NOW,
                **hashes,
            )
        )
        session.flush()
        session.add(
            Evidence(
                namespace="lab",
                id="e-1",
                candidate_id="c-1",
                number=1,
                episode_id=episode_id,
                stance="support",
                group_id="g",
            )
        )


def test_a_file_that_says_again_what_it_said_before_makes_that_current_again(
    tmp_path: Path, ingest: Any, stored: Any
) -> None:
    file = tmp_path / "a.jsonl"
    for outcome in ("success", "failure", "success"):
        report = ingest(write(file, record(outcome=outcome)))
    assert counts(report) == (0, 0, 1, 0)
    assert [(row.outcome, row.revision) for row in stored()] == [("success", 3)]
    assert counts(ingest(file)) == (0, 1, 0, 0), "and reading it once more changes nothing"


def test_of_one_id_in_a_file_the_last_word_counts_however_often_it_is_read(
    tmp_path: Path, ingest: Any, stored: Any
) -> None:
    told = [record(outcome=outcome) for outcome in ("success", "failure", "success")]
    file = write(tmp_path / "a.jsonl", *told, record(id="other"))
    for _ in range(2):
        report = ingest(file)
        assert [row.outcome for row in stored() if row.source_id == "r-1"] == ["success"]
    assert counts(report) == (0, 4, 0, 0)
    write(file, *told[:2], record(id="other"))
    ingest(file)
    assert [row.outcome for row in stored() if row.source_id == "r-1"] == ["failure"]


def test_a_request_that_is_sent_again_late_brings_nothing_back(post: Any, stored: Any) -> None:
    for outcome in ("success", "failure", "success"):
        post(record(outcome=outcome))
    assert [row.outcome for row in stored()] == ["failure"]


def test_files_that_share_a_base_name_do_not_revise_each_other(tmp_path: Path, ingest: Any) -> None:
    for name, outcome in (("monday", "success"), ("tuesday", "failure")):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "runs.jsonl", record(outcome=outcome))
    assert counts(ingest(tmp_path / "monday", tmp_path / "tuesday")) == (2, 0, 0, 0)


def test_one_token_cannot_revise_what_another_sent(post: Any) -> None:
    assert counts(post(record(), principal="token-1", principal_capped=True)) == (1, 0, 0, 0)
    assert counts(post(record(outcome="failure"), principal="token-2", principal_capped=True)) == (1, 0, 0, 0)
    assert counts(post(record(outcome="partial"), principal="token-1", principal_capped=True)) == (0, 0, 1, 0)


def test_two_namespaces_hold_two_records_and_neither_sees_the_other(post: Any, stored: Any) -> None:
    assert counts(post(record(), namespace="team/a")) == counts(post(record(), namespace="team/b")) == (1, 0, 0, 0)
    (here,), (there,) = stored("team/a"), stored("team/b")
    assert here.id != there.id
    assert stored("team") == []


@pytest.mark.parametrize("poor_first", [True, False])
def test_two_copies_of_a_run_are_one_that_knows_what_both_knew(
    post: Any, stored: Any, database: Database, poor_first: bool
) -> None:
    poor, rich = record(session_id="s"), record(session_id="s", id="x", task_key="cancel/1", agent="bot")
    both = list(zip((poor, rich) if poor_first else (rich, poor), ("ops", "lab"), strict=True))
    assert [counts(post(each, principal=who)) for each, who in both] == [(1, 0, 0, 0), (0, 1, 0, 0)]
    (row,) = stored()
    assert (row.task_key, row.task_key_derived, row.agent) == ("cancel/1", False, "bot")
    with database.read() as session:
        assert load_body(session, "lab", row.id)["task_key"] == "cancel/1"
    assert [counts(post(each, principal=who)) for each, who in both] == [(0, 1, 0, 0)] * 2


def test_a_newer_importer_renders_the_record_anew_under_the_same_id(
    post: Any, stored: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(record())
    (before,) = stored()

    class Newer(Canonical):
        version = 2

    monkeypatch.setitem(registry.importers(), "canonical", Newer())
    assert counts(post(record())) == (0, 1, 0, 0)
    (after,) = stored()
    assert (after.id, after.importer_version, after.ingested_at) == (before.id, 2, before.ingested_at)
    assert after.details["renditions"][0]["importer"] == 1
    with database.read() as session:
        assert load_body(session, "lab", after.id)["task"] == "Cancel LMN42"
        assert len(session.exec(select(EpisodeBody)).all()) == 1


def test_what_leads_to_no_episode_is_a_reject_that_says_why(tmp_path: Path, ingest: Any) -> None:
    (tmp_path / "empty.jsonl").touch()
    labels = write(tmp_path / "labels.jsonl", {"file": "a", "success": True}, {"file": "b", "success": False})
    report = ingest(tmp_path / "gone", f"{tmp_path}/*.nope", tmp_path / "empty.jsonl", labels)
    assert [each.reason for each in report.rejected] == [
        "no such file or folder",
        "no file matches this pattern",
        "no episode format recognised: the file is empty",
        "no episode format recognised: lines with the fields 'file', 'success'",
    ]


def test_a_wrong_request_is_refused_before_anything_is_read(ingest: Any, database: Database) -> None:
    with pytest.raises(BadNamespace):
        ingest("x", namespace="Not A Path")
    with pytest.raises(UnknownFormat):
        ingest("x", importer="tao")
    with pytest.raises(BadPattern):
        ingest("x", patterns=["("])
    with database.read() as session:
        assert queries.namespace(session, "lab") is None


def test_hostile_text_is_stored_visibly_and_costs_nothing_beside_it(post: Any, stored: Any) -> None:
    hostile = [
        b'\xef\xbb\xbf{"task": "nul \\u0000", "steps": [{"kind": "user", "text": "a"}]}\r\n',
        b'{"task": "half \\ud83d pair", "steps": [{"kind": "user", "text": "b"}], "id": "a\\u0000b"}\r\n',
        b'{"task": "bytes \xff\xfe", "steps": [{"kind": "user", "text": "c"}]}\n',
        b'{"task": "deep", "steps": [{"kind": "tool_call", "arguments": {"x": ' + b"[" * 5000 + b"]" * 5000 + b"}}]}\n",
        b'{"task": "big", "steps": [{"kind": "tool_call", "name": "n", "arguments": {"x": ' + b"9" * 6000 + b"}}]}\n",
        b'{"task": "odd", "steps": [{"kind": "user", "text": "d"}], "metadata": {"x": NaN}}\n',
    ]
    assert counts(post(*hostile, record(id="good"))) == (6, 0, 0, 1)
    tasks = {row.task: row.details for row in stored()}
    assert tasks["nul \u2400"]["cleaned"] == {"nul": 1}
    assert tasks["half \ufffd pair"]["cleaned"] == {"not_utf8": 1, "nul": 1}
    assert tasks["bytes \ufffd\ufffd"]["cleaned"] == {"not_utf8": 2}
    assert {"big", "odd", "Cancel LMN42"} <= tasks.keys()


def test_truncated_gzip_keeps_its_good_records(tmp_path: Path, ingest: Any) -> None:
    lines = "".join(json.dumps(record(id=f"r-{n}", task=os.urandom(40).hex())) + "\n" for n in range(500))
    whole = gzip.compress(lines.encode())
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    report = ingest(tmp_path / "a.jsonl.gz")
    assert report.accepted > 100
    assert report.rejected[-1].reason == "the compressed data ends early (a truncated .gz); what came before was kept"


def test_a_large_observation_is_kept_whole(post: Any, stored: Any, database: Database) -> None:
    text = "start " + "filler " * 400_000 + " end-marker"
    post(record(steps=[{"kind": "observation", "text": text}]))
    with database.read() as session:
        assert load_body(session, "lab", stored()[0].id)["steps"][0]["text"] == text


def test_one_audit_entry_tells_of_one_call_in_counts_only(post: Any, database: Database) -> None:
    post(record(), record(id="r-2"), {"task": "bad", "outcome": "success"})
    with database.read() as session:
        (entry,) = session.exec(select(AuditEntry)).all()
        assert (entry.actor, entry.action, entry.namespace) == ("ops", "episodes.ingested", "lab")
        assert entry.detail == {"accepted": 2, "duplicates": 0, "revised": 0, "joined": 0, "rejected": 1}
        assert audit.verify(session).ok


def test_progress_is_told_of_every_batch(tmp_path: Path, ingest: Any) -> None:
    seen: list[int] = []
    file = write(tmp_path / "a.jsonl", *(record(id=f"r-{n}") for n in range(130)))
    ingest(file, progress=lambda report, _: seen.append(report.seen))
    assert seen == sorted(seen)
    assert seen[-1] == 130
    assert len(seen) >= 3


def test_the_namespaces_policy_adds_patterns(post: Any, stored: Any, database: Database) -> None:
    post(record())
    with database.write() as session:
        held = queries.namespace(session, "lab")
        assert held is not None
        held.policy = {"redact_patterns": [r"employee (E\d{6})"]}
    post(record(id="r-2", task="call employee E123456"))
    row = next(each for each in stored() if each.source_id == "r-2")
    assert row.task == "call employee [redacted:policy-pattern]"
    assert row.redactions == {"policy-pattern": 1}


def _ingest_and_die(url: str, file: Path, after: int) -> None:
    def die(report: Any, _: str) -> None:
        if report.seen >= after:
            os.kill(os.getpid(), signal.SIGKILL)

    ingest_paths(Database(url), [file], "lab", principal="ops", now=NOW, secret=SECRET, progress=die)


@pytest.mark.parametrize("after", [50, 130])
def test_an_ingest_that_was_killed_is_finished_by_running_it_again(
    tmp_path: Path, ingest: Any, stored: Any, database: Database, after: int
) -> None:
    file = write(tmp_path / "a.jsonl", *(record(id=f"r-{n}") for n in range(200)))
    process = multiprocessing.get_context("spawn").Process(target=_ingest_and_die, args=(database.url, file, after))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    done = len(stored())
    assert after <= done < 200
    assert counts(ingest(file)) == (200 - done, done, 0, 0)
    assert len(stored()) == 200


def test_a_lost_race_for_the_same_records_is_planned_again(
    tmp_path: Path, ingest: Any, post: Any, stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another ingest commits the same record between this one's look and its write."""
    real, calls = queries.related, []

    def racing(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        found = real(*args, **kwargs)
        return [] if len(calls) <= 2 else found

    post(record())
    monkeypatch.setattr(queries, "related", racing)
    assert counts(post(record())) == (0, 1, 0, 0)
    assert len(stored()) == 1


def test_the_shape_of_a_report_is_the_documented_one(post: Any) -> None:
    report = post(record(), b"{broken\n")
    assert report.as_dict() == {
        "accepted": 1, "duplicates": 0, "revised": 0, "joined": 0,
        "rejected": [{"file": "request", "line": 2, "reason": report.rejected[0].reason}],
    }  # fmt: skip
    assert replace(report, rejected=[]).seen == 1


def test_two_ingests_of_one_file_at_once_store_each_record_once(tmp_path: Path, ingest: Any, stored: Any) -> None:
    file = write(tmp_path / "a.jsonl", *(record(id=f"r-{n}") for n in range(300)))
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda _: ingest(file), range(2)))
    assert sum(report.accepted for report in reports) == 300
    assert sum(report.duplicates for report in reports) == 300
    assert len(stored()) == 300


def test_an_operators_copy_of_what_an_agent_sent_carries_the_operators_word(
    tmp_path: Path, ingest: Any, post: Any, stored: Any
) -> None:
    same, twin = record(id="r-1"), record(id="r-2", session_id="s-2")
    post(same, {**twin, "task_key": "mine"}, principal="token:1", principal_capped=True)
    file = write(tmp_path / "a.jsonl", same, {**twin, "outcome_source": "verifier"})
    for _ in range(2):
        ingest(file)
        held = {each.source_id: (each.outcome_source, each.principal, each.task_key_derived) for each in stored()}
        assert held == {"r-1": ("recorded", "ops", True), "r-2": ("verifier", "ops", True)}


def test_an_id_too_long_to_look_up_is_one_reject_and_the_record_beside_it_is_kept(post: Any, stored: Any) -> None:
    long = "".join(chr(0x1F300 + number * 7 % 700) for number in range(3000))
    report = post(record(id=long), record(id="r-2", session_id=long), record(id=long[:300], session_id=long[:300]))
    assert [each.reason for each in report.rejected] == [
        "id is longer than 300 characters",
        "session_id is longer than 300 characters",
    ]
    assert len(stored()) == 1


def test_a_path_too_long_to_look_up_is_taken_like_any_other(tmp_path: Path, ingest: Any, stored: Any) -> None:
    folder = tmp_path
    for number in range(13):
        folder /= "".join(chr(0x4E00 + (number * 997 + each * 31) % 20000) for each in range(80))
    folder.mkdir(parents=True)
    file = write(folder / "a.jsonl", record())
    bad = folder / "b.jsonl"
    bad.write_text("no")
    assert ingest(file).accepted == 1
    assert len(ingest(bad).rejected) == 1
    assert ingest(file).duplicates == 1
    assert len(stored()) == 1


def test_records_without_an_id_are_looked_up_in_no_list_of_ids(post: Any, database: Database) -> None:
    asked: list[str] = []

    def note(*given: Any) -> None:
        asked.append(given[2])

    sa.event.listen(database.engine, "before_cursor_execute", note)
    post(*({"task": f"Cancel {number}", "steps": record()["steps"]} for number in range(3)))
    sa.event.remove(database.engine, "before_cursor_execute", note)
    assert asked
    assert not any("source_id IN" in each for each in asked)
