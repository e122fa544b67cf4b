import gzip
import io
import json
from typing import BinaryIO

import pytest

from tasks.ingest import jsontext
from tasks.ingest.source import Limits, Record, Source, SourceBroken


def source(data: bytes | BinaryIO, limits: Limits | None = None) -> Source:
    stream = io.BytesIO(data) if isinstance(data, bytes) else data
    return Source(stream, "x.jsonl", "x.jsonl", "x.jsonl", limits or Limits())


def read(data: bytes | BinaryIO, limits: Limits | None = None) -> tuple[list[Record], str | None]:
    found, records = [], source(data, limits).records()
    try:
        for each in records:
            found.append(each)
    except SourceBroken as broken:
        return found, broken.reason
    return found, None


def test_lines_keep_their_numbers_over_blank_lines_bom_and_crlf() -> None:
    found, broken = read(b'\xef\xbb\xbf{"a":1}\r\n\r\n{"a":2}\r\n')
    assert [(each.line, each.value) for each in found] == [(1, {"a": 1}), (3, {"a": 2})]
    assert broken is None


def test_a_broken_line_is_reported_beside_the_good_ones() -> None:
    found, _ = read(b'{"a":1}\n{"a":\n{"a":3}\n')
    assert [each.value for each in found] == [{"a": 1}, None, {"a": 3}]
    assert found[1].line == 2
    assert found[1].fault


def test_a_broken_first_line_does_not_hide_the_rest() -> None:
    found, _ = read(b'{"a":\n{"a":2}\n')
    assert [each.value for each in found] == [None, {"a": 2}]


@pytest.mark.parametrize("indent", [None, 2])
def test_one_document_is_a_document_however_it_is_laid_out(indent: int | None) -> None:
    data = [{"a": 1}, {"a": 2}]
    subject = source(json.dumps(data, indent=indent).encode())
    assert subject.sample().shape == "document"
    assert [each.value for each in subject.records()] == [data]


def test_an_empty_source_is_empty() -> None:
    assert source(b"").sample().shape == "empty"
    assert source(b"\n \n").sample().shape == "empty"


def test_truncated_gzip_keeps_what_came_before() -> None:
    whole = gzip.compress(b"".join(b'{"n": %d}\n' % n for n in range(20_000)))
    found, broken = read(gzip.GzipFile(fileobj=io.BytesIO(whole[: len(whole) // 2])))
    assert len(found) > 100
    assert found[50].value == {"n": 50}
    assert broken is not None
    assert "ends early" in broken


def test_a_line_past_the_limit_is_one_reject_and_the_next_is_read() -> None:
    found, _ = read(b'{"a":1}\n{"a":"' + b"x" * 5000 + b'"}\n{"a":3}\n', Limits(line=1000))
    assert [each.value for each in found] == [{"a": 1}, None, {"a": 3}]
    assert "more than 1,000 bytes" in (found[1].fault or "")


def test_a_bomb_is_refused_with_a_reason() -> None:
    bomb = gzip.compress(b'{"a":1}\n' * 100_000)
    found, broken = read(gzip.GzipFile(fileobj=io.BytesIO(bomb)), Limits(total=10_000))
    assert len(found) <= 1250
    assert broken is not None
    assert "more than 10,000 bytes" in broken


def test_a_document_past_the_limit_is_refused_with_a_reason() -> None:
    found, broken = read(b"[\n" + b'"x",\n' * 5000 + b'"x"]', Limits(document=1000))
    assert broken is not None
    assert "one document of more than 1,000 bytes" in broken
    assert not [each for each in found if each.fault is None]


def test_a_document_may_stand_on_one_line_longer_than_a_record_may_be() -> None:
    limits = Limits(line=100, document=10_000)
    whole = json.dumps([{"a": "x" * 80}, {"b": "y" * 80}]).encode()
    for data in (whole, whole + b"\n"):
        assert [each.value for each in source(data, limits).records()] == [json.loads(data)]
    alone = source(json.dumps({"a": "x" * 200}).encode(), limits)
    assert alone.sample().shape == "document"


def test_a_long_line_among_lines_is_refused_and_the_others_are_read() -> None:
    long, short = json.dumps({"a": "x" * 200}).encode(), b'{"b": 1}'
    for data in (long + b"\n" + short, short + b"\n" + long + b"\n" + short):
        found = list(source(data, Limits(line=100, document=10_000)).records())
        assert [each.fault for each in found if each.fault] == ["a line of more than 100 bytes"]
        assert {"b": 1} in [each.value for each in found]


def test_what_would_parse_into_too_many_values_is_refused_before_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "MOST_VALUES", 100)
    many = b"[" + b"[]," * 200 + b"[]]"
    assert read(many) == ([], "one document of more than 100 values: split it")
    found, broken = read(b'{"a": 1}\n' + many + b'\n{"a": 2}\n')
    assert [(each.value, each.fault) for each in found][1] == (None, "more than 100 values: split it")
    assert (len(found), broken) == (3, None)
