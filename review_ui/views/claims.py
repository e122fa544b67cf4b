"""What a claim says of a run, as a clause in the reader's language.

The night writes its clauses in English, with the same parts (``tasks/contrast/predicate.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from review_ui.words import N_, _
from tasks.contrast.predicate import (
    SHAPE_ABSENT,
    SHAPE_EMPTY,
    USER,
    Predicate,
    PredicateInvalid,
    from_canonical,
    shown_name,
    tool_of,
)

HAPPENED = {
    "call-present": N_("{0} was called"),
    "missing-check": N_("{1} was called without {0} before it"),
    "order": N_("{0} came before {1}"),
    "loop": N_("the same {0} call was made again and again"),
    "recovery": N_("after {0} failed with “{1}”, {2} was called"),
    "argument": N_("{0} was called with {1}"),
    "environment": N_("{0} was at version {1}"),
    "length": N_("more than {0} calls were made"),
}
OTHERS = {
    "missing-check": N_("the other runs that called {1}"),
    "order": N_("the other runs that called both {0} and {1}"),
    "recovery": N_("the other runs where {0} failed so"),
    "argument": N_("the other runs that called {0}"),
}
CALLS = {
    "call-present": (0,),
    "missing-check": (0, 1),
    "order": (0, 1),
    "loop": (0,),
    "recovery": (0, 2),
    "argument": (0,),
}
"""Which parts of a claim are calls."""


def claim_of(predicate: Mapping[str, Any]) -> Predicate | None:
    """The claim of a stored predicate; None if it is not in our terms."""
    try:
        return from_canonical(dict(predicate))
    except PredicateInvalid:
        return None


def happened(claim: Predicate | None) -> str:
    """What is true of a run where the claim holds: "`x` was called"."""
    return _("it was done") if claim is None else _(HAPPENED[claim.kind]).format(*_parts(claim))


def the_others(claim: Predicate | None) -> str:
    """The runs that it is compared with."""
    if claim is None or claim.kind not in OTHERS:
        return _("the others")
    return _(OTHERS[claim.kind]).format(*_parts(claim))


def _parts(claim: Predicate) -> list[str]:
    calls = CALLS.get(claim.kind, ())
    parts = [_call(part) if place in calls else part for place, part in enumerate(claim.parts)]
    if claim.kind == "argument":
        parts[1] = argument_words(claim.parts[1], claim.parts[2])
    elif claim.kind == "environment":
        parts[0] = shown_name(parts[0])
    return parts


def _call(call: str) -> str:
    name = f"`{shown_name(tool_of(call))}`"
    return _("the user's own {call}").format(call=name) if call.startswith(USER) else name


def argument_words(argument: str, value: str) -> str:
    """An argument with its value, or with what is true of it."""
    name = f"`{shown_name(argument)}`"
    if value == SHAPE_ABSENT:
        return _("no {argument}").format(argument=name)
    if value == SHAPE_EMPTY:
        return _("an empty {argument}").format(argument=name)
    if value.startswith("<"):
        shape = value.strip("<>")
        return _("{argument} written like {shape} (9 a digit, a or A a letter)").format(argument=name, shape=shape)
    return f"{name} = {value}"
