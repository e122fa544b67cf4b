"""What a model may answer, and how it is read out of whatever came back. A reply that is not that is never a result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

LONGEST_REPLY = 200_000
MOST_OBJECTS = 200

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
Call = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]

_FENCE = re.compile(r"```[a-zA-Z0-9]*\s*\n(.*?)```", re.DOTALL)
_THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)
"""Takes a line break inside a text as it is: some grammars let a model write one."""


class Malformed(ValueError):
    """A reply that is no answer; says what is wrong with it, in words that may be shown to the model again."""


class Citation(BaseModel):
    """A step by the name it was shown under, and words copied from it."""

    step: str = Field(max_length=40)
    quote: str = Field(max_length=2_000)


def _one_list(schema: dict[str, Any]) -> None:
    """Tells by shape that one list is filled: an endpoint that keeps to shapes then can't answer with two claims."""
    lists = schema.pop("properties")
    del schema["type"]
    schema["anyOf"] = [{"type": "object", "properties": {name: lists[name] | {"minItems": 1}}} for name in lists]


class Claimed(BaseModel):
    """The claim a machine can check: exactly one entry in all."""

    model_config = ConfigDict(json_schema_extra=_one_list)

    required: list[Call] = Field(default_factory=list, max_length=1)
    forbidden: list[Call] = Field(default_factory=list, max_length=1)
    ordered: list[Annotated[list[Call], Field(min_length=2, max_length=2)]] = Field(default_factory=list, max_length=1)

    @field_validator("required", "forbidden", "ordered", mode="before")
    @classmethod
    def _filled(cls, value: Any) -> Any:
        """Without the empty entries that a model leaves in a list it does not use."""
        return [entry for entry in value if entry not in ("", [], ["", ""])] if isinstance(value, list) else value

    @model_validator(mode="after")
    def _one(self) -> Claimed:
        if len(self.required) + len(self.forbidden) + len(self.ordered) != 1:
            raise ValueError("fill exactly one of required, forbidden and ordered, with exactly one entry")
        return self


class DraftText(BaseModel):
    """One piece of advice with what it rests on."""

    when_to_use: Line
    guidance: list[Line] = Field(min_length=1, max_length=6)
    rationale: Text
    counter_example: Text
    verification_method: Text
    scope: Text
    citations: list[Citation] = Field(max_length=40)
    predicate: Claimed


class Answer(BaseModel):
    """A draft, or None with the reason why there is nothing to learn."""

    model_config = ConfigDict(extra="ignore")

    draft: DraftText | None
    reason: str = Field("", max_length=2_000)

    @model_validator(mode="after")
    def _reasoned(self) -> Answer:
        if self.draft is None and not self.reason.strip():
            raise ValueError("draft is null without a reason")
        return self


_SHAPE = frozenset({"$ref", "anyOf", "items", "type"})
"""What of a schema every endpoint takes."""
_COUNTED = frozenset({"minItems", "maxItems", "minLength"})
"""Limits that a grammar is built with too. Not among them ``maxLength``: in a grammar it is one rule a letter."""


def shapes(schema: Mapping[str, Any], kept: frozenset[str] = _SHAPE) -> dict[str, Any]:
    """A schema with the keys ``kept``, each object with all of its properties and no others."""
    told: dict[str, Any] = {key: _shaped(value, kept) for key, value in schema.items() if key in kept}
    for key in ("properties", "$defs"):
        if key in schema:
            told[key] = {name: shapes(child, kept) for name, child in schema[key].items()}
    if "properties" in told:
        told |= {"required": list(told["properties"]), "additionalProperties": False}
    return told


def _shaped(value: Any, kept: frozenset[str]) -> Any:
    if isinstance(value, list):
        return [_shaped(child, kept) for child in value]
    return shapes(value, kept) if isinstance(value, dict) else value


SCHEMA: dict[str, Any] = shapes(Answer.model_json_schema(), _SHAPE | _COUNTED)
"""JSON schema of the answer, with the limits that a grammar can keep. All of them are checked here in any case."""


def read_answer(text: str) -> Answer:
    """The one answer in a reply: alone, in a code fence, or with prose around it.

    Raises:
        Malformed: if there is none, or more than one.
    """
    if not text.strip():
        raise Malformed("the reply is empty")
    if len(text) > LONGEST_REPLY:
        raise Malformed(f"the reply is longer than {LONGEST_REPLY} characters")
    found, faults = [], []
    for value in _objects(_THOUGHT.sub("", text, count=1)):
        try:
            answer = Answer.model_validate(value)
        except ValidationError as error:
            faults.append(_fault(error))
            continue
        if answer not in found:
            found.append(answer)
    if len(found) > 1:
        raise Malformed("the reply holds more than one answer")
    if not found:
        raise Malformed(faults[0] if faults else "the reply holds no JSON object")
    return found[0]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects in a text, outermost first and left to right."""
    for part in (text, *(fenced for fenced in _FENCE.findall(text))):
        try:
            value = json.loads(part, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
            return
    at = text.find("{")
    for _ in range(MOST_OBJECTS):
        if at < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


def _fault(error: ValidationError) -> str:
    """What is wrong, by place, without a word of the reply."""
    places = [
        f"{'.'.join(str(part) for part in fault['loc']) or 'the answer'}: {fault['msg']}"
        for fault in error.errors(include_input=False, include_url=False, include_context=False)
    ]
    return "; ".join(places[:4])
