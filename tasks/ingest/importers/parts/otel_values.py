"""Values as telemetry writes them: typed attribute values, times, dotted keys, JSON inside of a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tasks.ingest.jsontext import JsonFault, parse

# Dotted keys nest no deeper than this: it bounds what a hostile key may cost.
MOST_LEVELS = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The last nanosecond of the calendar's last year; what lies outside is no time.
_LAST_NS = 253_402_300_799 * 10**9
_WHOLE = 10**9


def object_of(value: Any) -> dict[str, Any]:
    """``value`` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """``value`` where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def name_of(value: Any) -> str | None:
    """A name or an id: text that is not blank, or a whole number as text."""
    if isinstance(value, str):
        return value if value.strip() else None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def attributes_of(value: Any) -> dict[str, Any]:
    """Attributes by key: a list of ``{key, value}`` or an object. Of a key given twice the last counts."""
    if isinstance(value, dict):
        return {str(key): child for key, child in value.items()}
    found = (item for item in list_of(value) if isinstance(item, dict) and isinstance(item.get("key"), str))
    return {item["key"]: plain(item.get("value")) for item in found}


def plain(value: Any) -> Any:
    """The value of an OTLP ``AnyValue`` object; what is none is returned as it is."""
    if value == {}:
        return None
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return int(inner) if isinstance(inner, str) and _is_whole(inner) else inner
    if kind == "arrayValue":
        return [plain(child) for child in list_of(object_of(inner).get("values"))]
    if kind == "kvlistValue":
        return attributes_of(list_of(object_of(inner).get("values")))
    return inner if kind in ("stringValue", "boolValue", "doubleValue", "bytesValue") else value


def _is_whole(text: str) -> bool:
    return len(text) <= 20 and text.removeprefix("-").isdecimal()


def nested(attributes: dict[str, Any], prefix: str) -> Any:
    """The items written under ``prefix.0.``, ``prefix.1.`` and so on, with dotted keys as objects.

    ``prefix.999999999.role`` makes one item: items are held by number, never by position.
    """
    start = f"{prefix}."
    pairs = ((key[len(start) :], value) for key, value in attributes.items() if key.startswith(start))
    return undotted((key, value) for key, value in pairs if key.split(".", 1)[0].isdecimal())


def undotted(pairs: Iterable[tuple[str, Any]]) -> Any:
    """``[("0.role", "user")]`` as ``[{"role": "user"}]``; None where there is nothing."""
    tree: dict[str, Any] = {}
    for key, value in pairs:
        *path, last = key.split(".", MOST_LEVELS)
        level = tree
        for part in path:
            held = level.get(part)
            if not isinstance(held, _Tree):
                held = level[part] = _Tree({} if held is None else {"": held})
            level = held
        level[last] = value
    return _listed(tree) if tree else None


class _Tree(dict[str, Any]):
    """A level made from dotted keys, told apart from an object that was a value."""


def _listed(tree: dict[str, Any]) -> Any:
    children = {key: _listed(child) if isinstance(child, _Tree) else child for key, child in tree.items()}
    if all(key.isdecimal() for key in children):
        return [children[key] for key in sorted(children, key=_in_number_order)]
    return children


def _in_number_order(digits: str) -> tuple[int, str]:
    """Digits in the order of the numbers they write, without making the number: it may have any length."""
    digits = digits.lstrip("0")
    return len(digits), digits


def read_json(value: Any) -> Any:
    """The JSON that a text holds where it holds an object or a list; else the value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return parse(value.encode("utf-8", "surrogatepass")).value
        except JsonFault:
            return value
    return value


def texts_in(value: Any) -> Iterator[str]:
    """Names in a value: a text, a list of texts."""
    yield from (child for child in (value if isinstance(value, list) else [value]) if isinstance(child, str))


def whole(value: Any) -> int | None:
    """A whole number, given as one or as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return int(value) if _is_whole(value) else None
    if isinstance(value, float):
        return int(value) if abs(value) < 2**63 else None
    return value if isinstance(value, int) else None


def nanoseconds(value: Any, unit: int) -> int | None:
    """A time in nanoseconds since 1970: a number of ``unit`` nanoseconds each, ``[s, ns]``, or a written time."""
    if isinstance(value, list) and len(value) == 2:
        seconds, rest = (whole(part) for part in value)
        return None if seconds is None or rest is None else _in_calendar(seconds * _WHOLE + rest)
    if isinstance(value, float) and abs(value) < 2**63:
        return _in_calendar(int(value) * unit + int((value - int(value)) * unit))
    number = whole(value)
    if number is not None:
        return _in_calendar(number * unit)
    return _written(value) if isinstance(value, str) else None


def _written(text: str) -> int | None:
    try:
        time = datetime.fromisoformat(text)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    since = time - _EPOCH
    return _in_calendar((since.days * 86400 + since.seconds) * _WHOLE + since.microseconds * 1000)


def _in_calendar(ns: int) -> int | None:
    """A time of zero is none: exporters write it for one they do not have."""
    return ns if 0 < ns <= _LAST_NS else None


def as_time(ns: int | None) -> datetime | None:
    """Nanoseconds since 1970 as a time in UTC, to the microsecond."""
    return None if ns is None else _EPOCH + timedelta(microseconds=ns // 1000)
