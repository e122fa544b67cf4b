"""What a rule claims about a run, in a form a machine can check, and the plain words for it.

A predicate speaks of calls by key: ``cancel_reservation`` is the agent's own call, ``user:toggle_data`` one that the
user made, ``agent:user:pay`` the agent's own call of a tool that is really named ``user:pay``. It has no direction
while it is only a feature; a finding gives it one (``do`` or ``avoid``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from storage.ids import content_hash

Kind = Literal["call-present", "missing-check", "order", "loop", "recovery", "argument", "environment", "length"]
Direction = Literal["do", "avoid"]

USER = "user:"
AGAIN = "again:"
"""Marks a remedy that is the failed call itself, made otherwise: ``again:git push --set-upstream``."""
AGENT = "agent:"
"""Set before an agent's own call whose name starts with a mark, so that no name can pass for one."""

LONGEST_NAME = 80
_ILL_SHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff`\"'\u2018-\u201f\u00ab\u00bb]")

SIMPLICITY: dict[str, int] = {
    "call-present": 0,
    "missing-check": 1,
    "loop": 2,
    "recovery": 3,
    "order": 4,
    "argument": 5,
    "environment": 6,
    "length": 7,
}
"""Of two findings that say the same, the one with the lower number is kept."""

FIELDS: dict[str, tuple[str, ...]] = {
    "call-present": ("call",),
    "missing-check": ("check", "before"),
    "order": ("first", "then"),
    "loop": ("call",),
    "recovery": ("call", "error", "then"),
    "argument": ("call", "argument", "value"),
    "environment": ("component", "version"),
    "length": ("more_than",),
}


class PredicateInvalid(ValueError):
    """A predicate names an unknown kind or lacks a part of its kind; see ``FIELDS`` for what each kind needs."""


@dataclass(frozen=True, order=True)
class Predicate:
    """A kind and the values of its ``FIELDS``, in their order."""

    kind: Kind
    parts: tuple[str, ...]
    direction: Direction | None = None

    def __post_init__(self) -> None:
        if len(self.parts) != len(FIELDS.get(self.kind, ())) or not self.parts:
            raise PredicateInvalid(f"predicate {self.kind!r} with parts {self.parts!r}: needs {FIELDS.get(self.kind)}")
        if self.kind == "length" and not self.parts[0].isdecimal():
            raise PredicateInvalid(f"predicate 'length' with {self.parts[0]!r}: needs a number of calls")

    def canonical(self, family: str) -> dict[str, Any]:
        """The dict that is stored, hashed and compared; equal claims give equal dicts."""
        named = dict(zip(FIELDS[self.kind], self.parts, strict=True))
        return {"kind": self.kind, **named, "direction": self.direction, "family": family}

    def toward(self, direction: Direction) -> Predicate:
        """The same claim with a direction."""
        return Predicate(self.kind, self.parts, direction)

    def undirected(self) -> Predicate:
        """The same claim as a bare feature."""
        return Predicate(self.kind, self.parts)

    @property
    def calls(self) -> tuple[str, ...]:
        """The calls it speaks of, for labels and for overlap between rules."""
        if self.kind in ("environment", "length"):
            return ()
        if self.kind == "argument":
            return self.parts[:1]
        return (self.parts[0], self.parts[2]) if self.kind == "recovery" else self.parts


def from_canonical(value: dict[str, Any]) -> Predicate:
    """The predicate of a stored dict.

    Raises:
        PredicateInvalid: if the kind is unknown or a part is missing.
    """
    kind = value.get("kind", "")
    names = FIELDS.get(kind)
    if names is None or any(name not in value for name in names):
        raise PredicateInvalid(f"predicate {value!r}: a {kind or 'nameless'} predicate needs {names}")
    return Predicate(kind, tuple(str(value[name]) for name in names), value.get("direction"))


def predicate_id(namespace: str, family: str, predicate: Predicate) -> str:
    """The identity of a finding: the same from night to night."""
    return content_hash([namespace, family, predicate.canonical(family)], length=16)


def stored_id(namespace: str, stored: Mapping[str, Any]) -> str:
    """The identity of a stored claim; a part, which claims it ``within`` a narrower scope only, has one of its own.

    Raises:
        PredicateInvalid: as ``from_canonical``.
    """
    family = str(stored.get("family"))
    claim = from_canonical(dict(stored)).canonical(family)
    within = {"within": stored["within"]} if stored.get("within") else {}
    return content_hash([namespace, family, claim | within], 16)


def agent_call(name: str) -> str:
    """The key of an agent's own call: its name, set apart where it starts as a mark does."""
    return f"{AGENT}{name}" if name.startswith((USER, AGAIN, AGENT)) else name


def tool_of(call: str) -> str:
    """The name behind a call's key, without the mark that it carries."""
    mark = next((mark for mark in (AGENT, USER, AGAIN) if call.startswith(mark)), "")
    name = call.removeprefix(mark)
    return tool_of(name) if mark == AGAIN and name.startswith(AGENT) else name


def shown_name(name: str) -> str:
    """A name that came out of runs, fit to stand between backticks: one line, at most ``LONGEST_NAME`` characters.

    Controls are shown as their pictures; quotation marks and what has no picture are replaced. A shown name is shown
    as it is.
    """
    shown = _ILL_SHOWN.sub(_picture, name)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[: LONGEST_NAME - 1]}…"


def _picture(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code == 0x7F:
        return "\N{SYMBOL FOR DELETE}"
    return chr(0x2400 + code) if code < 0x20 else "\N{REPLACEMENT CHARACTER}"


def call_words(call: str) -> str:
    """A call as a person reads it."""
    name = f"`{shown_name(tool_of(call))}`"
    return f"the user's own {name}" if call.startswith(USER) else name


def happened_words(predicate: Predicate) -> str:
    """What is true of a run where the predicate holds, as a clause in the past: "`x` was called"."""
    parts = [call_words(part) for part in predicate.parts]
    match predicate.kind:
        case "call-present":
            return f"{parts[0]} was called"
        case "missing-check":
            return f"{parts[1]} was called without {parts[0]} before it"
        case "order":
            return f"{parts[0]} came before {parts[1]}"
        case "loop":
            return f"the same {parts[0]} call was made again and again"
        case "recovery":
            return f"after {parts[0]} failed with “{predicate.parts[1]}”, {parts[2]} was called"
        case "argument":
            return f"{parts[0]} was called with {argument_words(predicate.parts[1], predicate.parts[2])}"
        case "environment":
            return f"{shown_name(predicate.parts[0])} was at version {predicate.parts[1]}"
        case "length":
            return f"more than {predicate.parts[0]} calls were made"


def argument_words(argument: str, value: str) -> str:
    """An argument and its value or shape as a person reads it."""
    argument = shown_name(argument)
    words = {SHAPE_ABSENT: f"no `{argument}`", SHAPE_EMPTY: f"an empty `{argument}`"}
    if value.startswith("<") and value not in words:
        return f"`{argument}` written like {value.strip('<>')} (9 a digit, a or A a letter)"
    return words.get(value, f"`{argument}` = {value}")


def scope_words(predicate: Predicate) -> str:
    """Which runs a predicate speaks of at all, as a clause; empty where it speaks of every run."""
    parts = [call_words(part) for part in predicate.parts]
    match predicate.kind:
        case "missing-check":
            return f"of the runs that called {parts[1]}"
        case "order":
            return f"of the runs that called both {parts[0]} and {parts[1]}"
        case "recovery":
            return f"of the runs where {parts[0]} failed so"
        case "argument":
            return f"of the runs that called {parts[0]}"
        case _:
            return ""


SHAPE_ABSENT = "<absent>"
SHAPE_EMPTY = "<empty>"
