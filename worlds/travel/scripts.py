"""How the scripted agents go about each kind of travel task, seeing only the facts and the tools' answers."""

from __future__ import annotations

from worlds.engine.desk import Desk
from worlds.engine.mind import Mind
from worlds.engine.world import Facts


def cancel(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Open the reservation, then give the traveller their money or its value back.")
    code, fare = _reservation(desk, mind, facts)
    mind.look_around(facts)
    if mind.takes("cancel-on-request"):
        desk.call("cancel_reservation", code=code)
        return
    rules = desk.call("get_fare_rules", fare=fare)
    desk.call("cancel_reservation" if rules["refundable"] else "issue_travel_credit", code=code)


def change(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Open the reservation, look for the flight on the new day, change it and see to the bag.")
    code, _ = _reservation(desk, mind, facts)
    flight = _choose_flight(desk, mind, facts)
    mind.look_around(facts)
    if mind.takes("bag-first"):
        desk.call("add_bag", code=code, count=1)
        desk.call("rebook", code=code, flight=flight)
    else:
        desk.call("rebook", code=code, flight=flight)
        desk.call("add_bag", code=code, count=1)


def book(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Find the traveller and a flight within the budget, then book it.")
    traveller = desk.call("find_traveller", email=facts["email"])
    flight = _choose_flight(desk, mind, facts)
    mind.look_around(facts)
    desk.call("book_flight", traveller_id=traveller["traveller_id"], flight=mind.slip(flight, facts["other_flight"]))


def rename(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Open the reservation and correct the passenger's name.")
    code, _ = _reservation(desk, mind, facts)
    mind.look_around(facts)
    desk.call("correct_name", code=code, passenger=facts["name"])


def _reservation(desk: Desk, mind: Mind, facts: Facts) -> tuple[str, str]:
    """Code and fare of the reservation the agent takes for the one that is meant."""
    found = desk.call("find_traveller", email=facts["email"])
    other = next(code for code in found["reservations"] if code != facts["code"])
    code = mind.slip(facts["code"], other)
    return code, desk.call("get_reservation", code=code)["fare"]


def _choose_flight(desk: Desk, mind: Mind, facts: Facts) -> str:
    """Search, and for some agents search the same again twice "to be sure"."""
    rounds = 3 if mind.takes("repeated-search") else 1
    for _ in range(rounds):
        found = desk.call("search_flights", route=facts["route"], day=facts["day"])
    return str(min(found["flights"], key=lambda flight: flight["price"])["flight"])
