"""Validation errors in words a person understands. Never quotes a value: it may be a secret."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

SHOWN = 3
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of an episode (put fields of your own under metadata)",
    "string_type": "must be text",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large",
    "less_than": "is too large",
    "less_than_equal": "is too large",
    "greater_than": "is too small",
    "greater_than_equal": "is too small",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "datetime_type": "must be a time such as 2026-11-29T01:02:03Z",
    "datetime_parsing": "must be a time such as 2026-11-29T01:02:03Z",
    "datetime_from_date_parsing": "must be a time such as 2026-11-29T01:02:03Z",
    "datetime_object_invalid": "must be a time such as 2026-11-29T01:02:03Z",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_unicode": "holds characters that are not text",
}


def explain(error: ValidationError) -> str:
    """The first few faults of a record: ``steps[2].kind must be one of 'user', 'plan', …``."""
    faults = error.errors(include_url=False, include_input=False)
    said = [f"{_place(fault['loc'])} {_what(fault)}" for fault in faults[:SHOWN]]
    rest = len(faults) - len(said)
    return "; ".join(said) + (f"; and {rest} more" if rest > 0 else "")


def _what(fault: object) -> str:
    assert isinstance(fault, dict)
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "literal_error":
        return f"must be one of {context.get('expected', '')}".replace(" or ", ", ")
    if kind == "string_too_long":
        return f"is longer than {context.get('max_length')} characters"
    if kind == "value_error":
        return str(context.get("error", fault["msg"]))
    return _WORDS.get(kind, str(fault["msg"]))


def _place(location: Sequence[int | str]) -> str:
    """``steps[2].kind``; a key that came from the record is shortened."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part[:40]}" if text else part[:40]
    return text or "the record"
