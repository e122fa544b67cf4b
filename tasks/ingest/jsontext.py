"""Reading JSON that others wrote: fast where it is clean, tolerant where it is not, and never lossy in silence.

orjson reads nearly everything; the standard library takes over for what orjson refuses or would round: numbers past
64 bits, NaN, lone surrogates, bytes that are not UTF-8. Such a value is *dirty*: ``tidy`` makes it storable.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from tasks.ingest.linear import Linear

MAX_DEPTH = 200
MOST_VALUES = 16_000_000
BOM = b"\xef\xbb\xbf"
_LONG_NUMBER = Linear(r"(?:\A|[:\[,\-\x20\t\r\n])[0-9]{19}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = " \t\r\n"
_CONTAINERS = (dict, list)


class JsonFault(ValueError):
    """Text that is not JSON, or JSON that is not held here; says where (``line``, from 1) and why."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class TooMuch(JsonFault):
    """JSON that is not even tried: not to be salvaged either."""


@dataclass(frozen=True)
class Parsed:
    """A JSON value; ``dirty`` tells that it may hold what a database refuses."""

    value: Any
    dirty: bool = False


def parse(data: bytes) -> Parsed:
    """Parse one JSON text.

    Raises:
        JsonFault: if it is not JSON, or nested more than ``MAX_DEPTH`` levels deep.
        TooMuch: if it holds more than ``MOST_VALUES`` values.
    """
    data = data.removeprefix(BOM)
    # Bytes say little of what they become: a few megabytes of ``[],`` packed into a .gz take gigabytes once parsed.
    if len(data) > MOST_VALUES and sum(map(data.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise TooMuch(f"more than {MOST_VALUES:,} values: split it")
    # A number outside of quotes that a float may not keep. Digits within a text seldom look like one.
    if not _LONG_NUMBER.is_in(data):
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            pass
        else:
            if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
                refuse_depth(value)
            return Parsed(value, dirty=b"\\u0000" in data)
    return Parsed(_parse_slowly(decode(data)), dirty=True)


def decode(data: bytes) -> str:
    """Bytes as text; a byte that is not UTF-8 becomes a lone surrogate, so that different bytes stay different."""
    return data.removeprefix(BOM).decode("utf-8", "surrogateescape")


def _parse_slowly(text: str) -> Any:
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as fault:
        raise JsonFault(f"not JSON: {fault.msg} at column {fault.colno}", fault.lineno) from None
    except RecursionError:
        raise JsonFault(f"nested more than {MAX_DEPTH} levels deep") from None
    refuse_depth(value)
    return value


def _whole_number(text: str) -> int | str:
    """A number past 64 bits stays as it was written, as text: no database column would keep it exactly."""
    if len(text) > 20:
        return text
    value = int(text)
    return value if -(2**63) <= value < 2**64 else text


def _fraction(text: str) -> float | str:
    value = float(text)
    return value if math.isfinite(value) else text


_DECODER = json.JSONDecoder(parse_int=_whole_number, parse_float=_fraction, parse_constant=str, strict=False)


def refuse_depth(value: Any, limit: int = MAX_DEPTH) -> None:
    """Raise ``JsonFault`` where containers nest deeper than ``limit``. Level by level, so depth costs no stack."""
    level = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _children(parent) if isinstance(child, _CONTAINERS)]
        if not level:
            return
    raise JsonFault(f"nested more than {limit} levels deep")


def _children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def tidy(value: Any) -> tuple[Any, dict[str, int]]:
    """``value`` with what no database stores made visible instead, and how often each kind was met.

    NUL becomes U+2400 (the sign for it); a lone surrogate or a byte that was not UTF-8 becomes U+FFFD.
    """
    counts: dict[str, int] = {}
    return _tidy(value, counts), counts


def _tidy(value: Any, counts: dict[str, int]) -> Any:
    if isinstance(value, str):
        return tidy_text(value, counts)
    if isinstance(value, dict):
        return {tidy_text(str(key), counts): _tidy(child, counts) for key, child in value.items()}
    if isinstance(value, list):
        return [_tidy(child, counts) for child in value]
    return value


def tidy_text(text: str, counts: dict[str, int]) -> str:
    """One string made storable; adds to ``counts``."""
    if "\x00" in text:
        counts["nul"] = counts.get("nul", 0) + text.count("\x00")
        text = text.replace("\x00", "\u2400")
    if not text.isascii():
        text, found = _SURROGATE.subn("\ufffd", text)
        if found:
            counts["not_utf8"] = counts.get("not_utf8", 0) + found
    return text


def canonical_bytes(value: Any) -> bytes:
    """Sorted, compact JSON: equal records give equal bytes, whatever their spacing and key order."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str).encode("ascii")


@dataclass(frozen=True)
class Salvaged:
    """What a broken document still holds: ``value`` up to the fault, and the fault."""

    value: Any
    fault: JsonFault


def salvage(text: str) -> Salvaged | None:
    """Read a document that breaks off or breaks: its list items, or its keys and their list items, before the fault.

    Returns None where nothing whole came before the fault.
    """
    start = _skip(text, 0)
    container: Any = [] if text[start : start + 1] == "[" else {} if text[start : start + 1] == "{" else None
    if container is None:
        return None
    try:
        (_fill_list if isinstance(container, list) else _fill_dict)(text, start, container)
    except (json.JSONDecodeError, IndexError) as fault:
        place = fault.pos if isinstance(fault, json.JSONDecodeError) else len(text)
        line = text.count("\n", 0, place) + 1
        return (
            Salvaged(container, JsonFault("the document breaks here; what came before was kept", line))
            if (container)
            else None
        )
    except RecursionError:
        return None
    return None


def _fill_list(text: str, at: int, items: list[Any]) -> int:
    at = _skip(text, at + 1)
    while text[at] != "]":
        value, at = _DECODER.raw_decode(text, at)
        items.append(value)
        at = _comma(text, at, "]")
    return at + 1


def _fill_dict(text: str, at: int, fields: dict[str, Any]) -> int:
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if not isinstance(key, str) or text[at] != ":":
            raise json.JSONDecodeError("expected a key", text, at)
        at = _skip(text, at + 1)
        if text[at] == "[":
            fields[key] = []
            at = _fill_list(text, at, fields[key])
        else:
            fields[key], at = _DECODER.raw_decode(text, at)
        at = _comma(text, at, "}")
    return at + 1


def _comma(text: str, at: int, end: str) -> int:
    at = _skip(text, at)
    if text[at] == ",":
        return _skip(text, at + 1)
    if text[at] != end:
        raise json.JSONDecodeError("expected a comma", text, at)
    return at


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def item_line(text: str, index: int, key: str | None = None) -> int | None:
    """The line (from 1) on which item ``index`` of the top list, or of the list under ``key``, begins.

    Slow (it reads the document again): for messages about records that were refused.
    """
    try:
        at = _list_start(text, key)
        at = _skip(text, at + 1)
        for _ in range(index):
            _, at = _DECODER.raw_decode(text, at)
            at = _comma(text, at, "]")
    except (ValueError, IndexError, RecursionError):
        return None
    return text.count("\n", 0, at) + 1


def _list_start(text: str, key: str | None) -> int:
    at = _skip(text, 0)
    if key is None:
        if text[at] != "[":
            raise ValueError("not a list")
        return at
    at = _skip(text, at + 1)
    while text[at] != "}":
        found, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        if found == key:
            return at
        _, at = _DECODER.raw_decode(text, at)
        at = _comma(text, at, "}")
    raise ValueError("no such key")
