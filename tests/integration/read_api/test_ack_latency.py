"""How long events took to be acknowledged is counted once for each event, and no name is told with it."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from support.reviewing import Desk

SPACE = "acme/shop"


def say(api: TestClient, consumer: str, epoch: int) -> None:
    assert api.post("/v1/acks", json={"namespace": SPACE, "consumer": consumer, "epoch": epoch}).status_code == 200


def counted(api: TestClient) -> tuple[float, str]:
    text: Any = api.get("/metrics").text
    (line,) = [each for each in text.splitlines() if each.startswith("slowwave_events_ack_seconds_count")]
    return float(line.split()[1]), text


def test_each_event_that_a_word_covers_is_counted_once(api: TestClient, desk: Desk, rule_id: str) -> None:
    say(api, "cache-1", 0)
    assert counted(api)[0] == 0, "what came before its first word, a consumer never had to be told"
    desk.revoke(rule_id)
    for _ in range(2):
        say(api, "cache-1", 2)
    assert counted(api)[0] == 2, "the promotion and the revocation"
    assert "cache-1" not in counted(api)[1]


def test_each_consumer_counts_for_itself(api: TestClient, desk: Desk, rule_id: str) -> None:
    for consumer in ("cache-1", "cache-2"):
        say(api, consumer, 1)
    desk.revoke(rule_id)
    for consumer in ("cache-1", "cache-2"):
        say(api, consumer, 2)
    assert counted(api)[0] == 2
