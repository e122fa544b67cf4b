"""What is too much is refused in the one shape: too often, too many streams, too deep, too long."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from read_api.app import create_app
from read_api.notifier import Notifier
from storage.settings import Settings
from support.processes import wait_until

SPACE = "acme/shop"
TokenMaker = Callable[..., str]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """So little that it is used up at once, and comes back in a second."""
    return settings.model_copy(update={"rate_per_second": 1.0, "streams_per_token": 1})


def test_a_token_that_asks_too_often_is_told_when_to_ask_again(
    app: FastAPI, desk: object, make_token: TokenMaker
) -> None:
    browsers = [TestClient(app, headers={"Authorization": f"Bearer {make_token()}"}) for _ in range(2)]
    answers = [browsers[0].get("/v1/lease", params={"namespace": SPACE}) for _ in range(4)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert [answer.status_code for answer in answers[:2]] == [200, 200]
    assert refused
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert set(refused[0].json()["error"]) == {"what", "where", "what_now"}
    assert browsers[1].get("/v1/lease", params={"namespace": SPACE}).status_code == 200


def test_guessing_is_slow_and_costs_nobody_else_anything(app: FastAPI, desk: object, make_token: TokenMaker) -> None:
    known = TestClient(app, headers={"Authorization": f"Bearer {make_token()}"})
    assert known.get("/v1/lease", params={"namespace": SPACE}).status_code == 200
    guesser = TestClient(app)
    seen = [
        guesser.get("/v1/lease", params={"namespace": SPACE}, headers={"Authorization": f"Bearer {number}"}).status_code
        for number in range(200)
    ]
    assert set(seen) == {401, 429}
    assert seen[:50] == [401] * 50
    assert known.get("/v1/lease", params={"namespace": SPACE}).status_code == 200


def test_a_rate_of_nothing_is_no_limit(settings: Settings, connected, desk: object, make_token: TokenMaker) -> None:
    notifier = Notifier(connected.reader)
    app = create_app(settings.model_copy(update={"rate_per_second": 0.0}), connected.reader, notifier)
    api = TestClient(app, headers={"Authorization": f"Bearer {make_token()}"})
    assert {api.get("/v1/lease", params={"namespace": SPACE}).status_code for _ in range(20)} == {200}
    notifier.close()


def test_a_token_has_so_many_streams_and_a_closed_one_makes_room(
    address: str, desk: object, make_token: TokenMaker
) -> None:
    headers, params = {"Authorization": f"Bearer {make_token()}"}, {"namespace": SPACE}
    url = f"{address}/v1/events"
    with httpx.stream("GET", url, headers=headers, params=params) as first:
        assert first.status_code == 200
        coming = first.iter_bytes()
        next(coming)
        other = {"Authorization": f"Bearer {make_token()}"}
        with httpx.stream("GET", url, headers=other, params=params) as theirs:
            assert theirs.status_code == 200
        with httpx.stream("GET", url, headers=headers, params=params) as second:
            assert (second.status_code, second.headers.get("retry-after")) == (429, "5")

    def opens() -> bool:
        with httpx.stream("GET", url, headers=headers, params=params) as again:
            return again.status_code == 200

    wait_until("there is room again", opens, seconds=20)


def test_head_answers_as_get_does_and_sends_nothing(address: str, desk: object, make_token: TokenMaker) -> None:
    for path in ("/v1/lease", "/v1/events"):
        headers = {"Authorization": f"Bearer {make_token()}"}
        answer = httpx.head(f"{address}{path}", headers=headers, params={"namespace": SPACE})
        assert (answer.status_code, answer.content) == (200, b"")
    assert httpx.head(f"{address}/v1/lease", params={"namespace": SPACE}).status_code == 401


@pytest.mark.parametrize("body", [b"[" * 10_000, b'{"namespace":' * 10_000, b'{"task":"\\ud800\\u0000"}'])
def test_json_that_is_too_deep_or_no_text_is_refused_and_breaks_nothing(
    api: TestClient, desk: object, body: bytes
) -> None:
    answer = api.post("/v1/rules/search", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert set(answer.json()["error"]) == {"what", "where", "what_now"}


def test_a_length_of_any_number_of_digits_is_refused(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as wire:
        wire.sendall(b"POST /v1/acks HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n")
        assert wire.recv(100).split()[1] in (b"400", b"413")


def test_one_line_that_is_huge_is_refused_with_its_size(
    settings: Settings, connected, desk: object, make_token: TokenMaker
) -> None:
    notifier = Notifier(connected.reader)
    made = create_app(settings.model_copy(update={"max_body_bytes": 10_000}), connected.reader, notifier)
    api = TestClient(made, headers={"Authorization": f"Bearer {make_token('ingest')}"})
    answer = api.post("/v1/episodes", params={"namespace": SPACE}, content=json.dumps({"task": "x" * 20_000}))
    assert answer.status_code == 413
    assert "10000 bytes" in answer.json()["error"]["what"]
    notifier.close()
