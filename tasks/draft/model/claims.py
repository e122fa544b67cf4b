"""A model's claim as predicates of the contrast, and what tonight's contrast says of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.contrast.predicate import Predicate, PredicateInvalid, from_canonical, happened_words
from tasks.draft.model.answer import Claimed


@dataclass(frozen=True)
class Concluded:
    """One conclusion of tonight's contrast, as it is stored."""

    id: str
    predicate: Mapping[str, Any]
    verdict: str
    statement: str
    statistics: Mapping[str, Any]
    next_step: str | None = None


def predicates_of(claimed: Claimed) -> list[Predicate]:
    """The predicates that say what was claimed, the plainest reading first.

    "First this, then that" is a missing check where the first only looks, and an order in any case.
    """
    if claimed.required:
        return [Predicate("call-present", (claimed.required[0],), "do")]
    if claimed.forbidden:
        return [Predicate("call-present", (claimed.forbidden[0],), "avoid")]
    first, then = claimed.ordered[0]
    return [Predicate("missing-check", (first, then), "avoid"), order(first, then)]


def order(first: str, then: str) -> Predicate:
    """That ``first`` comes before ``then``. The contrast knows each pair in one order only: that of the alphabet."""
    if first <= then:
        return Predicate("order", (first, then), "do")
    return Predicate("order", (then, first), "avoid")


def calls_of(claimed: Claimed) -> list[str]:
    """The calls a claim speaks of."""
    return [*claimed.required, *claimed.forbidden, *(call for pair in claimed.ordered for call in pair)]


def words(claimed: Claimed) -> str:
    """A claim in plain words."""
    if claimed.ordered:
        first, then = claimed.ordered[0]
        return f"runs should call `{first}` before `{then}`"
    if claimed.required:
        return f"runs should call `{claimed.required[0]}`"
    return f"runs should not call `{claimed.forbidden[0]}`"


def confirmed_by(claims: Sequence[Predicate], concluded: Iterable[Concluded]) -> Concluded | None:
    """The confirmed finding that makes this claim: by its own predicate, or as another wording of it.

    Another wording counts only if it speaks of a call that the finding speaks of too: what merely goes along with a
    finding is not what was confirmed.
    """
    confirmed = [(one, own) for one in concluded if one.verdict == "confirmed" if (own := _read(one.predicate))]
    for claim in claims:
        for one, own in confirmed:
            if own == claim:
                return one
    for claim in claims:
        for one, own in confirmed:
            if set(own.calls) & set(claim.calls) and claim in _also(one):
                return one
    return None


def judged(claims: Sequence[Predicate], concluded: Iterable[Concluded]) -> Concluded | None:
    """What the contrast said of the claim where it did not confirm it, either direction; None if it said nothing."""
    listed = [(one, own) for one in concluded if (own := _read(one.predicate))]
    for claim in claims:
        for one, own in listed:
            if own.undirected() == claim.undirected():
                return one
    return None


def next_step(claims: Sequence[Predicate], said: Concluded | None, tasks: int, compared: int = 0) -> str:
    """What would have to be seen before the claim could become a rule.

    Args:
        tasks: how many tasks a confirmation takes.
        compared: tasks in which runs could be compared, where nothing was concluded.
    """
    happened = happened_words(claims[0])
    if said is None and compared:
        seen = "1 task" if compared == 1 else f"{compared} tasks"
        return f"needs runs that speak for it: compared within {seen}, those in which {happened} ended no differently"
    if said is None:
        return (
            f"needs runs of one and the same task in which {happened}, and others in which not, with both outcomes, on "
            f"at least {tasks} tasks"
        )
    directed = _read(said.predicate)
    if directed is not None and directed.direction != claims[0].direction and directed.kind == claims[0].kind:
        return f"needs a look at why recorded runs say the opposite: {said.statement}"
    if said.next_step:
        return said.next_step
    reasons = {
        "confounded": "needs runs of one and the same task that differ in it: between tasks alone it says nothing",
        "agent-confounded": "needs runs of one and the same agent that differ in it",
    }
    return reasons.get(said.verdict, f"needs further runs on at least {tasks} tasks before it is tested again")


def _also(one: Concluded) -> list[Predicate]:
    return [own for other in one.statistics.get("also_worded") or [] if (own := _read(other))]


def _read(stored: Mapping[str, Any]) -> Predicate | None:
    try:
        return from_canonical(dict(stored))
    except PredicateInvalid:
        return None
