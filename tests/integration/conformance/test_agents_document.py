"""The agents' side keeps what its OpenAPI document promises, whoever asks."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI

from support.conforming import Exclusions, Stock, breaches
from support.full import FULL

SPACE = "acme/shop"
EVENTS = ("GET", "/v1/events")
EXCLUDED: Exclusions = {
    ("POST", "/v1/episodes"): {
        "negative_data_rejection": "whatever is sent is text, which is what lines are; each is refused in the answer"
    },
    ("POST", "/v1/rules/search"): {"allow_header_conformance": "a GET there asks for a rule whose name is search"},
}
WHO = [("agent", True), ("ingest", False)]
"""Each operation is asked for without a token besides, whoever asks."""
if FULL:
    WHO += [("nobody", False), ("auditor", True), ("stranger", False)]


@schemathesis.serializer("application/x-ndjson")
def lines_as_they_are(_: Any, value: Any) -> bytes:
    """A body of lines is sent as it was made."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(("who", "is_known"), WHO)
def test_every_answer_is_one_that_the_document_promises(
    agents_app: FastAPI, stock: Stock, tokens: dict[str, str], who: str, is_known: bool
) -> None:
    there = {"namespace": SPACE, "rule_id": stock.rule_id, "number": 1} if is_known else {}
    # a stream that opens has no end to wait for here: it is asked for by those only whom it refuses
    left_out = [EVENTS] if who in ("agent", "auditor") else []
    headers = {"Authorization": f"Bearer {tokens[who]}"} if tokens[who] else {}
    found = breaches(agents_app, headers=headers, excluded=EXCLUDED, parameters=there, left_out=left_out)
    assert not found, "\n".join(found)
