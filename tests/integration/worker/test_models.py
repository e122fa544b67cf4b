"""Both wires against a real HTTP server: what is sent, what comes back, and how long one is patient."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from email.utils import format_datetime
from typing import Any

import pytest

from storage.settings import Settings
from support.model_server import ModelServer, Reply
from tasks.draft.model.chat import CUT_OFF, DECLINED, ModelUnavailable, Question
from worker.doctor import _model as examine_model
from worker.models import model_of
from worker.models.patience import MOST_TRIES, Patient
from worker.models.wires import AnthropicWire, Endpoint, OpenAIWire

KEY = "sk-a-key-that-nobody-may-see"
QUESTION = Question("be brief", "the secret plan of the customer", {"type": "object", "properties": {}}, 0.7, 5, 64)
PROVIDERS = ("openai", "anthropic")


class Clock:
    """Time that passes only in pauses."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=PROVIDERS)
def model(request: pytest.FixtureRequest, model_server: ModelServer, clock: Clock) -> Iterator[Patient]:
    yield from _opened(request.param, model_server, clock)


def _opened(provider: str, server: ModelServer, clock: Clock, timeout: float = 30.0, **given: Any) -> Iterator[Patient]:
    if provider == "openai":
        wire: Any = OpenAIWire(Endpoint(f"{server.url}/v1", "m", KEY, **given))
    else:
        wire = AnthropicWire(Endpoint(server.url, "m", KEY, **given))
    yield Patient("p/m", wire, timeout, pause=clock.pause, clock=lambda: clock.now, chance=lambda: 1.0)
    wire._client.close()


def test_an_answer_comes_with_its_tokens(model: Patient, model_server: ModelServer) -> None:
    model_server.says("{}")
    said = model.ask(QUESTION, 60)
    assert (said.text, said.tokens_in, said.tokens_out) == ("{}", 100, 20)


def test_the_prompt_and_the_limits_are_sent_as_they_are(model: Patient, model_server: ModelServer) -> None:
    model_server.says("{}")
    model.ask(QUESTION, 60)
    (asked,) = model_server.asked
    assert asked.user == QUESTION.user
    assert QUESTION.system in asked.texts
    assert asked.body["max_tokens"] == 64
    assert ("temperature" in asked.body) == (asked.path == "/v1/chat/completions")
    assert asked.body.get("stream") in (None, False)
    form = asked.body.get("response_format") or asked.body["output_config"]["format"]
    assert form["type"] == "json_schema"


@pytest.mark.parametrize(
    ("provider", "form", "limited"),
    [("openai", "schema", False), ("openai", "object", True), ("anthropic", "schema", False)],
)
def test_limits_are_sent_where_the_schema_becomes_a_grammar(
    provider: str, form: str, limited: bool, model_server: ModelServer, clock: Clock
) -> None:
    schema = {"type": "array", "items": {"type": "string"}, "maxItems": 1}
    for model in _opened(provider, model_server, clock, form=form):
        model_server.says("{}")
        model.ask(replace(QUESTION, schema=schema), 60)
    assert ("maxItems" in json.dumps(model_server.asked[0].body)) == limited


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_model_that_refuses_sampling_is_sent_none(provider: str, model_server: ModelServer, clock: Clock) -> None:
    for model in _opened(provider, model_server, clock, seeded=False, form="text"):
        model_server.says("{}")
        model.ask(QUESTION, 60)
    body = model_server.asked[0].body
    assert not {"temperature", "seed", "response_format", "output_config"} & set(body)
    assert 64 in (body.get("max_completion_tokens"), body.get("max_tokens"))


@pytest.mark.parametrize(("ended", "told"), [("length", CUT_OFF), ("content_filter", DECLINED)])
def test_how_an_answer_ended_is_told(model: Patient, model_server: ModelServer, ended: str, told: str) -> None:
    model_server.says(Reply("{", ended=ended))
    assert model.ask(QUESTION, 60).ended == told


def test_no_choice_at_all_is_an_empty_answer(model: Patient, model_server: ModelServer) -> None:
    model_server.says(Reply(None))
    assert model.ask(QUESTION, 60).text == ""


