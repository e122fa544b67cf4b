"""The words that agents receive: when, and what to do in order. No figures, and nothing quoted but names and values.

One pair of functions a kind of predicate. ``mixed`` says that in some tasks successes do the opposite: the advice is
then to check whether the case applies, never to avoid or to insist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.contrast.predicate import (
    AGAIN,
    USER,
    Predicate,
    PredicateInvalid,
    argument_words,
    call_words,
    from_canonical,
)
from tasks.contrast.recoveries import is_everywhere

LONGEST_VALUE = 80
TOOLS, TEXT, MORE = "tools ", "tasks like ", " …"
"""How the label of a family starts that tools or a first text name, and how one ends that leaves some out."""
MOST_NAMES = 4
NO_ADVICE = "the length of a run follows from what was done in it: it is reported, and no advice"


def when_to_use(predicate: Mapping[str, Any], family_label: str) -> str:
    """The situation in which an agent should read the advice."""
    occasion = _occasion(from_canonical(dict(predicate)))
    if is_everywhere(predicate):
        return f"{occasion}."
    return f"{occasion}, {_place(family_label)}."


def _place(family_label: str) -> str:
    """Where a family is met, by what names it: tools offered, components of the environment, or a first text.

    Quoted, not set as code: code in a text is what the text is about, and by that rules of one place are told apart.
    """
    if family_label.startswith(TOOLS):
        return f"with the tools {_listed(family_label.removeprefix(TOOLS).split(', '))}"
    if family_label.startswith(TEXT):
        return f"in {_quoted(family_label)}"
    components = family_label.split(" + ")
    return f"where {_listed(components)} {'is' if len(components) == 1 else 'are'} used"


def _listed(names: Sequence[str]) -> str:
    """Names in a row; that there are more stays open."""
    plain = [_quoted(name.removesuffix(MORE)).replace("`", "'") for name in names[:MOST_NAMES]]
    *first, last = [f"“{name}”" for name in plain]
    if len(names) > MOST_NAMES or names[-1].endswith(MORE):
        return f"{', '.join([*first, last])} and others"
    return f"{', '.join(first)} and {last}" if first else last


def guidance(predicate: Mapping[str, Any], *, mixed: bool) -> list[str]:
    """Ordered steps, each a sentence."""
    return [line if line.endswith(".") else f"{line}." for line in _steps(predicate, mixed)]


def _steps(predicate: Mapping[str, Any], mixed: bool) -> list[str]:
    claim = from_canonical(dict(predicate))
    avoid = claim.direction == "avoid"
    if is_everywhere(predicate):
        return _again(claim)
    match claim.kind:
        case "call-present":
            return _call(call_words(claim.parts[0]), claim.parts[0].startswith(USER), avoid, mixed)
        case "missing-check":
            return _missing_check(call_words(claim.parts[0]), call_words(claim.parts[1]), avoid, mixed)
        case "order":
            one, two = (call_words(part) for part in claim.parts)
            return _order(two, one, mixed) if avoid else _order(one, two, mixed)
        case "loop":
            return _loop(call_words(claim.parts[0]), avoid)
        case "recovery":
            return _recovery(claim, avoid, mixed)
        case "argument":
            return _argument(claim, avoid, mixed)
        case "environment":
            return _environment(claim, avoid)
        case "length":
            raise PredicateInvalid(NO_ADVICE)


def title(predicate: Mapping[str, Any], *, mixed: bool) -> str:
    """One line for lists."""
    return guidance(predicate, mixed=mixed)[0].rstrip(".")


def _occasion(claim: Predicate) -> str:
    parts = [call_words(part) for part in claim.parts]
    match claim.kind:
        case "call-present":
            return f"Before calling {parts[0]}" if claim.direction == "avoid" else f"When {parts[0]} is at hand"
        case "missing-check":
            return f"Before calling {parts[1]}"
        case "order":
            return f"When both {parts[0]} and {parts[1]} are to be called"
        case "loop":
            return f"When a call of {parts[0]} did not give what was needed"
        case "recovery":
            return f"When {parts[0]} fails with “{_quoted(claim.parts[1])}”"
        case "argument":
            return f"When calling {parts[0]}"
        case "environment":
            return f"When {claim.parts[0]} is at version {_quoted(claim.parts[1])}"
        case "length":
            raise PredicateInvalid(NO_ADVICE)


def _call(call: str, by_user: bool, avoid: bool, mixed: bool) -> list[str]:
    act = f"have the user make the call {call}" if by_user else f"call {call}"
    if mixed and not avoid:
        return [
            f"Check whether the case calls for it, and if it does, {act}",
            "Read the record and the policy that decide it, and compare them with what was asked.",
            "If it does not apply, go on without it.",
        ]
    if mixed:
        return [
            f"Check that the case is eligible before you {act}; don't avoid it",
            "Read the record and the policy that decide it, and compare them with what was asked.",
            f"If it applies, {act}; if it does not, say so plainly and offer what is allowed.",
        ]
    if avoid:
        return [
            f"Do not {act} unless the task cannot be done otherwise",
            "Look first for a way that leaves things as they are, or ask what the user really needs.",
            "If it is plainly asked for and allowed, confirm its details and then go on.",
        ]
    return [
        f"Plan to {act} as part of the work",
        "Collect what it needs beforehand.",
        "Go on with what it returns; if it fails, read the error before anything else.",
    ]


def _missing_check(check: str, before: str, avoid: bool, mixed: bool) -> list[str]:
    if not avoid:
        return [
            f"{before} may be called without {check} first",
            f"Spend a call on {check} only where its answer would change what you do.",
        ]
    first = f"Call {check} before {before}"
    if mixed:
        return [
            f"{first} unless what it would tell is known already",
            f"Compare what {check} returns with what was asked.",
            f"Call {before} once it is settled that the case allows it.",
        ]
    return [first, f"Compare what {check} returns with what was asked.", f"Call {before} only if the two agree."]


def _order(one: str, two: str, mixed: bool) -> list[str]:
    steps = [f"Call {one} before {two}", f"Use what {one} returned when you call {two}."]
    if mixed:
        steps[0] = f"Check which comes first here: as a rule, {one} before {two}"
    return steps


def _loop(call: str, avoid: bool) -> list[str]:
    if avoid:
        return [
            f"Do not repeat the same call of {call}",
            "Read what it returned: an unchanged call gives an unchanged answer.",
            "Change the arguments, take another call, or say what is missing.",
        ]
    return [f"Repeat {call} if the first answer is not final", "Stop as soon as the answer no longer changes."]


def _recovery(claim: Predicate, avoid: bool, mixed: bool) -> list[str]:
    call, then = call_words(claim.parts[0]), call_words(claim.parts[2])
    if mixed:
        return [
            f"Check whether {then} helps before you turn to it after this error of {call}",
            "Read the error to the end and correct what it names.",
        ]
    if avoid:
        return [
            f"Do not turn to {then} after this error of {call}",
            f"Read the error to the end, correct what it names, and call {call} again.",
        ]
    return [f"Call {then} next", f"Use what it returns to correct the call of {call}.", f"Then call {call} again."]


def _again(claim: Predicate) -> list[str]:
    """What made a failing call work again: another act first, or the same call made otherwise."""
    call, then = call_words(claim.parts[0]), call_words(claim.parts[2])
    if claim.parts[2].startswith(AGAIN):
        first = f"Run {call} again as {then}"
    else:
        first = f"Run {then} first, then run {call} again"
    return [first, "If it fails with another message, go by that message: this speaks of the one above only."]


def _argument(claim: Predicate, avoid: bool, mixed: bool) -> list[str]:
    call, words = call_words(claim.parts[0]), argument_words(claim.parts[1], _quoted(claim.parts[2]))
    if mixed:
        return [
            f"Check whether {words} is right for this case before calling {call}",
            "Take the value from the record or from the user, never from habit.",
        ]
    if avoid:
        return [f"Do not call {call} with {words}", "Take the value from the record or from the user."]
    return [f"Call {call} with {words}", "If the record or the user says otherwise, follow them."]


def _environment(claim: Predicate, avoid: bool) -> list[str]:
    component, version = claim.parts[0], _quoted(claim.parts[1])
    if avoid:
        return [
            f"Expect {component} {version} to behave differently, and verify each result",
            "Prefer another version where there is a choice.",
        ]
    return [f"Prefer {component} at version {version} where there is a choice"]


def _quoted(text: str) -> str:
    """Names and values that came out of runs: one line, short, without quotation marks that could end the quotation."""
    line = " ".join(text.split()).replace("“", "'").replace("”", "'")
    return line if len(line) <= LONGEST_VALUE else f"{line[: LONGEST_VALUE - 1]}…"
