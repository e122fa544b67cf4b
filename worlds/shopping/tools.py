"""The shop's back office.

Tables: ``customers``, ``orders``, ``items`` (one row an ordered item), ``stock`` (``product/variant`` -> ``left``,
``price``), ``handoffs``. Prices in whole euros.
"""

from __future__ import annotations

from typing import Any

from worlds.engine.state import Row, State
from worlds.engine.tool import Tool, find, hand_off, require, tools

SHIPPING = {"standard": 4, "express": 19}
STRICT_STOCK = "5.0"
"""From this release on, an exchange or order without stock is refused; before, it is taken as a back-order."""


def find_customer(state: State, release: str, *, email: str) -> dict[str, Any]:
    for customer_id, customer in state["customers"].items():
        if customer["email"] == email:
            orders = [key for key, order in state["orders"].items() if order["customer"] == customer_id]
            return {"customer_id": customer_id, "name": customer["name"], "orders": orders}
    return find(state, "customers", email, "customer")


def get_order(state: State, release: str, *, order_id: str) -> dict[str, Any]:
    order = find(state, "orders", order_id, "order")
    lines = [{"item_id": key, **item} for key, item in state["items"].items() if item["order"] == order_id]
    return {"order_id": order_id, "status": order["status"], "items": lines}


def search_products(state: State, release: str, *, query: str) -> dict[str, Any]:
    """Listings show price, and not stock: as in most shops, that is another system."""
    hits = [(key, row) for key, row in state["stock"].items() if key.startswith(query)]
    require(bool(hits), "no_results", f"Nothing found for {query!r}. Try the product's name.")
    return {"products": [{"variant": key.split("/")[1], "price": row["price"]} for key, row in hits]}


def check_stock(state: State, release: str, *, product: str, variants: list[str]) -> dict[str, Any]:
    return {variant: _stock(state, product, variant)["left"] for variant in variants}


def exchange_item(state: State, release: str, *, item_id: str, variant: str) -> dict[str, Any]:
    item = find(state, "items", item_id, "item")
    require(item["status"] == "delivered", "not_exchangeable", f"Item {item_id} is {item['status']}, not delivered.")
    status = _take(state, release, item["product"], variant, "exchanged")
    item.update(variant=variant, status=status)
    return {"item_id": item_id, "variant": variant, "accepted": True}


def place_order(
    state: State, release: str, *, customer_id: str, product: str, variant: str, shipping: str
) -> dict[str, Any]:
    require(shipping in SHIPPING, "invalid_argument", f"shipping must be one of {', '.join(SHIPPING)}.")
    require(_stock(state, product, variant)["left"] > 0, "out_of_stock", f"{product} {variant} is not available.")
    _take(state, release, product, variant, "placed")
    order_id = f"L{90_000 + len(state['orders'])}"
    total = _stock(state, product, variant)["price"] + SHIPPING[shipping]
    state["orders"][order_id] = {"customer": customer_id, "status": "placed", "shipping": shipping, "total": total}
    state["items"][f"{order_id}-1"] = {"order": order_id, "product": product, "variant": variant, "status": "placed"}
    return {"order_id": order_id, "total": total}


def cancel_order(state: State, release: str, *, order_id: str) -> dict[str, Any]:
    """Cancelling closes the basket: pieces put aside for this customer go to the waiting list."""
    order = find(state, "orders", order_id, "order")
    require(order["status"] == "placed", "not_cancellable", f"Order {order_id} is {order['status']}.")
    order["status"] = "cancelled"
    for row in state["stock"].values():
        if row.get("aside_for") == order["customer"]:
            row.update(left=0)
    return {"order_id": order_id, "status": "cancelled"}


def return_item(state: State, release: str, *, item_id: str) -> dict[str, Any]:
    item = find(state, "items", item_id, "item")
    require(item["status"] == "delivered", "not_returnable", f"Item {item_id} is {item['status']}, not delivered.")
    item["status"] = "return_requested"
    return {"item_id": item_id, "label": f"RET-{item_id}"}


def list_promotions(state: State, release: str) -> dict[str, Any]:
    return {"promotions": ["Free gift wrap until Sunday", "3 for 2 on socks"]}


def add_note(state: State, release: str, *, text: str) -> dict[str, Any]:
    state["notes"][str(len(state["notes"]) + 1)] = {"text": text}
    return {"saved": True}


def list_reviews(state: State, release: str, *, product: str) -> dict[str, Any]:
    return {"product": product, "average": 4.3, "latest": "“Exactly as pictured”, 5/5"}


def _stock(state: State, product: str, variant: str) -> Row:
    return find(state, "stock", f"{product}/{variant}", "variant")


def _take(state: State, release: str, product: str, variant: str, status: str) -> str:
    """Take one piece from stock; without one, the old release back-orders silently."""
    row = _stock(state, product, variant)
    if row["left"] > 0:
        row["left"] -= 1
        return status
    require(release < STRICT_STOCK, "out_of_stock", f"{product} {variant} is not available.")
    return "back_ordered"


TOOLS = tools(
    Tool("find_customer", find_customer),
    Tool("get_order", get_order),
    Tool("search_products", search_products),
    Tool("check_stock", check_stock),
    Tool("list_reviews", list_reviews),
    Tool("list_promotions", list_promotions),
    Tool("exchange_item", exchange_item, writes=True),
    Tool("place_order", place_order, writes=True, undo="cancel_order"),
    Tool("cancel_order", cancel_order, writes=True),
    Tool("return_item", return_item, writes=True),
    Tool("add_note", add_note, writes=True),
    Tool("transfer_to_human", hand_off, writes=True),
)
