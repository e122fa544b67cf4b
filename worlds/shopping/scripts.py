"""How the scripted agents go about each kind of shopping task, seeing only the facts and the tools' answers."""

from __future__ import annotations

from worlds.engine.desk import Desk
from worlds.engine.mind import Mind
from worlds.engine.world import Facts


def exchange(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Find the customer and the order, then exchange the item for the variant they want.")
    items = _items_of_order(desk, facts)
    mind.look_around(facts)
    variant = facts["wish"]
    if not mind.takes("exchange-unchecked"):
        stock = desk.call("check_stock", product=facts["product"], variants=[variant, facts["fallback"]])
        variant = variant if stock[variant] else facts["fallback"]
    item = mind.slip(items[0], items[1])
    reply = desk.call("exchange_item", item_id=item, variant=variant)
    if reply.error == "out_of_stock":
        desk.call("exchange_item", item_id=item, variant=facts["fallback"])


def buy(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Find the customer and the product, then place the order.")
    customer = desk.call("find_customer", email=facts["email"])
    desk.call("search_products", query=facts["product"])
    mind.look_around(facts)
    _order(desk, mind, facts, customer["customer_id"])


def replace(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("The customer wants another variant of something not sent yet: cancel the order and place a new one.")
    customer = desk.call("find_customer", email=facts["email"])
    desk.call("get_order", order_id=facts["order"])
    mind.look_around(facts)
    if mind.takes("cancel-first"):
        desk.call("cancel_order", order_id=facts["order"])
        _order(desk, mind, facts, customer["customer_id"])
    else:
        _order(desk, mind, facts, customer["customer_id"])
        desk.call("cancel_order", order_id=facts["order"])


def give_back(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Find the order and register the return.")
    items = _items_of_order(desk, facts)
    mind.look_around(facts)
    desk.call("return_item", item_id=mind.slip(items[0], items[1]))


def _items_of_order(desk: Desk, facts: Facts) -> tuple[str, str]:
    """The item the customer means, and its neighbour in the same parcel."""
    desk.call("find_customer", email=facts["email"])
    order = desk.call("get_order", order_id=facts["order"])
    ids = [item["item_id"] for item in order["items"]]
    meant = next(item["item_id"] for item in order["items"] if item["product"] == facts["product"])
    return meant, next(other for other in ids if other != meant)


def _order(desk: Desk, mind: Mind, facts: Facts, customer_id: str) -> None:
    shipping = "express" if mind.takes("express-shipping") else "standard"
    variant = mind.slip(facts["wish"], facts["neighbour"])
    desk.call("place_order", customer_id=customer_id, product=facts["product"], variant=variant, shipping=shipping)
