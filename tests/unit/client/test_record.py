"""The record of a run: what it holds when it is sent, and what happens when it is not taken."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

import pytest

from slowwave_client import AccessRefused, EpisodeRecord, ForeignSession, Memory
from slowwave_client._impl import endings, flows
from slowwave_client._impl.core import Core
from slowwave_client._impl.effects import Response

from .conftest import Server, answer

AT = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def record() -> EpisodeRecord:
    return EpisodeRecord("cancel order 7", session_id="run-1", agent="clerk", clock=lambda: AT)


def test_steps_are_numbered_in_order_and_may_name_each_other(record: EpisodeRecord) -> None:
    call = record.step("tool_call", name="get_order", arguments={"id": 7})
    record.step("observation", "shipped", of=call, is_error=False)
    steps = record.as_dict()["steps"]
    assert [step["id"] for step in steps] == ["1", "2"]
    assert steps[1]["of"] == "1"


def test_a_version_read_twice_is_one_step_with_its_words(record: EpisodeRecord) -> None:
    rules = answer(1, "check-first").rules
    assert record.read(rules) == record.read(rules) == ["1"]
    (step,) = record.as_dict()["steps"]
    assert (step["kind"], step["rule"], step["version"]) == ("memory_read", "check-first", 1)
    assert step["snapshot"] == "before it\nlook"


def test_no_outcome_is_invented(record: EpisodeRecord) -> None:
    assert not {"outcome", "outcome_source", "reward"} & set(record.as_dict())
    record.outcome("success", "exit-code")
    told = record.as_dict()
    assert (told["outcome"], told["outcome_source"]) == ("success", "exit-code")


def test_kinds_outcomes_and_sources_that_are_none_are_refused_at_once(record: EpisodeRecord) -> None:
    with pytest.raises(ValueError, match="use one of"):
        record.step("thought")
    with pytest.raises(ValueError, match="use one of"):
        record.outcome("good")
    with pytest.raises(ValueError, match="use one of"):
        record.outcome("success", "me")
    with pytest.raises(TypeError):
        record.step("tool_call", arguments={"at": AT})
    assert record.as_dict()["steps"] == []


def test_a_session_keeps_one_record() -> None:
    with Memory("http://127.0.0.1:1", "t", "acme/shop") as memory:
        session = memory.session("run-1")
        session.episode("cancel")
        with pytest.raises(ValueError, match="another session"):
            session.episode("refund")


class Taking(Server):
    """A server that takes episodes too, or refuses them."""

    refusal = 0

    def answer(self) -> Response:
        if self.seen[-1].path != "/v1/episodes":
            return super().answer()
        if self.refusal:
            return Response(self.refusal, {}, b'{"error": {"what": "no", "where": "role", "what_now": "ask"}}')
        counts = {"accepted": 1, "duplicates": 0, "revised": 0, "joined": 0, "rejected": []}
        return Response(200, {}, json.dumps(counts).encode())


def recorded(core: Core, token: str | None = None) -> flows.SessionCore:
    session = flows.SessionCore(core, "run-1", "clerk", token)
    session.record = EpisodeRecord("cancel", session_id="run-1")
    return session


def test_the_episode_goes_out_after_the_reads_under_the_token_that_may(core: Core) -> None:
    server, session = Taking(), recorded(core, "ingest-secret")
    server.run(flows.session_rules(session, "cancel"))
    server.run(endings.session_end(session))
    assert [request.path for request in server.seen][1:] == ["/v1/sessions/run-1", "/v1/episodes"]
    sent = server.seen[-1]
    assert sent.headers["Authorization"] == "Bearer ingest-secret"
    assert "ingest-secret" not in repr(sent) + repr(session)
    assert sent.body is not None
    assert [step["kind"] for step in sent.body["steps"]] == ["memory_read"]
    assert session.record is not None
    assert session.record.sent == "new"
    server.run(endings.session_end(session))
    assert [request.path for request in server.seen].count("/v1/episodes") == 1


def test_an_episode_that_is_not_taken_breaks_nothing_and_empties_no_cache(
    core: Core, caplog: pytest.LogCaptureFixture
) -> None:
    server, session = Taking(), recorded(core)
    server.refusal = 403
    first = server.run(flows.session_rules(session, "cancel"))
    with caplog.at_level(logging.WARNING, "slowwave_client"):
        server.run(endings.session_end(session))
    assert "ingest_token" in caplog.text
    assert session.record is not None
    assert isinstance(session.record.problem, AccessRefused)
    core.journal.declare("run-2")
    assert server.run(flows.rules(core, "cancel", session_id="run-2", agent="clerk")) is first


def test_a_session_of_another_token_is_refused_by_name_and_empties_no_cache(
    core: Core, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = server.run(flows.rules(core, "cancel", session_id="mine"))
    told = {"what": "it belongs to another token", "where": "session", "what_now": "", "kind": "foreign-session"}
    with monkeypatch.context() as patched:
        patched.setattr(server, "answer", lambda: Response(403, {}, json.dumps({"error": told}).encode()))
        with pytest.raises(ForeignSession, match="another token"):
            server.run(flows.rules(core, "cancel", session_id="theirs"))
    assert server.run(flows.rules(core, "cancel", session_id="mine")) is first
