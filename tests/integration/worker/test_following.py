"""The loop of ``ingest --follow`` with a clock that the test moves: what is read when, and what never twice."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import select

from storage.engine import Database
from storage.tables import DeadLetter
from support.following import SETTLE, Time, database, folder, follow, line, names, put, rows, stored, time
from tasks.ingest import redact
from tasks.ingest.importers import registry
from tasks.ingest.importers.canonical import Canonical
from tasks.ingest.source import Source
from worker.following import loop
from worker.following.loop import FileRead, Summary

__all__ = ["database", "folder", "follow", "put", "time"]  # fixtures

# What is read when


def test_only_what_is_finished_is_read_and_the_rest_is_counted(follow: Any, put: Any, database: Database) -> None:
    put("old.jsonl", "a", age=60)
    put("packed.jsonl.gz", "b", age=60)
    put("sub/deep.jsonl", "c", age=60)
    put("fresh.jsonl", "d", age=5)
    summary, told, _ = follow(once=True)
    assert names(told) == ["old.jsonl", "packed.jsonl.gz", "deep.jsonl"]
    assert (summary.files, summary.accepted, summary.growing) == (3, 3, 1)
    assert {row.state for row in rows(database).values()} == {"read"}


def test_a_growing_file_is_read_when_it_has_settled_and_not_before(follow: Any, put: Any, time: Time) -> None:
    put("a.jsonl", "a")
    time.then(lambda: put("a.jsonl", "a", "b")).then(times=2)
    summary, told, _ = follow()
    assert [(each.report.accepted, each.report.revised) for each in told] == [(2, 0)]
    assert summary.growing == 0
    assert time.slept[0] == pytest.approx(SETTLE, abs=0.01)


def test_a_later_change_is_a_revision(follow: Any, put: Any, time: Time, database: Database) -> None:
    put("a.jsonl", "a", "b", age=60)
    time.then(lambda: put("a.jsonl", "a", "b", outcome="failure")).then(times=2)
    _, told, _ = follow()
    assert [(each.report.accepted, each.report.revised) for each in told] == [(2, 0), (0, 2)]
    assert {row.revision for row in stored(database)} == {2}


def test_a_file_put_in_place_by_a_rename_is_seen_even_with_the_same_size_and_time(
    follow: Any, put: Any, time: Time, folder: Path, database: Database
) -> None:
    path = put("a.jsonl", "a", outcome="success", age=60)
    before = path.stat()

    def replace() -> None:
        other = folder / ".a.tmp"
        other.write_bytes(line("a", "failure"))
        os.utime(other, ns=(before.st_mtime_ns, before.st_mtime_ns))
        os.replace(other, path)

    time.then(replace).then()
    _, told, _ = follow()
    assert path.stat().st_size == before.st_size
    assert [each.report.revised for each in told] == [0, 1]


def test_names_under_which_programs_write_are_left_alone(follow: Any, put: Any) -> None:
    for name in (".a.jsonl.x7", "a.jsonl.part", "b.tmp", ".hidden/c.jsonl"):
        put(name, "a", age=60)
    assert follow(once=True)[0] == Summary()


# What is never read twice


def test_a_restart_reads_only_what_is_new_or_changed(follow: Any, put: Any) -> None:
    put("a.jsonl", "a", age=60)
    put("b.jsonl", "b", age=60)
    follow(once=True)
    put("b.jsonl", "b", "b2", age=50)
    put("c.jsonl", "c", age=60)
    summary, told, _ = follow(once=True)
    assert names(told) == ["b.jsonl", "c.jsonl"]
    assert (summary.accepted, summary.duplicates) == (2, 1)
    assert follow(once=True)[0].files == 0


def test_a_crash_between_the_reading_and_the_row_costs_a_second_reading_that_finds_nothing_new(
    follow: Any, put: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("a.jsonl", "a", "b", age=60)

    def die(*_: Any, **__: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        patched.setattr(loop.Memory, "read", die)
        follow(once=True)
    assert rows(database) == {}
    summary, _, _ = follow(once=True)
    assert (summary.accepted, summary.duplicates, len(stored(database))) == (0, 2, 2)


@pytest.mark.parametrize("what", ["importer", "redactor"])
def test_a_new_generation_reads_everything_again(
    follow: Any, put: Any, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    class Newer(Canonical):
        version = 99

    put("a.jsonl", "a", age=60)
    follow(once=True)
    if what == "importer":
        monkeypatch.setitem(registry.importers(), "canonical", Newer())
    else:
        monkeypatch.setattr(redact, "VERSION", 99)
    summary, told, _ = follow(once=True)
    assert (names(told), summary.duplicates) == (["a.jsonl"], 1)


def test_what_another_follower_read_meanwhile_is_not_read_again(follow: Any, put: Any, time: Time) -> None:
    """Both looked before either had read."""
    put("a.jsonl", "a", age=60)
    put("b.jsonl", "b", age=60)
    other: list[Summary] = []

    def first_file_told(read: FileRead) -> None:
        if not other:
            other.append(Summary())
            other[0] = follow(once=True)[0]

    summary, _, _ = follow(once=True, progress=lambda report, source: first_file_told(FileRead("", "", report)))
    assert (summary.accepted + other[0].accepted, summary.files) == (2, 1)


def test_two_names_of_one_file_are_read_once(follow: Any, put: Any, folder: Path) -> None:
    path = put("a.jsonl", "a", age=60)
    (folder / "link.jsonl").symlink_to(path)
    assert follow(once=True)[0].files == 1
    assert follow(once=True, folders=[folder, folder])[0].files == 0


def test_a_loop_of_links_is_not_walked_and_a_dead_link_is_told_once(
    follow: Any, put: Any, folder: Path, time: Time
) -> None:
    put("a.jsonl", "a", age=60)
    (folder / "again").symlink_to(folder)
    (folder / "round").symlink_to("round")
    (folder / "dead.jsonl").symlink_to("nowhere.jsonl")
    time.then(times=3)
    summary, told, notes = follow()
    assert names(told) == ["a.jsonl"]
    assert sorted(Path(each.partition(":")[0]).name for each in notes) == ["dead.jsonl", "round"]
    assert summary.failing.keys() == {str(folder / "dead.jsonl"), str(folder / "round")}


# What fails


def test_a_file_that_cannot_be_read_is_tried_again_ever_less_often_and_told_once(
    follow: Any, put: Any, time: Time, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tries = loop.open_source, []

    def refusing(path: Path, **given: Any) -> Any:
        tries.append(time.now)
        if len(tries) < 4:
            raise loop.SourceBroken("cannot be read: Permission denied", may_pass=True)
        return real(path, **given)

    monkeypatch.setattr(loop, "open_source", refusing)
    put("a.jsonl", "a", age=60)
    time.then(times=6)
    summary, told, notes = follow()
    gaps = [round((after - before).total_seconds()) for before, after in pairwise(tries)]
    assert gaps == [5, 10, 20]
    assert [(each.state, each.error) for each in told] == [
        ("failed", "cannot be read: Permission denied"),
        ("read", None),
    ]
    assert len(notes) == 1
    assert summary.failing == {}
    assert (rows(database)["a.jsonl"].state, rows(database)["a.jsonl"].attempts) == ("read", 0)


def test_a_failing_file_is_shown_in_the_store_and_holds_up_no_other(
    follow: Any, put: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = loop.open_source

    def refusing(path: Path, **given: Any) -> Any:
        if path.name == "a.jsonl":
            raise loop.SourceBroken("cannot be read: Input/output error", may_pass=True)
        return real(path, **given)

    monkeypatch.setattr(loop, "open_source", refusing)
    put("a.jsonl", "a", age=60)
    put("b.jsonl", "b", age=60)
    summary, _, _ = follow(once=True)
    row = rows(database)["a.jsonl"]
    assert (row.state, row.error, row.attempts) == ("failed", "cannot be read: Input/output error", 1)
    assert (summary.files, len(summary.failing)) == (1, 1)


def test_a_file_that_goes_away_before_it_is_read_is_told_and_forgotten(
    follow: Any, put: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put("a.jsonl", "a", age=60)
    real = loop.open_source

    def vanishing(found: Path, **given: Any) -> Any:
        path.unlink()
        return real(found, **given)

    monkeypatch.setattr(loop, "open_source", vanishing)
    summary, told, notes = follow(once=True)
    assert (summary.failing, told, rows(database)) == ({}, [], {})
    assert notes == [f"{path}: went away before it was read."]


def test_a_folder_that_goes_away_is_told_once_and_once_when_it_is_back(
    follow: Any, put: Any, folder: Path, time: Time, tmp_path: Path
) -> None:
    put("a.jsonl", "a", age=60)
    away = tmp_path / "away"
    time.then(lambda: folder.rename(away)).then(times=2).then(lambda: away.rename(folder)).then()
    summary, told, notes = follow()
    assert names(told) == ["a.jsonl"], "and what was read before is known when it is back"
    assert [each.split(": ")[1].split(".")[0] for each in notes] == ["cannot be read", "is there again"]
    assert summary.failing == {}


def test_a_refused_file_is_read_once_and_kept_as_a_letter(
    follow: Any, put: Any, time: Time, database: Database
) -> None:
    put("notes.txt", b"dear diary\n", age=60)
    time.then(times=3)
    summary, told, _ = follow()
    assert (len(told), summary.rejected) == (1, 1)
    with database.read() as session:
        assert session.exec(select(DeadLetter)).one().attempts == 1


def test_a_defect_in_the_reading_of_one_file_holds_up_no_other(
    follow: Any, put: Any, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = loop.ingest_source

    def failing(database: Database, source: Source, *args: Any, **given: Any) -> Any:
        if source.name == "a.jsonl":
            raise KeyError("a defect")
        return real(database, source, *args, **given)

    monkeypatch.setattr(loop, "ingest_source", failing)
    put("a.jsonl", "a", age=60)
    put("b.jsonl", "b", age=60)
    summary, _, _ = follow(once=True)
    assert (summary.files, len(summary.failing)) == (1, 1)
    assert "KeyError" in (rows(database)["a.jsonl"].error or "")


def test_one_look_says_which_files_clock_is_ahead(follow: Any, put: Any) -> None:
    put("a.jsonl", "a", age=-7200)
    summary, _, notes = follow(once=True)
    assert summary.growing == 1
    assert "1 files bear a time that is yet to come" in notes[0]


def test_a_store_that_is_away_for_a_while_ends_nothing(
    follow: Any, put: Any, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tries = loop.ingest_source, []

    def away(*args: Any, **given: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise OperationalError("x", {}, Exception("connection refused"))
        return real(*args, **given)

    monkeypatch.setattr(loop, "ingest_source", away)
    put("a.jsonl", "a", age=60)
    time.then(times=4)
    summary, _, notes = follow()
    assert summary.accepted == 1
    assert [each.split(".")[0] for each in notes] == ["The database does not answer"]
    assert time.slept[:2] == [5, 10]


def test_an_end_that_is_asked_for_in_the_middle_of_a_file_leaves_it_for_the_next_time(
    follow: Any, put: Any, database: Database
) -> None:
    put("a.jsonl", *(f"r{n}" for n in range(200)), age=60)
    asked: list[int] = []
    summary, told, _ = follow(progress=lambda report, _: asked.append(report.seen), should_stop=lambda: bool(asked))
    assert 0 < summary.accepted < 200
    assert (told, rows(database), len(stored(database))) == ([], {}, summary.accepted)
    again, _, _ = follow(once=True)
    assert (again.accepted, again.duplicates) == (200 - summary.accepted, summary.accepted)
