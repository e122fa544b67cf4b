"""What holds for every format: it is known by its content, and whatever it is fed, it answers."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from support.episode_files import EXAMPLES, Example
from support.mangling import mangle
from support.reading import Found, assert_storable, read_all, source_of, steps_of
from tasks.ingest.importers.base import Imported
from tasks.ingest.importers.registry import NotRecognised, choose, importers
from tasks.ingest.source import Source, SourceBroken

BUILT_IN = {name for name, each in importers().items() if type(each).__module__.startswith("tasks.ingest.")}
KEYS = (
    "messages",
    "role",
    "content",
    "steps",
    "type",
    "data",
    "spans",
    "history",
    "traj",
    "sessionId",
    "payload",
    "info",
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda each: st.lists(each, max_size=4) | st.dictionaries(st.sampled_from(KEYS), each, max_size=4),
    max_leaves=12,
)

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.format}-{each.assemble.__name__}")


def test_every_format_has_an_example_here() -> None:
    assert {each.format for each in EXAMPLES} == BUILT_IN


@each_example
def test_a_format_is_known_by_its_content(example: Example) -> None:
    for name in ("x", "LABELS.jsonl", "result.json"):
        source = source_of(example.data, name)
        chosen = choose(source)
        assert chosen.name == example.format
        assert [type(each) for each in chosen.read(source)] == [Imported] * example.episodes


@each_example
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(example: Example) -> None:
    marked = codecs.BOM_UTF8 + example.data.replace(b"\n", b"\r\n")
    assert steps_of(read_all(marked, "auto")) == steps_of(read_all(example.data, example.format))


@each_example
def test_a_file_cut_short_anywhere_is_answered(example: Example) -> None:
    for cut in range(1, len(example.data), max(1, len(example.data) // 60)):
        for importer in (example.format, "auto"):
            assert_storable(read_all(example.data[:cut], importer))


@each_example
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_spoilt_record_is_answered_and_the_ones_beside_it_are_kept(example: Example, data: st.DataObject) -> None:
    def chosen(below: int) -> int:
        return data.draw(st.integers(0, below - 1))

    at = chosen(len(example.units))
    units = list(example.units)
    units[at] = mangle(units[at], chosen, times=1 + chosen(4))
    spoilt = example.assemble(units)
    note(repr(spoilt))
    found = read_all(spoilt, example.format)
    kept = steps_of(found)
    assert_storable(found)
    if example.episodes == len(example.units) > 1:
        lost = Counter(steps_of(read_all(example.data, example.format))) - Counter(kept)
        assert sum(lost.values()) <= 1, "a good record beside a spoilt one is gone"


@each_example
@settings(max_examples=40, deadline=None)
@given(noise=st.binary(max_size=200), share=st.floats(0, 1))
def test_noise_within_a_file_is_answered(example: Example, noise: bytes, share: float) -> None:
    at = int(len(example.data) * share)
    for importer in (example.format, "auto"):
        assert_storable(read_all(example.data[:at] + noise + example.data[at:], importer))


@each_example
@settings(max_examples=40, deadline=None)
@given(value=ANY_JSON)
def test_any_json_at_all_is_answered(example: Example, value: Any) -> None:
    assert_storable(read_all(json.dumps(value).encode(), example.format))


@each_example
def test_a_gzip_that_ends_early_keeps_what_came_before(example: Example) -> None:
    packed = gzip.compress(example.data)
    stream = gzip.GzipFile(fileobj=io.BytesIO(packed[: len(packed) - 12]), mode="rb")
    source = Source(stream, "x", "x", "x")  # type: ignore[arg-type]
    found: Found = []
    with pytest.raises((SourceBroken, NotRecognised), match=r"ends early|damaged"):
        found.extend(choose(source, "auto").read(source))
    assert_storable(found)
