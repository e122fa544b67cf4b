"""Support tasks: instances with a small database each, and checkers of the final state."""

from __future__ import annotations

import random
from typing import Any

from worlds.engine.state import State, unchanged
from worlds.engine.wording import PEOPLE, Voice, number
from worlds.engine.world import Spec, Task, Verdict, verdict

OWN_CONFIG = 0.92
"""How often a line has a configuration of its own that a reset would wipe."""
HANGS = 0.65
"""How often a modem hangs in its update, in the tasks where that is the complaint."""
LOCKED = 0.96
"""How often a settlement has locked the invoice."""
LONG_LOCK = 0.95
"""How often the lock outlasts three tries."""
WANTS_WORD = 0.88
"""How often a customer wants to be asked before their ticket is closed."""


def build(spec: Spec, rng: random.Random, voice: Voice) -> Task:
    """An instance of any kind of support task."""
    person = rng.choice(PEOPLE)
    facts: dict[str, Any] = {
        "name": person.name, "email": person.email, "line": number(rng, "BL-"), "ticket": number(rng, "#T"),
        "invoice": number(rng, "INV-"), "amount": rng.randint(3, 60) * 100 + 90,
        "phone": f"+00 555 {rng.randint(1000, 9999)}", "topic": spec.details["topic"],
    }  # fmt: skip
    facts["euros"] = f"{facts['amount'] / 100:.2f}"
    state = _database(rng, facts, bool(spec.details.get("firmware")))
    other = next(line for line in state["lines"] if line != facts["line"])
    goal = {**facts, "other": other, "charge": f"{facts['invoice']}/1", "other_charge": f"{facts['invoice']}/2"}
    text = voice.speak(rng, person, rng.choice(spec.requests).format(**facts))
    return Task("support", spec.key, spec.kind, spec.difficulty, text, facts, goal, state)


def check_outage(task: Task, final: State) -> Verdict:
    goal = task.goal
    before, after = task.state["lines"][goal["line"]], final["lines"][goal["line"]]
    return verdict(
        (not unchanged(task.state, final, "lines", goal["other"]), "another line was touched"),
        (after["status"] != "up", "the line is still down"),
        (after["config"] != before["config"], "the customer's configuration is gone"),
    )


def check_billing(task: Task, final: State) -> Verdict:
    goal = task.goal
    return verdict(
        (not unchanged(task.state, final, "charges", goal["other_charge"]), "another charge was refunded"),
        (final["charges"][goal["charge"]]["refunded"] != goal["amount"], "the charge was not refunded"),
        _ticket_not_closed(task, final),
    )


def check_contact(task: Task, final: State) -> Verdict:
    goal = task.goal
    return verdict(
        (not unchanged(task.state, final, "lines", goal["other"]), "another line was changed"),
        (final["lines"][goal["line"]]["contact"] != goal["phone"], "the number is not on the line"),
    )


def _ticket_not_closed(task: Task, final: State) -> tuple[bool, str]:
    status = final["tickets"][task.goal["ticket"]]["status"]
    return status != "closed", f"the ticket is {status}"


def _database(rng: random.Random, facts: dict[str, Any], firmware_task: bool) -> State:
    own = not firmware_task and rng.random() < OWN_CONFIG
    hangs = firmware_task and rng.random() < HANGS
    line = {"customer": "C1", "status": "down", "firmware": "hangs" if hangs else "ok", "contact": "+00 555 0000"}
    config = "static address, port 443 forwarded" if own else "default"
    charge = {"invoice": facts["invoice"], "refunded": 0, "amount": facts["amount"]}
    tries = 9 if rng.random() < LONG_LOCK else 2
    return {
        "customers": {"C1": {"name": facts["name"], "email": facts["email"]}},
        "lines": {facts["line"]: {**line, "config": config}, number(rng, "BX-"): {**line, "config": config}},
        "invoices": {
            facts["invoice"]: {"total": facts["amount"] + 3990, "locked": rng.random() < LOCKED, "lock_tries": tries}
        },
        "charges": {
            f"{facts['invoice']}/1": {**charge, "label": facts["topic"]},
            f"{facts['invoice']}/2": {**charge, "label": "monthly fee"},
        },
        "tickets": {
            facts["ticket"]: {"status": "open", "confirmed": False, "wants_word": rng.random() < WANTS_WORD}
        },
        "handoffs": {},
    }  # fmt: skip
