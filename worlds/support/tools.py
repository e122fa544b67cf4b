"""The help desk's systems.

Tables: ``customers``, ``lines`` (``status``, ``config``, ``firmware``), ``invoices``, ``charges``, ``tickets``,
``handoffs``. Amounts in cents.
"""

from __future__ import annotations

from typing import Any

from worlds.engine.state import Row, State
from worlds.engine.tool import Tool, find, hand_off, require, tools

KEEPS_CONFIG = "2.0"
"""From this release on, a factory reset restores the customer's configuration."""


def find_customer(state: State, release: str, *, email: str) -> dict[str, Any]:
    for customer_id, customer in state["customers"].items():
        if customer["email"] == email:
            lines = [key for key, row in state["lines"].items() if row["customer"] == customer_id]
            return {"customer_id": customer_id, "name": customer["name"], "lines": lines}
    return find(state, "customers", email, "customer")


def get_line_status(state: State, release: str, *, line: str) -> dict[str, Any]:
    row = find(state, "lines", line, "line")
    return {"line": line, "status": row["status"], "firmware": row["firmware"]}


def refresh_line(state: State, release: str, *, line: str) -> dict[str, Any]:
    """Re-provisions the line; a modem that hangs in an update does not notice."""
    row = find(state, "lines", line, "line")
    if row["firmware"] != "hangs":
        row["status"] = "up"
    return {"line": line, "provisioned": True}


def factory_reset(state: State, release: str, *, line: str) -> dict[str, Any]:
    row = find(state, "lines", line, "line")
    row.update(status="up", firmware="ok")
    if release < KEEPS_CONFIG:
        row["config"] = "default"
    return {"line": line, "reset": True}


def test_line(state: State, release: str, *, line: str) -> dict[str, Any]:
    """A synthetic packet to the exchange: it answers for the copper, and not for what the customer had set up."""
    find(state, "lines", line, "line")
    return {"line": line, "loss": "0 %"}


def get_invoice(state: State, release: str, *, invoice: str) -> dict[str, Any]:
    row = find(state, "invoices", invoice, "invoice")
    charges = [{"charge": key, **row} for key, row in state["charges"].items() if row["invoice"] == invoice]
    return {"invoice": invoice, "total": row["total"], "charges": charges}


def refund_charge(state: State, release: str, *, charge: str, amount: int) -> dict[str, Any]:
    row = find(state, "charges", charge, "charge")
    invoice = state["invoices"][row["invoice"]]
    if invoice["locked"] and invoice["lock_tries"] > 0:
        invoice["lock_tries"] -= 1
        invoice["locked"] = invoice["lock_tries"] > 0
        require(False, "invoice_locked", f"Invoice {row['invoice']} is locked by a running settlement.")
    require(not row["refunded"], "already_refunded", f"Charge {charge} was refunded before.")
    row["refunded"] = amount
    return {"charge": charge, "refunded": amount}


def release_invoice(state: State, release: str, *, invoice: str) -> dict[str, Any]:
    find(state, "invoices", invoice, "invoice").update(locked=False)
    return {"invoice": invoice, "locked": False}


def check_with_customer(state: State, release: str, *, ticket: str) -> dict[str, Any]:
    find(state, "tickets", ticket, "ticket")["confirmed"] = True
    return {"ticket": ticket, "customer": "saw the message"}


def close_ticket(state: State, release: str, *, ticket: str) -> dict[str, Any]:
    """A ticket of a customer who wants to be asked opens again when it is closed over their head."""
    row = find(state, "tickets", ticket, "ticket")
    require(row["status"] == "open", "not_open", f"Ticket {ticket} is {row['status']}.")
    row["status"] = "reopened" if row["wants_word"] and not row["confirmed"] else "closed"
    return {"ticket": ticket, "accepted": True}


def update_contact(state: State, release: str, *, line: str, phone: str) -> dict[str, Any]:
    _line(state, line)["contact"] = phone
    return {"line": line, "contact": phone}


def search_articles(state: State, release: str, *, query: str) -> dict[str, Any]:
    return {"articles": [f"Brightline knowledge base: {query}, first steps", "Service levels (internal)"]}


def get_outage_map(state: State, release: str) -> dict[str, Any]:
    return {"regions": [{"name": "North", "state": "normal"}, {"name": "Harbour", "state": "normal"}]}


def escalate_priority(state: State, release: str, *, email: str) -> dict[str, Any]:
    return {"customer": email, "priority": "P2"}


def restart_modem(state: State, release: str, *, line: str) -> dict[str, Any]:
    """What the customer does at home; it never was the modem."""
    _line(state, line)
    return {"lights": "green, green, amber"}


def _line(state: State, line: str) -> Row:
    return find(state, "lines", line, "line")


TOOLS = tools(
    Tool("find_customer", find_customer),
    Tool("get_line_status", get_line_status),
    Tool("test_line", test_line),
    Tool("get_invoice", get_invoice),
    Tool("search_articles", search_articles),
    Tool("get_outage_map", get_outage_map),
    Tool("refresh_line", refresh_line, writes=True),
    Tool("factory_reset", factory_reset, writes=True),
    Tool("refund_charge", refund_charge, writes=True),
    Tool("release_invoice", release_invoice, writes=True),
    Tool("check_with_customer", check_with_customer, writes=True),
    Tool("close_ticket", close_ticket, writes=True),
    Tool("update_contact", update_contact, writes=True, undo="update_contact"),
    Tool("escalate_priority", escalate_priority, writes=True),
    Tool("transfer_to_human", hand_off, writes=True),
    Tool("restart_modem", restart_modem, writes=True),
)
