"""Shopping tasks: instances with a small database each, and checkers of the final state."""

from __future__ import annotations

import random
from typing import Any

from worlds.engine.state import Row, State, unchanged
from worlds.engine.wording import PEOPLE, Voice, number
from worlds.engine.world import Spec, Task, Verdict, verdict
from worlds.shopping.tools import SHIPPING

VARIANTS = ("black", "navy", "olive", "sand", "rust", "plum", "teal", "ivory", "slate", "amber")
OUT_OF_STOCK = 0.9
"""How often the wished variant of an exchange is gone."""
TIGHT_BUDGET = {"buy": 0.92, "replace": 0.45}
"""How often the budget has no room for express shipping, by kind of task."""
LAST_PIECE = 0.92
"""How often the new variant of a replacement is a piece put aside for this customer."""
TOMORROW = 0.65
"""How often a gift that has to be there tomorrow would be late by standard shipping."""


def build(spec: Spec, rng: random.Random, voice: Voice) -> Task:
    """An instance of any kind; what the kind does not need is there all the same, as in a real shop."""
    person = rng.choice(PEOPLE)
    product = spec.details["product"]
    old, wish, fallback, neighbour = rng.sample(VARIANTS, 4)
    price = rng.randint(18, 90)
    urgent = bool(spec.details.get("urgent"))
    late = urgent and rng.random() < TOMORROW
    tight = not urgent and rng.random() < TIGHT_BUDGET.get(spec.kind, 0.0)
    facts: dict[str, Any] = {
        "name": person.name, "email": person.email, "order": number(rng, "L"), "product": product,
        "old": old, "wish": wish, "fallback": fallback, "neighbour": neighbour,
        "budget": price + (rng.randint(5, 15) if tight else rng.randint(20, 40)),
    }  # fmt: skip
    state = _database(rng, facts, price, spec.kind)
    goal = {**facts, "item": f"{facts['order']}-1", "other": f"{facts['order']}-2", "customer": "C1", "late": late}
    goal["variant"] = wish if state["stock"][f"{product}/{wish}"]["left"] else fallback
    request = rng.choice(spec.requests).format(**facts)
    text = voice.speak(rng, person, request)
    return Task("shopping", spec.key, spec.kind, spec.difficulty, text, facts, goal, state)


def check_exchange(task: Task, final: State) -> Verdict:
    goal, item = task.goal, final["items"][task.goal["item"]]
    return verdict(
        (not unchanged(task.state, final, "items", goal["other"]), "another item was changed"),
        (item["status"] == "back_ordered", "the item is on back-order"),
        (item["status"] != "exchanged", "the item was not exchanged"),
        (item["variant"] != goal["variant"], "exchanged for the wrong variant"),
    )


def check_buy(task: Task, final: State) -> Verdict:
    return _check_new_order(task, final)


def check_replace(task: Task, final: State) -> Verdict:
    if final["orders"][task.goal["order"]]["status"] != "cancelled":
        return Verdict(False, "the old order still stands")
    return _check_new_order(task, final)


def check_return(task: Task, final: State) -> Verdict:
    goal = task.goal
    return verdict(
        (not unchanged(task.state, final, "items", goal["other"]), "another item was sent back"),
        (final["items"][goal["item"]]["status"] != "return_requested", "no return was registered"),
    )


def _check_new_order(task: Task, final: State) -> Verdict:
    goal = task.goal
    new = {key: row for key, row in final["orders"].items() if key not in task.state["orders"]}
    if len(new) != 1:
        return Verdict(False, f"{len(new)} new orders instead of one")
    ((order_id, order),) = new.items()
    item = final["items"][f"{order_id}-1"]
    return verdict(
        ((item["product"], item["variant"]) != (goal["product"], goal["wish"]), "the wrong thing was ordered"),
        (order["total"] > goal["budget"], "over the customer's budget"),
        (goal["late"] and order["shipping"] != "express", "it arrives too late"),
    )


def _database(rng: random.Random, facts: dict[str, Any], price: int, kind: str) -> State:
    product, order = facts["product"], facts["order"]
    delivered = "delivered" if kind in ("exchange", "return") else "placed"
    stock: dict[str, Row] = {f"{product}/{v}": {"left": rng.randint(2, 30), "price": price} for v in VARIANTS}
    wish = stock[f"{product}/{facts['wish']}"]
    if kind == "exchange" and rng.random() < OUT_OF_STOCK:
        wish["left"] = 0
    if kind == "replace" and rng.random() < LAST_PIECE:
        wish.update(left=1, aside_for="C1")
    other, bought = number(rng, "L"), {"customer": "C1", "shipping": "standard"}
    return {
        "customers": {"C1": {"name": facts["name"], "email": facts["email"]}},
        "orders": {
            order: {**bought, "status": delivered, "total": price + SHIPPING["standard"]},
            other: {**bought, "status": "shipped", "total": rng.randint(10, 200)},
        },
        "items": {
            f"{order}-1": {"order": order, "product": product, "variant": facts["old"], "status": delivered},
            f"{order}-2": {"order": order, "product": "gift card sleeve", "variant": "sand", "status": delivered},
        },
        "stock": stock | {f"gift card sleeve/{v}": {"left": 9, "price": 3} for v in (facts["wish"], facts["fallback"])},
        "notes": {},
        "handoffs": {},
    }  # fmt: skip
