"""What a predicate asks of an agent, taken apart: so that two claims are compared, and found, by what they speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks.contrast.predicate import Predicate, PredicateInvalid, argument_words, call_words, from_canonical

About = tuple[str, ...]
FORM_OF = {"value": "different-value", "component": "different-value", "pair": "order-reversed"}
"""How a disagreement about a thing is called; about anything else it is opposite advice."""

LISTED = ("required", "forbidden", "ordered")
"""The keys of a predicate that lists calls instead of naming one kind."""


@dataclass(frozen=True, order=True)
class Demand:
    """One thing asked for: ``about`` names the place, ``wants`` what is to be there.

    Two demands about one place with other wants cannot both be met. ``words`` tells it as a clause after "one".
    """

    about: About
    wants: str
    words: str

    @property
    def form(self) -> str:
        """The form of a disagreement about it."""
        return FORM_OF.get(self.about[0], "opposite-advice")


def demands_of(predicate: Mapping[str, Any]) -> tuple[Demand, ...]:
    """The demands of a stored predicate; none where nothing in it can be checked by a machine."""
    found = [*_listed(predicate)] if any(predicate.get(key) for key in LISTED) else _of_kind(predicate)
    return tuple(sorted(set(found)))


def _of_kind(value: Mapping[str, Any]) -> list[Demand]:
    try:
        one = from_canonical(dict(value))
    except PredicateInvalid:
        return []
    if one.direction is None:
        return []
    wanted = one.direction == "do"
    match one.kind:
        case "call-present":
            return [_call(one.parts[0], wanted)]
        case "missing-check":
            check, before = one.parts
            # Advice against leaving a check out asks for the check, and asks for it first.
            return [_pair(before, check)] if wanted else [_call(check, True), _pair(check, before)]
        case "order":
            first, then = one.parts
            return [_pair(first, then) if wanted else _pair(then, first)]
        case "recovery":
            return [_plain(one, wanted), *([_call(one.parts[2], True)] if wanted else [])]
        case "argument":
            return _valued(one, ("value", *one.parts[:2]), argument_words(one.parts[1], one.parts[2]))
        case "environment":
            return _valued(one, ("component", one.parts[0]), f"{one.parts[0]} at {one.parts[1]}")
        case _:
            return [_plain(one, wanted)]


def _listed(value: Mapping[str, Any]) -> list[Demand]:
    """The demands of a predicate that lists calls required, forbidden and ordered."""
    required = [_call(str(call), True) for call in value.get("required") or ()]
    forbidden = [_call(str(call), False) for call in value.get("forbidden") or ()]
    pairs = [list(map(str, pair)) for pair in value.get("ordered") or () if isinstance(pair, list | tuple)]
    return [*required, *forbidden, *(_pair(*pair) for pair in pairs if len(pair) == 2)]


def _call(call: str, wanted: bool) -> Demand:
    asks = f"asks for {call_words(call)}" if wanted else f"advises against {call_words(call)}"
    return Demand(("call", call), "do" if wanted else "avoid", asks)


def _pair(first: str, then: str) -> Demand:
    one, two = sorted((first, then))
    return Demand(("pair", one, two), first, f"wants {call_words(first)} first")


def _plain(one: Predicate, wanted: bool) -> Demand:
    asks = "asks for this" if wanted else "advises against this"
    return Demand((one.kind, *one.parts), "do" if wanted else "avoid", asks)


def _valued(one: Predicate, place: About, words: str) -> list[Demand]:
    """A value asked for excludes every other; a value advised against excludes only itself."""
    exact = ("exactly", *place, one.parts[-1])
    if one.direction == "avoid":
        return [Demand(exact, "avoid", f"advises against {words}")]
    return [Demand(exact, "do", f"asks for {words}"), Demand(place, one.parts[-1], f"wants {words}")]
