"""How the scripted agents go about each kind of support task, seeing only the facts and the tools' answers."""

from __future__ import annotations

from worlds.engine.desk import Desk
from worlds.engine.mind import Mind
from worlds.engine.world import Facts


def outage(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Find the line, see what state it is in, bring it back, test it.")
    line = _line(desk, mind, facts)
    desk.call("get_line_status", line=line)
    mind.look_around(facts)
    if mind.takes("factory-reset"):
        desk.call("factory_reset", line=line)
    else:
        desk.call("refresh_line", line=line)
    desk.call("test_line", line=line)


def billing(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Find the charge on the invoice, refund it, close the ticket.")
    desk.call("find_customer", email=facts["email"])
    invoice = desk.call("get_invoice", invoice=facts["invoice"])
    meant, other = (charge["charge"] for charge in invoice["charges"][:2])
    charge = mind.slip(meant, other)
    mind.look_around(facts)
    reply = desk.call("refund_charge", charge=charge, amount=facts["amount"])
    if reply.error == "invoice_locked":
        _after_lock(desk, mind, facts, charge)
    if not mind.takes("close-unconfirmed"):
        desk.call("check_with_customer", ticket=facts["ticket"])
    desk.call("close_ticket", ticket=facts["ticket"])


def contact(desk: Desk, mind: Mind, facts: Facts) -> None:
    desk.plan("Find the customer's line and put the new number on it.")
    line = _line(desk, mind, facts)
    mind.look_around(facts)
    desk.call("update_contact", line=line, phone=facts["phone"])


def _line(desk: Desk, mind: Mind, facts: Facts) -> str:
    lines = desk.call("find_customer", email=facts["email"])["lines"]
    return mind.slip(facts["line"], next(line for line in lines if line != facts["line"]))


def _after_lock(desk: Desk, mind: Mind, facts: Facts, charge: str) -> None:
    """Either try the same again and hope, or release the invoice first."""
    if not mind.takes("retry-locked"):
        desk.call("release_invoice", invoice=facts["invoice"])
        desk.call("refund_charge", charge=charge, amount=facts["amount"])
    elif desk.call("refund_charge", charge=charge, amount=facts["amount"]).error:
        desk.call("refund_charge", charge=charge, amount=facts["amount"])
