import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.ingest.jsontext import JsonFault, canonical_bytes, item_line, parse, refuse_depth, salvage, tidy

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.binary())
def test_any_bytes_are_a_value_or_a_named_fault(data: bytes) -> None:
    try:
        tidied, _ = tidy(parse(data).value)
    except JsonFault:
        return
    json.dumps(tidied, allow_nan=False).encode("utf-8")


@given(JSON)
def test_what_is_json_is_read_exactly(value: object) -> None:
    assert parse(json.dumps(value).encode()).value == json.loads(json.dumps(value))


def test_a_number_past_64_bits_keeps_every_digit() -> None:
    digits = "123456789012345678901234567890"
    assert parse(f'{{"id": {digits}}}'.encode()).value == {"id": digits}
    assert parse(b'{"ns": 1764464523000000001}').value == {"ns": 1764464523000000001}


def test_nan_and_infinity_stay_as_text() -> None:
    assert parse(b"[NaN, 1e999, -Infinity]").value == ["NaN", "1e999", "-Infinity"]


def test_nul_and_lone_surrogates_become_visible_and_are_counted() -> None:
    value, counts = tidy(parse(b'{"a": "x\\u0000y", "b": "\\ud800", "c": "\xff"}').value)
    assert value == {"a": "x\u2400y", "b": "\ufffd", "c": "\ufffd"}
    assert counts == {"nul": 1, "not_utf8": 2}


@pytest.mark.parametrize("depth", [300, 900, 100_000])
def test_deep_nesting_is_refused_in_words(depth: int) -> None:
    with pytest.raises(JsonFault, match="nested more than 200 levels"):
        parse(b"[" * depth + b"]" * depth)


def test_nesting_within_the_limit_is_kept() -> None:
    refuse_depth(parse(b"[" * 199 + b"]" * 199).value)


@given(st.lists(JSON, min_size=1, max_size=5), st.data())
def test_a_list_that_breaks_off_keeps_its_whole_items(items: list[object], data: st.DataObject) -> None:
    text = json.dumps(items)
    saved = salvage(text[: data.draw(st.integers(0, len(text) - 1))])
    assert saved is None or saved.value == items[: len(saved.value)] or len(saved.value) <= len(items)


def test_an_object_that_breaks_off_keeps_the_items_of_its_list() -> None:
    saved = salvage('{"info": {"a": 1},\n "runs": [{"n": 1},\n {"n": 2}, {"n"')
    assert saved is not None
    assert saved.value == {"info": {"a": 1}, "runs": [{"n": 1}, {"n": 2}]}
    assert saved.fault.line == 3


def test_a_broken_text_without_a_whole_item_is_not_salvaged() -> None:
    assert salvage('{"a') is None
    assert salvage("prose") is None


def test_the_line_of_an_item_is_found() -> None:
    assert item_line('[\n {"a": 1},\n {"a": 2}\n]', 1) == 3
    assert item_line('{"x": 0,\n"runs": [\n1,\n2]}', 1, "runs") == 4
    assert item_line("nonsense", 0) is None


def test_equal_records_give_equal_bytes_whatever_their_key_order() -> None:
    assert canonical_bytes({"b": 1, "a": "é"}) == canonical_bytes(json.loads('{ "a": "é", "b": 1 }'))
    assert canonical_bytes({"a": "\ud800"}) == b'{"a":"\\ud800"}'
