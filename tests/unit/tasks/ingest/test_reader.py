import gzip
import os
from pathlib import Path

import pytest

from tasks.ingest.reader import Missing, expand, open_source
from tasks.ingest.source import SourceBroken


def test_a_folder_is_walked_and_each_file_comes_once(tmp_path: Path) -> None:
    for name in ("b.json", "a/x.json", ".hidden", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("{}")
    found = list(expand([tmp_path, tmp_path / "b.json", str(tmp_path / "*.json")]))
    assert found == [tmp_path / "a/x.json", tmp_path / "b.json"]


def test_what_leads_nowhere_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = list(expand([tmp_path / "gone.json", f"{tmp_path}/*.nope", tmp_path / "empty"]))
    reasons = [each.reason for each in found if isinstance(each, Missing)]
    assert reasons == ["no such file or folder", "no file matches this pattern", "the folder holds no files"]


def test_gzip_is_known_by_its_bytes_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "plain.json").write_bytes(gzip.compress(b'{"a": 1}'))
    (tmp_path / "not.json.gz").write_bytes(b'{"a": 2}')
    for name, value in (("plain.json", 1), ("not.json.gz", 2)):
        with open_source(tmp_path / name) as source:
            assert [each.value for each in source.records()] == [{"a": value}]


def test_source_ids_are_scoped_by_the_full_path_with_or_without_gz(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"{}"))
    with open_source(tmp_path / "a.json") as one, open_source(tmp_path / "a.json.gz") as two:
        assert one.scope == two.scope == str(tmp_path.resolve() / "a.json")
    with open_source(tmp_path / "a.json", scope="lab") as source:
        assert source.scope == "lab"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("{}")
    (tmp_path / "a").chmod(0)
    with pytest.raises(SourceBroken, match="Permission denied"), open_source(tmp_path / "a"):
        pass


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceBroken, match="not a regular file"), open_source(tmp_path / "pipe"):
        pass


@pytest.mark.parametrize("path", ["x" * 5000, "~nobody-of-that-name/x", "a\x00b"])
def test_an_impossible_path_is_said_and_stops_nothing(tmp_path: Path, path: str) -> None:
    (tmp_path / "a").write_text("{}")
    first, second = expand([path, tmp_path / "a"])
    assert isinstance(first, Missing)
    assert second == tmp_path / "a"


def test_a_source_sees_the_files_beside_it_and_one_folder_up_and_no_others(tmp_path: Path) -> None:
    trial = tmp_path / "jobs" / "trial"
    (trial / "agent").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("out of reach")
    (trial / "result.json").write_text('{"reward": 1}')
    (trial / "agent" / "[1] run.json").write_text("{}")
    (trial / "agent" / "agent-b.jsonl").write_bytes(gzip.compress(b'{"b": 1}'))
    (trial / "agent" / "agent-a.jsonl").symlink_to(tmp_path / "secret.txt")
    with open_source(trial / "agent" / "[1] run.json") as source:
        assert source.beside("*.json*") == ["agent-b.jsonl"]
        assert source.beside("../*.json") == ["../result.json"]
        near = source.near("agent-b.jsonl")
        assert near is not None
        assert [each.value for each in near.records()] == [{"b": 1}]
        for name in (
            "agent-a.jsonl",
            "../../../secret.txt",
            "/etc/passwd",
            "gone.json",
            "a\x00b",
            "[1] run.json",
            "..",
        ):
            assert source.near(name) is None, name
