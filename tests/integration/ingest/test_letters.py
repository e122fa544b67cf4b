"""Dead letters: one for each refused record, counted when refused again, resolved when it no longer is."""

from __future__ import annotations

import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from storage.engine import Database
from storage.queries import episodes as queries
from storage.tables import DeadLetter
from tasks.ingest.importers import registry
from tasks.ingest.importers.canonical import Canonical

from .conftest import NOW, record

BAD = {"task": "no steps at all", "outcome": "success"}


def write(path: Path, *records: Any) -> Path:
    path.write_bytes(
        b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in records)
    )
    return path


def later(hours: int) -> dict[str, Any]:
    return {"now": NOW + timedelta(hours=hours)}


@pytest.fixture
def letters(database: Database) -> Any:
    def listing(namespace: str = "lab") -> list[DeadLetter]:
        with database.read() as session:
            found = queries.dead_letters(session, namespace, unresolved=False)
        return sorted(found, key=lambda each: (each.file, each.line or 0))

    return listing


def test_refused_again_is_the_same_letter_with_one_attempt_more(tmp_path: Path, ingest: Any, letters: Any) -> None:
    file = write(tmp_path / "a.jsonl", record(), b"{broken\n", BAD)
    for hour in range(3):
        ingest(file, **later(hour))
    assert [(each.line, each.attempts, each.resolved_at) for each in letters()] == [(2, 3, None), (3, 3, None)]
    assert {(each.at, each.tried_at) for each in letters()} == {(NOW, NOW + timedelta(hours=2))}
    assert {each.source_scope for each in letters()} == {str(file.resolve())}


def test_the_newest_reason_and_line_stand(tmp_path: Path, ingest: Any, letters: Any) -> None:
    file = write(tmp_path / "a.jsonl", b"{broken\n", record())
    ingest(file)
    write(file, record(), record(id="r-2"), b"{broken\n")
    ingest(file, **later(1))
    (letter,) = letters()
    assert (letter.line, letter.attempts, letter.resolved_at) == (3, 2, None)


def test_a_mended_file_resolves_what_it_had_refused(tmp_path: Path, ingest: Any, letters: Any) -> None:
    file = write(tmp_path / "a.jsonl", record(), b"{broken\n", BAD)
    ingest(file)
    write(file, record(), record(id="r-2"), BAD)
    ingest(file, **later(1))
    mended, still = letters()
    assert (mended.line, mended.resolution, mended.resolved_at) == (2, "no longer refused", NOW + timedelta(hours=1))
    assert (still.line, still.attempts, still.resolution) == (3, 2, None)


def test_a_resolved_record_that_comes_back_is_open_again(tmp_path: Path, ingest: Any, letters: Any) -> None:
    file = tmp_path / "a.jsonl"
    for hour, lines in enumerate(([BAD], [record()], [BAD])):
        ingest(write(file, *lines), **later(hour))
    (letter,) = letters()
    assert (letter.attempts, letter.resolved_at, letter.resolution) == (2, None, None)


def test_the_same_bytes_twice_are_two_letters_however_often_they_are_read(
    tmp_path: Path, ingest: Any, letters: Any
) -> None:
    file = write(tmp_path / "a.jsonl", record(), b"{broken\n", b"{broken\n")
    for hour in range(2):
        ingest(file, **later(hour))
    assert [(each.line, each.attempts) for each in letters()] == [(2, 2), (3, 2)]


def test_one_files_mending_says_nothing_of_anothers(tmp_path: Path, ingest: Any, letters: Any) -> None:
    one, other = (write(tmp_path / name, record(), b"{broken\n") for name in ("a.jsonl", "b.jsonl"))
    ingest(one, other)
    ingest(write(one, record()), **later(1))
    assert [(Path(each.file).name, each.resolved_at is None) for each in letters()] == [
        ("a.jsonl", False),
        ("b.jsonl", True),
    ]


