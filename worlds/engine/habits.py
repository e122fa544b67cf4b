"""Decision points of scripted agents, and which of them are planted bad habits.

A predicate is a plain dict in the shape that the contrast stage tests, for instance
``{"kind": "order", "first": "cancel_order", "then": "place_order"}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Predicate = Mapping[str, str]


ABSENT = "<absent>"
"""Value of an argument that was left out."""
SECOND = 0.7
"""Frequency of a habit in tasks that another habit spoils already: both stay visible."""


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


def environment(component: str, version: str) -> Predicate:
    return {"kind": "environment", "component": component, "version": version}


def same_act(claim: Predicate, known: Predicate) -> bool:
    """Whether a claim speaks of a known act; its ``direction`` and ``family`` are not looked at.

    Leaves room for how a claim was read off a trace: a value as JSON text, an error as the message around its code.
    """
    if any(key not in claim for key in known):
        return False
    return all(_same_part(key, str(claim[key]), value) for key, value in known.items())


def _same_part(key: str, claimed: str, known: str) -> bool:
    if key == "error":
        return known in claimed
    return claimed.strip('"') == known if key == "value" else claimed == known


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
        if any(same_act(predicate, known) for known in self.taken):
            return True
        return False if any(same_act(predicate, known) for known in self.untaken) else None


@dataclass(frozen=True, slots=True)
class Aside:
    """A call that does no good and no harm. Each is a choice too, so a wrong rule about it is obeyed like any other.

    ``when``: ``hard`` (made on hard tasks), ``agent`` (a habit of some agents) or ``noise``.
    ``last``: made after the work, else while looking around.
    """

    call: str
    arguments: Callable[[Mapping[str, Any]], dict[str, Any]]
    when: str
    last: bool = False
    by_user: bool = False

    @property
    def choice(self) -> Choice:
        name = f"user:{self.call}" if self.by_user else self.call
        return Choice(self.call, taken=(call_present(name),))


@dataclass(frozen=True, slots=True)
class PlantedHabit:
    """The declared truth about one bad habit: taking ``choice`` spoils the final state, by the rules of the world.

    ``applies_to`` and ``exceptions`` are task keys: where taking it does harm, and where it is the right act.
    ``harm`` is the least chance that taking it spoils a run that would have succeeded. ``releases`` are the releases
    of the world in which that holds. ``frequency`` scales how often agents fall into it. ``telltales`` are further
    calls that are made only when it is taken; they do no harm themselves. ``echoes`` are other claims that are true
    because of it, such as that a release which forgives it does better.
    """

    world: str
    choice: Choice
    why: str
    applies_to: tuple[str, ...]
    exceptions: tuple[str, ...]
    harm: float
    releases: tuple[str, ...]
    frequency: float = 1.0
    telltales: tuple[str, ...] = ()
    echoes: tuple[Predicate, ...] = ()

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
        side = self.choice.side(predicate)
        return side is not None and predicate.get("direction") == ("avoid" if side else "do")

    def restates(self, predicate: Predicate) -> bool:
        """Whether a finding is this habit in roundabout words: it turns on a call that only the habit decides on.

        "``get_order`` before ``check_stock``: do" turns on ``check_stock`` being there. Graders that count findings
        call such a one redundant, not false.
        """
        if self.matches(predicate) or self._echoed(predicate):
            return True
        wanted = predicate.get("direction") == "do"
        return any(
            shown is not None and (shown == wanted) != harmful
            for call, harmful in self._telltales().items()
            if (shown := _shows(predicate, call)) is not None
        )

    def _echoed(self, predicate: Predicate) -> bool:
        direction = predicate.get("direction")
        return any(echo["direction"] == direction and same_act(predicate, _bare(echo)) for echo in self.echoes)

    def _telltales(self) -> dict[str, bool]:
        """Calls that are made only when the choice is taken (True), or only when it is not (False)."""
        sides = ((True, self.choice.taken), (False, self.choice.untaken))
        named = {p["call"]: side for side, group in sides for p in group if p["kind"] == "call-present"}
        return named | dict.fromkeys(self.telltales, True)


def _bare(claim: Predicate) -> Predicate:
    return {key: value for key, value in claim.items() if key != "direction"}


def _shows(predicate: Predicate, call: str) -> bool | None:
    """Whether the predicate says that ``call`` is made (True) or left out (False); None if it is not about it."""
    if predicate["kind"] == "missing-check" and predicate["check"] == call:
        return False
    made = {key: value for key, value in predicate.items() if key in ("call", "first", "then", "before")}
    return True if call in made.values() else None


def _named_by_remedy(choice: Choice) -> bool:
    """A recovery is named by what helps, every other habit by what harms."""
    return bool(choice.untaken) and choice.untaken[0]["kind"] == "recovery"
