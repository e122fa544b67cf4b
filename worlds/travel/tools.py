"""The airline's booking system.

Tables: ``travellers``, ``reservations``, ``fares`` (rules by fare), ``flights`` (``price``, ``searches`` since quoted,
``drifts``: the cheap fare class closes when the same search is made again and again), ``handoffs``. Whole euros.
"""

from __future__ import annotations

from typing import Any

from worlds.engine.state import Row, State
from worlds.engine.tool import Tool, find, hand_off, require, tools

PATIENCE = 2
"""Identical searches that the pricing engine tolerates before it takes them for demand."""
DRIFT = 45
AUTO_CREDIT = "8.0"
"""From this release on, cancelling a fare without refund gives the credit by itself."""


def find_traveller(state: State, release: str, *, email: str) -> dict[str, Any]:
    for traveller_id, traveller in state["travellers"].items():
        if traveller["email"] == email:
            codes = [key for key, row in state["reservations"].items() if row["traveller"] == traveller_id]
            return {"traveller_id": traveller_id, "name": traveller["name"], "reservations": codes}
    return find(state, "travellers", email, "traveller")


def get_reservation(state: State, release: str, *, code: str) -> dict[str, Any]:
    return {"code": code, **find(state, "reservations", code, "reservation")}


def get_fare_rules(state: State, release: str, *, fare: str) -> dict[str, Any]:
    return {"fare": fare, **find(state, "fares", fare, "fare")}


def search_flights(state: State, release: str, *, route: str, day: str) -> dict[str, Any]:
    hits = {key: row for key, row in state["flights"].items() if row["route"] == route and row["day"] == day}
    require(bool(hits), "no_flights", f"No flights on {route} for {day}. Try a neighbouring day.")
    for row in hits.values():
        row["searches"] += 1
        if row["drifts"] and row["searches"] == PATIENCE + 1:
            row["price"] += DRIFT
    return {"flights": [{"flight": key, "price": row["price"]} for key, row in hits.items()]}


def rebook(state: State, release: str, *, code: str, flight: str) -> dict[str, Any]:
    """The bags of the old ticket are carried over only in fares that say so."""
    reservation = _open(state, code)
    target = find(state, "flights", flight, "flight")
    fare = find(state, "fares", reservation["fare"], "fare")
    reservation.update(flight=flight, paid=target["price"])
    if not fare["bags_follow"]:
        reservation["bags"] = 0
    return {"code": code, "flight": flight, "price": target["price"]}


def book_flight(state: State, release: str, *, traveller_id: str, flight: str) -> dict[str, Any]:
    find(state, "travellers", traveller_id, "traveller")
    target = find(state, "flights", flight, "flight")
    code = f"NB{len(state['reservations']):04d}"
    state["reservations"][code] = {
        "traveller": traveller_id, "passenger": state["travellers"][traveller_id]["name"], "flight": flight,
        "fare": "Light", "status": "open", "paid": target["price"], "refund": 0, "credit": 0, "bags": 0,
        "airline_cancelled": False,
    }  # fmt: skip
    return {"code": code, "price": target["price"]}


def add_bag(state: State, release: str, *, code: str, count: int) -> dict[str, Any]:
    reservation = _open(state, code)
    reservation["bags"] += count
    return {"code": code, "bags": reservation["bags"]}


def cancel_reservation(state: State, release: str, *, code: str) -> dict[str, Any]:
    reservation = _open(state, code)
    fare = find(state, "fares", reservation["fare"], "fare")
    refundable = fare["refundable"] or reservation["airline_cancelled"]
    reservation.update(status="cancelled", refund=reservation["paid"] if refundable else 0)
    if not refundable and release >= AUTO_CREDIT:
        reservation["credit"] = reservation["paid"]
    return {"code": code, "status": "cancelled"}


def issue_travel_credit(state: State, release: str, *, code: str) -> dict[str, Any]:
    """Gives the value back as credit and closes the reservation."""
    reservation = _open(state, code)
    reservation.update(status="cancelled", credit=reservation["paid"])
    return {"code": code, "credit": reservation["credit"]}


def correct_name(state: State, release: str, *, code: str, passenger: str) -> dict[str, Any]:
    _open(state, code)["passenger"] = passenger
    return {"code": code, "passenger": passenger}


def check_weather(state: State, release: str, *, route: str) -> dict[str, Any]:
    return {"route": route, "forecast": "light wind, 9 °C, no disruption expected"}


def get_seat_map(state: State, release: str, *, code: str) -> dict[str, Any]:
    find(state, "reservations", code, "reservation")
    return {"code": code, "free": ["12A", "14C", "21F"]}


def send_itinerary(state: State, release: str, *, email: str) -> dict[str, Any]:
    return {"sent_to": email}


def _open(state: State, code: str) -> Row:
    reservation = find(state, "reservations", code, "reservation")
    require(reservation["status"] == "open", "not_open", f"Reservation {code} is {reservation['status']}.")
    return reservation


TOOLS = tools(
    Tool("find_traveller", find_traveller),
    Tool("get_reservation", get_reservation),
    Tool("get_fare_rules", get_fare_rules),
    Tool("search_flights", search_flights),
    Tool("check_weather", check_weather),
    Tool("get_seat_map", get_seat_map),
    Tool("rebook", rebook, writes=True, undo="rebook"),
    Tool("book_flight", book_flight, writes=True, undo="cancel_reservation"),
    Tool("add_bag", add_bag, writes=True),
    Tool("cancel_reservation", cancel_reservation, writes=True),
    Tool("issue_travel_credit", issue_travel_credit, writes=True),
    Tool("correct_name", correct_name, writes=True, undo="correct_name"),
    Tool("send_itinerary", send_itinerary, writes=True),
    Tool("transfer_to_human", hand_off, writes=True),
)
