"""Travel tasks: instances with a small database each, and checkers of the final state."""

from __future__ import annotations

import random
from typing import Any

from worlds.engine.state import State, unchanged
from worlds.engine.wording import PEOPLE, Voice, number
from worlds.engine.world import Spec, Task, Verdict, verdict

ROUTES = ("LIS-OSL", "VIE-DUB", "HEL-ATH", "WAW-BCN", "ZRH-EDI", "CPH-NAP")
DAYS = ("3 March", "11 March", "19 March", "2 April", "16 April", "28 April")
NO_REFUND = 0.92
"""How often a fare to be cancelled gives nothing back."""
TAKES_CREDIT = 0.35
"""How often a traveller whose flight was cancelled by the airline is content with credit."""
DRIFTING = {"book": 0.94, "change": 0.6}
"""How often repeated searches close the cheap fare class, by kind of task."""
BAG_LOST = 0.92
"""How often a bag does not follow a changed ticket."""


def build(spec: Spec, rng: random.Random, voice: Voice) -> Task:
    """An instance of any kind of travel task."""
    person = rng.choice(PEOPLE)
    disrupted = bool(spec.details.get("disrupted"))
    light = disrupted or rng.random() < NO_REFUND
    price = rng.randint(60, 240)
    flight, other_flight = f"AE{rng.randint(100, 499)}", f"AE{rng.randint(500, 899)}"
    facts: dict[str, Any] = {
        "name": person.name, "email": person.email, "code": _code(rng), "route": rng.choice(ROUTES),
        "day": rng.choice(DAYS), "budget": price + rng.randint(5, 30), "flight": flight, "other_flight": other_flight,
    }  # fmt: skip
    state = _database(rng, facts, price, "Light" if light else "Flex", spec)
    goal = {**facts, "other": next(code for code in state["reservations"] if code != facts["code"])}
    goal |= {"cash": not light or disrupted, "credit_is_fine": disrupted and rng.random() < TAKES_CREDIT}
    text = voice.speak(rng, person, rng.choice(spec.requests).format(**facts))
    return Task("travel", spec.key, spec.kind, spec.difficulty, text, facts, goal, state)


def check_cancel(task: Task, final: State) -> Verdict:
    goal, row = task.goal, final["reservations"][task.goal["code"]]
    return verdict(
        _other_touched(task, final),
        (row["status"] != "cancelled", "the reservation still stands"),
        (row["refund"] + row["credit"] < row["paid"], "the traveller's money is lost"),
        (goal["cash"] and not row["refund"] and not goal["credit_is_fine"], "owed money, and got credit"),
    )


def check_change(task: Task, final: State) -> Verdict:
    row = final["reservations"][task.goal["code"]]
    return verdict(
        _other_touched(task, final),
        (row["flight"] != task.goal["flight"], "not on the right flight"),
        (row["paid"] > task.goal["budget"], "over the traveller's budget"),
        (row["bags"] < 1, "the bag is not on the ticket"),
    )


def check_book(task: Task, final: State) -> Verdict:
    new = [row for key, row in final["reservations"].items() if key not in task.state["reservations"]]
    if len(new) != 1:
        return Verdict(False, f"{len(new)} new reservations instead of one")
    return verdict(
        (new[0]["flight"] != task.goal["flight"], "booked on the wrong flight"),
        (new[0]["paid"] > task.goal["budget"], "over the traveller's budget"),
    )


def check_rename(task: Task, final: State) -> Verdict:
    wrong = final["reservations"][task.goal["code"]]["passenger"] != task.goal["name"]
    return verdict(_other_touched(task, final), (wrong, "the name is still wrong"))


def _other_touched(task: Task, final: State) -> tuple[bool, str]:
    touched = not unchanged(task.state, final, "reservations", task.goal["other"])
    return touched, "another reservation was changed"


def _code(rng: random.Random) -> str:
    return "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=6))


def _database(rng: random.Random, facts: dict[str, Any], price: int, fare: str, spec: Spec) -> State:
    drifts = rng.random() < DRIFTING.get(spec.kind, 0.0)
    disrupted = bool(spec.details.get("disrupted"))
    bags_follow = rng.random() >= BAG_LOST
    base = {"traveller": "T1", "fare": fare, "status": "open", "refund": 0, "credit": 0, "bags": 0}
    flight = {"route": facts["route"], "day": facts["day"], "searches": 0, "drifts": drifts}
    old = number(rng, "AE", 900, 999)
    return {
        "travellers": {"T1": {"name": facts["name"], "email": facts["email"]}},
        "reservations": {
            facts["code"]: {
                **base, "passenger": facts["name"].split()[0], "flight": old, "paid": rng.randint(60, 300),
                "airline_cancelled": disrupted,
            },
            _code(rng): {
                **base, "passenger": facts["name"], "flight": old, "paid": rng.randint(60, 300),
                "airline_cancelled": False,
            },
        },
        "fares": {
            "Light": {"refundable": False, "bags_follow": bags_follow, "note": "Exceptions: disruption by Aerona."},
            "Flex": {"refundable": True, "bags_follow": bags_follow, "note": ""},
        },
        "flights": {
            facts["flight"]: {**flight, "price": price},
            facts["other_flight"]: {**flight, "price": price + rng.randint(60, 120)},
        },
        "handoffs": {},
    }  # fmt: skip
