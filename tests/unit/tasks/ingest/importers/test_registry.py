import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.ingest.importers import registry
from tasks.ingest.importers.base import Imported, Importer, Rejected
from tasks.ingest.importers.registry import NotRecognised, UnknownFormat, choose, importers
from tasks.ingest.ready import records_of

from ..conftest import as_source, plain, tau1_run, tau2_file, tau2_run


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (plain(), "canonical"),
        ([plain()], "canonical"),
        (b'{"x": 1}\n' + json.dumps(plain()).encode() + b"\n", "canonical"),
        ([tau1_run()], "tau-bench"),
        (tau2_file(tau2_run()), "tau2"),
    ],
)
def test_a_format_is_recognised_by_content_whatever_the_file_is_called(content: Any, name: str) -> None:
    assert choose(as_source(content, "tau1_model_airline.json")).name == name


@pytest.mark.parametrize(
    ("content", "looks_like"),
    [
        (b"", "the file is empty"),
        (b"Once upon a time", "line 1: not JSON"),
        (b'{"file": "a", "success": true}\n' * 3, "lines with the fields 'file', 'success'"),
        ([1, 2], "a list of items with int values, not objects"),
        ([], "a list of items with no fields"),
    ],
)
def test_what_is_no_episode_format_is_described(content: Any, looks_like: str) -> None:
    with pytest.raises(NotRecognised, match="no episode format recognised") as caught:
        choose(as_source(content))
    assert looks_like in str(caught.value)


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(UnknownFormat, match=r"no format called 'tao'; there are: auto, .*canonical, .*tau-bench, tau2"):
        choose(as_source(plain()), "tao")


def test_every_importer_keeps_the_protocol() -> None:
    assert all(isinstance(each, Importer) and each.version >= 1 for each in importers().values())


KEYS = ["role", "content", "id", "name", "arguments", "kind", "text", "x"]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["user", "tool", "system"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


def broken(record: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The record with some fields replaced by anything at all."""
    return st.dictionaries(st.sampled_from(sorted(record)), JUNK, max_size=3).map(lambda junk: {**record, **junk})


@settings(max_examples=150, deadline=None)
@given(broken(plain()), broken(tau1_run()), broken(tau2_run()), broken(tau2_run()["messages"][4]), JUNK)
def test_a_bad_record_never_raises_and_never_costs_a_good_one(
    canonical: dict[str, Any], tau1: dict[str, Any], tau2: dict[str, Any], message: dict[str, Any], info: Any
) -> None:
    good1, good2 = tau1_run(trial=77), tau2_run(id="good")
    odd = tau2_run(id="odd", messages=[*tau2_run()["messages"], message])
    files = {
        "canonical": b"".join(
            json.dumps(each).encode() + b"\n" for each in (plain(id="good"), canonical, plain(id="good"))
        ),
        "tau-bench": json.dumps([good1, tau1, good1]).encode(),
        "tau2": json.dumps({**tau2_file(good2, tau2, odd, good2), "info": info}).encode(),
    }
    for name, data in files.items():
        found = list(importers()[name].read(as_source(data)))
        assert all(isinstance(each, Imported | Rejected) for each in found)
        assert isinstance(found[0], Imported)
        assert isinstance(found[-1], Imported)
        assert all(each.reason for each in found if isinstance(each, Rejected))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["canonical", "tau-bench", "tau2"]))
def test_any_bytes_are_read_or_rejected(data: bytes, name: str) -> None:
    whole = json.dumps(plain()).encode() + b"\n" + data
    assert all(isinstance(each, Imported | Rejected) for each in importers()[name].read(as_source(whole)))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('{"task": "x"}'.encode("utf-16"), "UTF-16"),
        ('{"task": "x"}'.encode("utf-16-le"), "UTF-16"),
        ('{"task": "x"}'.encode("utf-32"), "UTF-16 or UTF-32"),
        (gzip.compress(gzip.compress(b"{}", mtime=0), mtime=0), "it is gzip: unpack it first"),
        (b"PK\x03\x04\x14\x00 no text", "a zip archive"),
    ],
)
def test_what_is_no_json_in_utf_8_is_called_what_it_is(data: bytes, said: str) -> None:
    held = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    with pytest.raises(NotRecognised, match=said):
        choose(as_source(held))


class _Plugin:
    """A plug-in of which some part does what it must not."""

    name, version, about = "mine", 1, "a test"

    def sniff(self, sample: Any) -> Any:
        raise RuntimeError("no")

    def read(self, source: Any) -> Any:
        yield {"no": "episode"}

    def part_of(self, source: Any) -> Any:
        raise RuntimeError("no")


class _Point:
    def __init__(self, name: str, plugin: Any) -> None:
        self.name, self.value, self._plugin = name, f"pkg:{name}", plugin

    def load(self) -> Any:
        if isinstance(self._plugin, Exception):
            raise self._plugin
        return self._plugin


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Any:
    def installing(*points: _Point) -> None:
        registry._registry.cache_clear()
        monkeypatch.setattr(registry, "entry_points", lambda group: points)

    yield installing
    registry._registry.cache_clear()


def test_a_broken_plug_in_is_named_and_costs_no_other_format(plugins: Any) -> None:
    taken = _Plugin()
    taken.name = "canonical"
    plugins(_Point("gone", ImportError("no such module")), _Point("odd", object()), _Point("thief", taken))
    assert choose(as_source(plain())).name == "canonical"
    assert registry.unusable() == {
        "gone (pkg:gone)": "ImportError: no such module",
        "odd (pkg:odd)": "TypeError: it is no importer: see docs/formats.md",
        "thief (pkg:thief)": "ValueError: the name 'canonical' is taken",
    }


def test_a_plug_in_that_fails_on_a_source_leaves_it_to_the_others(plugins: Any) -> None:
    plugins(_Point("mine", _Plugin()))
    source = as_source(plain())
    assert registry.part_of(source) is None
    assert choose(source).name == "canonical"


def test_what_a_plug_in_yields_that_is_no_record_is_a_reject(plugins: Any) -> None:
    plugins(_Point("mine", _Plugin()))
    (found,) = records_of(choose(as_source(plain()), "mine"), as_source(plain()))
    assert isinstance(found, Rejected)
    assert "the importer mine failed here (TypeError)" in found.reason