def test_a_namespaces_letters_are_its_own(tmp_path: Path, ingest: Any, letters: Any) -> None:
    file = write(tmp_path / "a.jsonl", record(), b"{broken\n")
    ingest(file)
    ingest(write(file, record()), namespace="other", **later(1))
    assert [each.resolved_at for each in letters()] == [None]
    assert letters("other") == []


def test_a_reading_that_broke_off_resolves_nothing(tmp_path: Path, ingest: Any, letters: Any) -> None:
    lines = [record(), b"{broken\n", *(record(id=f"r-{n}", task=f"{n}" * 50) for n in range(300))]
    whole = gzip.compress(write(tmp_path / "plain", *lines).read_bytes())
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(whole)
    ingest(file)
    mended = [lines[0], record(id="m"), *lines[2:]]
    file.write_bytes(gzip.compress(write(tmp_path / "plain", *mended).read_bytes())[:-900])
    ingest(file, **later(1))
    assert [each.resolved_at for each in letters()] == [None, None], "the rest of the file is not known"
    file.write_bytes(gzip.compress(write(tmp_path / "plain", *mended).read_bytes()))
    ingest(file, **later(2))
    assert [each.resolution for each in letters()] == ["no longer refused"] * 2


def test_an_importer_that_fails_half_way_resolves_nothing(
    tmp_path: Path, ingest: Any, letters: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.jsonl", record(), b"{broken\n")
    ingest(file)

    class Failing(Canonical):
        def read(self, source: Any) -> Any:
            raise KeyError("a defect")
            yield

    monkeypatch.setitem(registry.importers(), "canonical", Failing())
    ingest(file, **later(1))
    assert [each.resolved_at for each in letters()] == [None, None]


def test_a_path_that_leads_nowhere_is_told_and_leaves_no_letter(tmp_path: Path, ingest: Any, letters: Any) -> None:
    (tmp_path / "empty").mkdir()
    report = ingest(tmp_path / "gone.jsonl", f"{tmp_path}/*.nope", tmp_path / "empty")
    reasons = {each.reason for each in report.rejected}
    assert reasons == {"no such file or folder", "no file matches this pattern", "the folder holds no files"}
    assert letters() == []


def test_a_file_that_was_of_no_format_is_resolved_when_it_is_of_one(tmp_path: Path, ingest: Any, letters: Any) -> None:
    file = write(tmp_path / "a.jsonl", {"diary": "dear"})
    ingest(file)
    ingest(write(file, record()), **later(1))
    assert [each.resolution for each in letters()] == ["no longer refused"]


def test_a_request_resolves_nothing_of_an_earlier_one(post: Any, letters: Any) -> None:
    """Two requests of one token share a scope and are two different things."""
    post(record(), b"{broken\n", principal="token:1", principal_capped=True)
    post(record(id="r-2"), principal="token:1", principal_capped=True, **later(1))
    (letter,) = letters()
    assert (letter.resolved_at, letter.principal, letter.principal_capped) == (None, "token:1", True)


def test_of_two_readings_at_once_the_end_of_one_resolves_nothing_of_the_other(
    tmp_path: Path, ingest: Any, post: Any, letters: Any
) -> None:
    """The one that began earlier refuses last: its time does not set the letter back."""
    file = write(tmp_path / "a.jsonl", record(), b"{broken\n")
    ingest(file, **later(2))
    ingest(file, **later(1))
    (letter,) = letters()
    assert (letter.attempts, letter.tried_at) == (2, NOW + timedelta(hours=2))
    ingest(write(file, record()), **later(2))
    assert [each.resolved_at for each in letters()] == [None], "it may be what the other is refusing just now"


def test_a_name_that_is_not_utf_8_is_written_out(tmp_path: Path, ingest: Any, letters: Any, stored: Any) -> None:
    path = Path(str(tmp_path) + "/na\udcefve.jsonl")
    write(path, record(), b"{broken\n")
    assert ingest(path).accepted == 1
    assert letters()[0].file.endswith("na\\xefve.jsonl")
    assert stored()[0].source_file.endswith("na\\xefve.jsonl")
