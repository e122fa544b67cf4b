"""What a rule claims about a run, in a form a machine can check, and the plain words for it.

A predicate speaks of calls by key: ``cancel_reservation`` is the agent's own call, ``user:toggle_data`` one that the
user made. It has no direction while it is only a feature; a finding gives it one (``do`` or ``avoid``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from storage.ids import content_hash

Kind = Literal["call-present", "missing-check", "order", "loop", "recovery", "argument", "environment", "length"]
Direction = Literal["do", "avoid"]

USER = "user:"
AGAIN = "again:"
"""Marks a remedy that is the failed call itself, made otherwise: ``again:git push --set-upstream``."""

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


def call_words(call: str) -> str:
    """A call as a person reads it."""
    if call.startswith(USER):
        return f"the user's own `{call.removeprefix(USER)}`"
    return f"`{call.removeprefix(AGAIN)}`"


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
            return f"{predicate.parts[0]} was at version {predicate.parts[1]}"
        case "length":
            return f"more than {predicate.parts[0]} calls were made"


def argument_words(argument: str, value: str) -> str:
    """An argument and its value or shape as a person reads it."""
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
