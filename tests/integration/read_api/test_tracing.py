"""Each search is a span that tells counts and no text, at the agents' side and in the client."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode
from starlette.testclient import TestClient

from slowwave_client import Memory, MemoryUnavailable
from storage.engine import Database
from support.spans import listening

SPACE = "acme/shop"
TASK = "cancel order number 5 of a customer with a long name"


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """One database is enough: what is traced is the same on both."""
    return sqlite_database


@pytest.fixture
def spans() -> Iterator[list[ReadableSpan]]:
    with listening() as found:
        yield found


def search(api: TestClient, path: str = "/v1/rules/search", **given: Any) -> Any:
    answer = api.post(path, json={"namespace": SPACE, "task": TASK, "session_id": "s1", "agent": "bot", **given})
    assert answer.status_code == 200, answer.text
    return answer.json()


def traced(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_search_is_a_span_with_its_counts_and_without_a_text(
    api: TestClient, rule_id: str, spans: list[ReadableSpan]
) -> None:
    answer = search(api)
    assert [rule["id"] for rule in answer["rules"]] == [rule_id]
    (span,) = spans
    assert traced(span) == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "slowwave",
        "gen_ai.memory.store.id": SPACE,
        "gen_ai.memory.record.count": 1,
        "gen_ai.conversation.id": "s1",
        "gen_ai.agent.name": "bot",
        "slowwave.search.kind": "rules",
        "slowwave.withheld.count": 0,
        "slowwave.epoch": answer["epoch"],
    }
    assert span.status.status_code is StatusCode.UNSET
    assert not span.events


def test_exemplars_and_the_startup_pack_are_searches_too(
    api: TestClient, rule_id: str, spans: list[ReadableSpan]
) -> None:
    search(api, "/v1/exemplars/search")
    assert api.get("/v1/startup", params={"namespace": SPACE}).status_code == 200
    assert [traced(span)["slowwave.search.kind"] for span in spans] == ["exemplars", "startup"]
    assert [traced(span)["gen_ai.memory.record.count"] for span in spans] == [0, 1]


def test_texts_are_in_the_span_where_a_setting_asks_for_them(
    app: FastAPI, api: TestClient, rule_id: str, spans: list[ReadableSpan]
) -> None:
    site = app.state.site
    app.state.site = replace(site, settings=site.settings.model_copy(update={"trace_content": True}))
    (rule,) = search(api)["rules"]
    (span,) = spans
    assert traced(span)["gen_ai.memory.query.text"] == TASK
    (record,) = json.loads(traced(span)["gen_ai.memory.records"])
    assert record == {"id": f"{rule_id}@1", "content": rule["when_to_use"]}


def test_a_search_that_fails_says_the_kind_of_error_and_not_its_words(
    app: FastAPI, api: TestClient, rule_id: str, spans: list[ReadableSpan]
) -> None:
    def gone(text: str) -> int:
        raise RuntimeError(f"no tokens in {text}")

    app.state.site = replace(app.state.site, count_tokens=gone)
    asked = {"namespace": SPACE, "task": TASK, "token_budget": 100}
    assert api.post("/v1/rules/search", json=asked).status_code == 500
    (span,) = spans
    assert traced(span)["error.type"] == "RuntimeError"
    assert (span.status.status_code, span.status.description, len(span.events)) == (StatusCode.ERROR, None, 0)


def test_the_clients_search_is_a_span_that_says_whether_it_asked(
    address: str, make_token: Any, rule_id: str, spans: list[ReadableSpan]
) -> None:
    with Memory(address, make_token(), SPACE, events=False) as memory:
        memory.rules(TASK, session_id="s2")
        memory.rules(TASK, session_id="s2")
    of_client = [traced(span) for span in spans if "slowwave.cached" in traced(span)]
    assert [span["slowwave.cached"] for span in of_client] == [False, True]
    assert {span["gen_ai.memory.record.count"] for span in of_client} == {1}
    assert not any(key in span for span in of_client for key in ("gen_ai.memory.query.text", "gen_ai.memory.records"))


def test_a_client_that_reaches_nobody_says_so_in_its_span(spans: list[ReadableSpan]) -> None:
    with Memory("http://127.0.0.1:1", "token", SPACE, events=False) as memory, pytest.raises(MemoryUnavailable):
        memory.rules(TASK)
    (span,) = spans
    assert traced(span)["error.type"] == "MemoryUnavailable"
    assert span.status.description is None


def test_the_client_puts_texts_into_its_span_where_the_environment_asks(
    address: str, make_token: Any, rule_id: str, spans: list[ReadableSpan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWWAVE_TRACE_CONTENT", "true")
    with Memory(address, make_token(), SPACE, events=False) as memory:
        memory.rules(TASK)
    asked = [traced(span) for span in spans if "slowwave.cached" in traced(span)]
    assert [span["gen_ai.memory.query.text"] for span in asked] == [TASK]


def test_a_client_without_the_api_of_opentelemetry_searches_as_ever() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        "from slowwave_client._impl import tracing\n"
        "from slowwave_client._impl.models import RuleSet\n"
        "with tracing.searching('acme', 's1', None, 'a task') as search:\n"
        "    print(tracing.TRACED, search.came_to(RuleSet((), 7), cached=True).epoch)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False", "7"]
