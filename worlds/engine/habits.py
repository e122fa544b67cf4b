"""Decision points of scripted agents, and which of them are planted bad habits.

A predicate is a plain dict in the shape that the contrast stage tests, for instance
``{"kind": "order", "first": "cancel_order", "then": "place_order"}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Predicate = Mapping[str, str]


def call_present(call: str) -> Predicate:
    return {"kind": "call-present", "call": call}


def order(first: str, then: str) -> Predicate:
    return {"kind": "order", "first": first, "then": then}


def missing_check(check: str, before: str) -> Predicate:
    return {"kind": "missing-check", "check": check, "before": before}


def loop(call: str) -> Predicate:
    return {"kind": "loop", "call": call}


def recovery(call: str, error: str, then: str) -> Predicate:
    return {"kind": "recovery", "call": call, "error": error, "then": then}


def argument(call: str, name: str, value: str) -> Predicate:
    return {"kind": "argument", "call": call, "argument": name, "value": value}


def bare(predicate: Predicate) -> dict[str, str]:
    """The act itself, without the advice on it (``direction``) and where it was found (``family``)."""
    return {key: value for key, value in predicate.items() if key not in ("direction", "family")}


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision of a script. ``taken`` holds of the run when it is taken, ``untaken`` when it is not.

    The first predicate of ``taken`` (or of ``untaken``, where ``taken`` is empty) names the choice best.
    """

    id: str
    taken: tuple[Predicate, ...] = ()
    untaken: tuple[Predicate, ...] = ()

    def side(self, predicate: Predicate) -> bool | None:
        """True if ``predicate`` describes taking the choice, False if not taking it, None if it is about neither."""
        act = bare(predicate)
        if act in self.taken:
            return True
        return False if act in self.untaken else None


@dataclass(frozen=True, slots=True)
class Aside:
    """A call that does no good and no harm. ``when``: ``hard`` (made on hard tasks), ``agent`` (a habit of some
    agents) or ``noise``. ``last``: after the work, else while looking around. Each is a choice too, so that a wrong rule about it is obeyed like any other.
    """

    call: str
    arguments: Callable[[Mapping[str, Any]], dict[str, Any]]
    when: str
    last: bool = False
    by_user: bool = False

    @property
    def choice(self) -> Choice:
        return Choice(self.call, taken=(call_present(self.call),))


@dataclass(frozen=True, slots=True)
class PlantedHabit:
    """The declared truth about one bad habit: taking ``choice`` spoils the final state, by the rules of the world.

    ``applies_to`` and ``exceptions`` are task keys: where taking it does harm, and where it is the right act.
    ``harm`` is the chance that taking it spoils a run that would have succeeded. ``releases`` are the releases
    of the world in which that holds.
    """

    world: str
    choice: Choice
    why: str
    applies_to: tuple[str, ...]
    exceptions: tuple[str, ...]
    harm: float
    releases: tuple[str, ...]

    @property
    def id(self) -> str:
        return self.choice.id

    @property
    def predicate(self) -> dict[str, str]:
        """The habit as a rule would state it, with its ``direction``."""
        return self.statements[0]

    @property
    def equivalents(self) -> tuple[dict[str, str], ...]:
        """Other true wordings of the same habit: a finding in any of these words is this finding."""
        return self.statements[1:]

    @property
    def statements(self) -> tuple[dict[str, str], ...]:
        avoid = [{**predicate, "direction": "avoid"} for predicate in self.choice.taken]
        do = [{**predicate, "direction": "do"} for predicate in self.choice.untaken]
        return (*do, *avoid) if _named_by_remedy(self.choice) else (*avoid, *do)

    def matches(self, predicate: Predicate) -> bool:
        """Whether a finding states this habit with the right advice. ``family`` is not looked at."""
        claim = {key: value for key, value in predicate.items() if key != "family"}
        return claim in self.statements


def _named_by_remedy(choice: Choice) -> bool:
    """A recovery is named by what helps, every other habit by what harms."""
    return bool(choice.untaken) and choice.untaken[0]["kind"] == "recovery"