def test_tokens_are_estimated_where_an_endpoint_does_not_count(model_server: ModelServer, clock: Clock) -> None:
    for model in _opened("openai", model_server, clock):
        model_server.says(Reply("x" * 40, usage=False))
        said = model.ask(QUESTION, 60)
    assert said.tokens_out == 10
    assert said.tokens_in > 0


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_fault_that_may_pass_is_asked_again_when_the_endpoint_says(
    model: Patient, model_server: ModelServer, clock: Clock, status: int
) -> None:
    model_server.says(Reply(status=status, headers={"retry-after": "7"}), "{}")
    said = model.ask(QUESTION, 60)
    assert (said.text, said.seconds, clock.pauses) == ("{}", 7.0, [7.0])


def test_without_a_word_from_the_endpoint_pauses_grow(model: Patient, model_server: ModelServer, clock: Clock) -> None:
    model_server.says(Reply(status=500))
    with pytest.raises(ModelUnavailable, match=rf"status 500: error_500 \({MOST_TRIES} tries\)"):
        model.ask(QUESTION, 600)
    assert clock.pauses == [1.0, 2.0, 4.0]
    assert len(model_server.asked) == MOST_TRIES


def test_no_try_is_made_past_the_time_that_is_left(model: Patient, model_server: ModelServer, clock: Clock) -> None:
    model_server.says(Reply(status=429, headers={"retry-after": "3600"}))
    with pytest.raises(ModelUnavailable, match="3600 s is past the time"):
        model.ask(QUESTION, 60)
    assert clock.pauses == []


def test_a_date_to_wait_for_is_understood(model: Patient, model_server: ModelServer, clock: Clock, now: Any) -> None:
    model_server.says(Reply(status=429, headers={"retry-after": format_datetime(now.replace(year=2020))}), "{}")
    assert model.ask(QUESTION, 60).text == "{}"
    assert clock.pauses == [0.0]


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_fault_that_stays_is_told_at_once(
    model: Patient, model_server: ModelServer, clock: Clock, status: int
) -> None:
    model_server.says(Reply(status=status))
    with pytest.raises(ModelUnavailable, match=f"status {status}"):
        model.ask(QUESTION, 60)
    assert len(model_server.asked) == 1


def test_an_endpoint_that_does_not_answer_in_time_is_given_up(model_server: ModelServer, clock: Clock) -> None:
    held = threading.Event()
    model_server.says(Reply("{}", wait=held))
    for model in _opened("openai", model_server, clock, timeout=0.0):  # a wire waits a second at least
        try:
            with pytest.raises(ModelUnavailable, match="did not answer in time"):
                model.ask(QUESTION, 0.5)
        finally:
            held.set()


def test_a_closed_port_is_no_connection(model_server: ModelServer, clock: Clock) -> None:
    model_server.close()
    for model in _opened("openai", model_server, clock):
        with pytest.raises(ModelUnavailable, match="no connection"):
            model.ask(QUESTION, 60)


@pytest.mark.parametrize("body", [b"<html>down for repairs</html>", b"[1, 2]", b'{"object": "error"}', b"\xff\xfe{"])
def test_what_is_not_of_the_protocol_is_no_crash(model: Patient, model_server: ModelServer, body: bytes) -> None:
    model_server.says(Reply(body=body))
    with suppress(ModelUnavailable):
        assert model.ask(QUESTION, 60).text == ""


@pytest.mark.parametrize("status", [200, 400, 401, 403, 429, 500])
def test_neither_key_nor_prompt_is_in_a_reason_or_a_log(
    model: Patient, model_server: ModelServer, caplog: pytest.LogCaptureFixture, status: int,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    model_server.says(Reply("{}", status=status))
    caplog.set_level(logging.DEBUG)
    reason = ""
    try:
        model.ask(QUESTION, 0.1)
    except ModelUnavailable as error:
        reason = str(error)
    printed = capsys.readouterr()
    everything = reason + caplog.text + printed.out + printed.err
    assert KEY not in everything
    assert QUESTION.user not in everything
    assert KEY in str(model_server.asked[0].headers)


def test_without_a_name_there_is_no_model() -> None:
    assert model_of(Settings()) is None


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_doctor_says_whether_the_model_answers(model_server: ModelServer, provider: str) -> None:
    url = f"{model_server.url}/v1" if provider == "openai" else model_server.url
    settings = Settings(drafter="model", model_provider=provider, model_url=url, model_name="m", model_key=KEY)
    model_server.says("{}", Reply(status=401))
    verdicts: Callable[[], list[tuple[str, str]]] = lambda: [  # noqa: E731
        (check.verdict, check.detail) for check in examine_model(settings)
    ]
    assert verdicts()[0][0] == "pass"
    assert verdicts() == [("fail", f"{provider}/m: it refused the key (status 401)")]
    assert examine_model(Settings()) == []
