"""The plug-in of the formats page is one: it is found, it takes part in the recognition, and it reads."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.reading import Found, assert_storable, read_all, source_of
from tasks.ingest.importers import registry
from tasks.ingest.importers.base import Imported, Importer, Rejected
from tasks.ingest.importers.registry import GROUP, choose, importers
from worker.cli.root import run

GOOD = {"question": "Where is Rome?", "answered": "In Italy."}


def block(page: str, language: str, holding: str) -> str:
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    (found,) = [each for each in blocks if holding in each]
    return found


@pytest.fixture
def installed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Importer]:
    """The two blocks of the page as they would lie in a folder of installed packages."""
    page = (root / "docs" / "formats.md").read_text()
    project = tomllib.loads(block(page, "toml", "[project]"))
    points = project["project"]["entry-points"][GROUP]
    (package,) = project["tool"]["setuptools"]["packages"]
    (tmp_path / package).mkdir()
    (tmp_path / package / "importer.py").write_text(block(page, "python", "class MyFormat"))
    about = tmp_path / f"{package}-{project['project']['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['project']['name']}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\n" + "\n".join(f"{k} = {v}" for k, v in points.items()))
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._registry.cache_clear()
    yield importers()["my-format"]
    registry._registry.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


def read(*records: object) -> Found:
    return read_all(b"".join(json.dumps(each).encode() + b"\n" for each in records), "my-format")


def test_the_documented_plug_in_recognises_its_own_and_reads_it(installed: Importer) -> None:
    assert choose(source_of(json.dumps(GOOD).encode())) is installed
    (found,) = read(GOOD)
    assert isinstance(found, Imported)
    assert [(step.kind, step.text) for step in found.episode.steps] == [
        ("user", GOOD["question"]), ("answer", GOOD["answered"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "bad", [7, None, [], {"question": 7}, {"question": " "}, {"question": "\ud800\0", "answered": {}}]
)
def test_what_the_documented_plug_in_cannot_read_costs_nothing_else(installed: Importer, bad: object) -> None:
    found = read(GOOD, bad, GOOD)
    assert [type(each) for each in (found[0], found[-1])] == [Imported, Imported]
    assert all(each.reason for each in found if isinstance(each, Rejected))
    assert_storable(found)


def test_slowwave_formats_calls_it_a_plug_in(installed: Importer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formats", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert listed["my-format"] == {
        "name": "my-format", "version": 1, "origin": "plug-in", "about": installed.about,
    }  # fmt: skip
    assert {each["origin"] for name, each in listed.items() if name != "my-format"} == {"built-in"}


def test_slowwave_formats_names_a_plug_in_that_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("worker.cli.episodes.unusable", lambda: {"bad[red] (x:Y)": "ValueError: a\x1b[2J\nb"})
    assert run(["formats", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == "installed, and not usable: bad[red] (x:Y): ValueError: a\\u001b[2J\\nb\n"
    assert "bad" not in out
