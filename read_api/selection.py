"""Which rules an answer holds, and what was withheld and why. Pure: time is an argument."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tasks.conflict.scopes import parse_range

FLOOR = 0.1
"""Beyond a handful of rules, what scores under this part of the best is noise."""
MAX_WITHHELD = 20
HOLDOUT = "holdout"


@dataclass(frozen=True)
class Option:
    """A rule that could be served."""

    id: str
    version: int
    scope: Mapping[str, Any]
    tokens: int
    tier: str = "standard"


@dataclass(frozen=True)
class Asker:
    """What a search says of itself. ``holdout`` is the part of its sessions that a rule is withheld from at random.

    ``session`` is None where the search names none: then nothing is held out.
    """

    environment: Mapping[str, str]
    agent: str | None
    k: int
    token_budget: int | None
    now: datetime
    session: str | None = None
    holdout: float = 0.0


@dataclass(frozen=True)
class Choice:
    """Positions of the options to serve, best first; what was withheld, as (position, reason).

    ``found`` says whether anything in scope shares a word with the task.
    """

    served: list[int]
    withheld: list[tuple[int, str]]
    found: bool


def choose(options: Sequence[Option], scores: Sequence[float], asker: Asker) -> Choice:
    """Scope and holdout first, then rank, then budget. With at most ``k`` rules left, all are served, ranked."""
    order = sorted(range(len(options)), key=lambda at: (-scores[at], options[at].id))
    inside: list[int] = []
    withheld: list[tuple[int, str]] = []
    for at in order:
        reason = out_of_scope(options[at].scope, asker) or held_out(options[at], asker)
        if not reason:
            inside.append(at)
        elif scores[at] > 0:
            withheld.append((at, reason))
    best = scores[inside[0]] if inside else 0.0
    if len(inside) > asker.k:
        inside = [at for at in inside if scores[at] > FLOOR * best][: asker.k]
    served, too_much = within_budget(inside, options, asker.token_budget)
    found = best > 0 or any(reason == HOLDOUT for _, reason in withheld)
    return Choice(served, (too_much + withheld)[:MAX_WITHHELD], found)


def held_out(option: Option, asker: Asker) -> str:
    """``holdout`` where the rule is withheld from this session so that it can be compared; empty where it is not.

    A hash of session and rule decides, so a session gets the same answer all along, and each rule its own draw. What
    touches money, deletion, permissions or credentials is never withheld.
    """
    if asker.session is None or asker.holdout <= 0 or option.tier == "high":
        return ""
    drawn = hashlib.sha256(f"holdout\x00{asker.session}\x00{option.id}".encode("utf-8", "surrogatepass")).digest()
    return HOLDOUT if int.from_bytes(drawn[:8], "big") < asker.holdout * 2**64 else ""


def out_of_scope(scope: Mapping[str, Any], asker: Asker) -> str:
    """Why a rule's scope leaves this search out; empty if it does not.

    A component that the search does not name is taken as fitting; one that it names must be in the verified range.
    """
    agents = scope.get("agents") or ()
    if agents and asker.agent not in agents:
        return f"agent: verified for {', '.join(map(str, agents))} only"
    for at, begins in ((scope.get("valid_from"), True), (scope.get("valid_to"), False)):
        instant = _instant(at)
        if instant is not None and (asker.now < instant if begins else asker.now >= instant):
            return f"time: valid {'from' if begins else 'until'} {at}"
    for component, verified in (scope.get("environment") or {}).items():
        given = asker.environment.get(component)
        if given is not None and not in_range(given, str(verified)):
            return f"environment: verified for {component} {verified}, not {given}"
    return ""


def in_range(version: str, verified: str) -> bool:
    """Whether a version lies in ``*``, an exact version, or bounds such as ``>=3.1,<=3.4``."""
    return version == verified or parse_range(verified).overlaps(parse_range(version))


def within_budget(
    ranked: Sequence[int], options: Sequence[Option], budget: int | None
) -> tuple[list[int], list[tuple[int, str]]]:
    """The ranked options that fit, and those that do not. A shorter one further down may still fit."""
    served: list[int] = []
    left_out: list[tuple[int, str]] = []
    room = math.inf if budget is None else budget
    for at in ranked:
        need = options[at].tokens
        if need <= room:
            served.append(at)
            room -= need
        else:
            left_out.append((at, f"token budget: needs about {need} tokens, {int(room)} are left of {budget}"))
    return served, left_out


def estimate_tokens(text: str) -> int:
    """Tokens of a text by rule of thumb, rather too many: one for four characters, one each beyond Latin scripts."""
    wide = sum(1 for char in text if ord(char) > 0x2E7F)
    return wide + math.ceil((len(text) - wide) / 4) + 4


def _instant(value: Any) -> datetime | None:
    if not value:
        return None
    at = datetime.fromisoformat(str(value))
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at
