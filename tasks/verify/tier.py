"""The risk tier of advice: how many people must agree, and why.

High where the advice makes the agent do something that is hard to take back, or drop a check; to hold back, or to look
first, is standard. External trust behind it, or text there that reads as an order, makes anything high.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tasks.contrast.features import is_consequential
from tasks.contrast.predicate import Predicate, call_words, from_canonical

Tier = Literal["low", "standard", "high"]

_WORDS = {
    "deletion": (
        "delete deletes remove removes drop destroy erase purge wipe cancel terminate revoke rm truncate uninstall"
    ),
    "money": (
        "pay payment payments refund charge transfer purchase buy sell order invoice credit debit withdraw deposit "
        "checkout billing price fare compensation certificate"
    ),
    "permissions": (
        "grant permission permissions role roles access allow approve authorize authorise sudo chmod chown share "
        "invite admin policy"
    ),
    "credentials": "password passwords credential credentials secret secrets token tokens key keys login auth mfa",
    "external calls": (
        "send email mail post publish upload webhook http request notify sms message call tweet forward deploy push"
    ),
}
RISKS: Mapping[str, frozenset[str]] = {kind: frozenset(words.split()) for kind, words in _WORDS.items()}
"""What a call touches, by the words of its name."""

_EVERYDAY = frozenset({"call", "request", "order"})
"""Words that any advice on calls has in it."""


@dataclass(frozen=True)
class Tiered:
    """A tier and the reason that the reviewer reads."""

    tier: Tier
    why: str


def tier_of(predicate: Mapping[str, Any], *, external: bool, ordered: bool = False, said: Sequence[str] = ()) -> Tiered:
    """The tier of advice on this predicate.

    Whether the advice is only to check first (in some tasks successes do the opposite) lowers nothing: where the check
    says yes, the act is made all the same.

    Args:
        said: the advice, where it is in a model's own words, which may ask for more than the predicate says.
        external: some of its evidence is text from outside.
        ordered: the advice or a run behind it holds text that reads as an order to the agent, whoever is said to have
            written it.
    """
    if external:
        return Tiered("high", "some of its evidence is text from outside")
    if ordered:
        return Tiered("high", "text that reads as an order to the agent stands in it or in the runs behind it")
    claim = from_canonical(dict(predicate))
    if claim.kind == "missing-check" and claim.direction == "do":
        check, before = (call_words(part) for part in claim.parts)
        return Tiered("high", f"it drops the check {check} before {before}")
    risk = next(((call, kind) for call in _made(claim) if (kind := risk_of(call))), None)
    if risk:
        return Tiered("high", f"it has the agent call {call_words(risk[0])}, which touches {risk[1]}")
    worded = risk_said(said)
    if worded:
        return Tiered("high", f"a model worded it, and its words speak of “{worded[0]}”, which touches {worded[1]}")
    if claim.direction == "avoid":
        return Tiered("standard", "it has the agent hold back or look first, and do nothing more than before")
    return Tiered(
        "standard", "nothing that it has the agent do touches permissions, deletion, money, credentials or others"
    )


def risk_of(call: str) -> str | None:
    """What a call touches, told by the words of its name; None where it only reads."""
    if not is_consequential(call):
        return None
    words = set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", call).casefold()))
    return next((kind for kind, listed in RISKS.items() if words & listed), None)


def risk_said(lines: Sequence[str]) -> tuple[str, str] | None:
    """A word of some sentences that speaks of a risk, and of which; on the safe side, as prose has many meanings."""
    words = re.findall(r"[a-z]+", " ".join(lines).casefold())
    return next(((word, kind) for word in words for kind in RISKS if word in RISKS[kind] - _EVERYDAY), None)


def _made(claim: Predicate) -> tuple[str, ...]:
    """Calls that following the advice adds to a run."""
    match claim.kind:
        case "call-present" | "loop":
            return claim.parts if claim.direction == "do" else ()
        case "missing-check":
            return claim.parts[:1]
        case "recovery":
            return claim.parts[2:] if claim.direction == "do" else ()
        case "argument":
            return claim.parts[:1] if claim.direction == "do" else ()
        case _:
            return ()
