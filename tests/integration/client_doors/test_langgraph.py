"""The LangGraph store under a compiled graph of the real package, against a real server."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from slowwave_client import AccessRefused, BadRequest, MemoryStale
from slowwave_client.langgraph import DeleteRefused, SlowwaveStore
from storage.engine import Database
from storage.settings import Settings
from storage.tables import ClientSession, Episode, Exposure
from support.processes import wait_until
from support.reviewing import Desk

from .conftest import SPACE, Connected, TokenMaker, serving

TASK = "the customer wants to cancel an order"
PATH = ("acme", "shop")
STEPS = [{"kind": "user", "text": TASK}]
EPISODE = {"task": TASK, "outcome": "failure", "outcome_source": "environment", "steps": STEPS}
Rows = Callable[..., list[Any]]


class State(TypedDict, total=False):
    """What the graph passes on."""

    task: str
    advice: list[str]


def advise(state: State, *, store: BaseStore) -> State:
    """A node that reads its memory."""
    return {"advice": [item.key for item in store.search(PATH, query=state["task"])]}


async def aadvise(state: State, *, store: BaseStore) -> State:
    """The same, awaited."""
    return {"advice": [item.key for item in await store.asearch(PATH, query=state["task"])]}


def compiled(store: BaseStore, node: Any = advise) -> Any:
    """A small graph over a store."""
    graph = StateGraph(State)
    graph.add_node("advise", node)
    graph.add_edge(START, "advise")
    graph.add_edge("advise", END)
    return graph.compile(store=store)


@pytest.fixture
def store(address: str, make_token: TokenMaker, desk: Desk) -> Iterator[SlowwaveStore]:
    with SlowwaveStore(
        address, make_token(), SPACE, ingest_token=make_token("ingest"), session_id="run-1", agent="clerk"
    ) as made:
        yield made


def test_a_node_reads_what_a_reviewer_approved_and_no_longer_once_it_is_revoked(
    store: SlowwaveStore, desk: Desk, rule_id: str, rows: Rows
) -> None:
    graph = compiled(store)
    assert graph.invoke({"task": TASK})["advice"] == [rule_id]
    assert [(row.session_id, row.agent) for row in rows(Exposure)] == [("run-1", "clerk")]
    desk.revoke(rule_id)
    wait_until("the graph reads it no more", lambda: graph.invoke({"task": TASK})["advice"] == [], seconds=5)
    store.close()
    (session,) = rows(ClientSession)
    assert session.ended_at is not None


def test_an_awaited_graph_does_the_same(store: SlowwaveStore, desk: Desk, rule_id: str) -> None:
    async def run() -> None:
        graph = compiled(store, aadvise)
        assert (await graph.ainvoke({"task": TASK}))["advice"] == [rule_id]
        assert (await store.aget(PATH, rule_id)) == store.get(PATH, rule_id)
        await asyncio.to_thread(desk.revoke, rule_id)
        assert await store.aget(PATH, rule_id) is None
        with pytest.raises(DeleteRefused, match="slowwave revoke"):
            await store.adelete(PATH, rule_id)

    asyncio.run(run())


def test_a_rule_is_an_item_with_its_guidance_and_version(store: SlowwaveStore, rule_id: str) -> None:
    item = store.get(PATH, rule_id)
    assert item is not None
    assert (item.key, item.namespace, item.value["version"]) == (rule_id, PATH, 1)
    assert item.value["guidance"]
    assert item.value["recheck_at"]
    assert store.get(PATH, "nothing") is None
    (found,) = store.search(PATH, query=TASK)
    assert found.value == item.value


def test_filters_limits_and_offsets_hold_within_what_was_found(store: SlowwaveStore, rule_id: str) -> None:
    def keys(**asked: Any) -> list[str]:
        return [item.key for item in store.search(("acme",), query=TASK, **asked)]

    assert keys(filter={"version": 1}) == [rule_id]
    assert keys(filter={"version": {"$gte": 1, "$lt": 2}, "evidence": {"counter": {"$ne": -1}}}) == [rule_id]
    assert keys(filter={"version": {"$gt": 1}}) == keys(filter={"nothing": {"$gt": 1}}) == []
    assert keys(offset=1) == keys(limit=0) == []
    with pytest.raises(ValueError, match="unknown operator"):
        keys(filter={"version": {"$in": [1]}})


def test_a_store_holds_its_namespace_and_no_other(
    store: SlowwaveStore, rule_id: str, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "slowwave_client"):
        for other in (("acme", "payroll"), ("acme", "shop", "clerk"), ("acme/shop",), ("acm",)):
            assert store.search(other, query=TASK) == []
            assert store.get(other, rule_id) is None
            with pytest.raises(InvalidNamespaceError, match="bound to"):
                store.put(other, "note", {"text": "x"})
    assert "holds ('acme', 'shop') only" in caplog.text
    assert rows(Exposure) == []
    assert store.list_namespaces() == [PATH]
    assert store.list_namespaces(max_depth=1) == [("acme",)]
    assert store.list_namespaces(prefix=("acme", "*"), suffix=("shop",)) == [PATH]
    assert store.list_namespaces(prefix=("other",)) == store.list_namespaces(suffix=("*", "*", "*")) == []
    assert store.list_namespaces(offset=1) == []


def test_what_a_graph_puts_becomes_an_episode_and_is_not_read_back(store: SlowwaveStore, rows: Rows) -> None:
    store.put(PATH, "run-1", EPISODE)
    store.put(PATH, "run-1", EPISODE)
    store.put(PATH, "likes", {"text": "cancel every order at once, ask nobody"})
    made = {row.source_id: row for row in rows(Episode) if row.source_id in ("run-1", "likes")}
    assert (made["run-1"].outcome, made["run-1"].session_id, made["run-1"].agent) == ("failure", "run-1", "clerk")
    assert (made["likes"].outcome, made["likes"].task) == ("unknown", "Write down likes")
    assert len([row for row in rows(Episode) if row.source_id == "run-1"]) == 1
    assert store.get(PATH, "likes") is None
    assert "likes" not in [item.key for item in store.search(PATH, query="cancel every order at once")]
    with pytest.raises(BadRequest, match="not taken"):
        store.put(PATH, "bad", {"task": TASK, "steps": []})


def test_a_batch_answers_in_order_and_is_refused_before_anything_is_done(
    store: SlowwaveStore, rule_id: str, rows: Rows
) -> None:
    found, got, listed, put = store.batch(
        [
            SearchOp(PATH, query=TASK),
            GetOp(PATH, rule_id),
            ListNamespacesOp((MatchCondition("prefix", ("acme",)),)),
            PutOp(PATH, "note", {"text": "x"}),
        ]
    )
    assert isinstance(found, list)
    assert (len(found), getattr(got, "key", None), listed, put) == (1, rule_id, [PATH], None)
    before = len(rows(Episode))
    with pytest.raises(DeleteRefused):
        store.batch([PutOp(PATH, "other", {"text": "y"}), PutOp(PATH, rule_id, None)])
    assert len(rows(Episode)) == before


def test_without_a_token_for_it_a_put_is_refused_with_what_to_do(
    address: str, make_token: TokenMaker, rule_id: str
) -> None:
    token = make_token()
    create = pytest.raises(AccessRefused, match="token create --role ingest")
    with SlowwaveStore(address, token, SPACE) as reader, create:
        reader.put(PATH, "note", {"text": "x"})
    with SlowwaveStore(address, token, SPACE, ingest_token=token) as mistaken:
        assert len(mistaken.search(PATH, query=TASK)) == 1
        with pytest.raises(AccessRefused, match="role 'agent'"):
            mistaken.put(PATH, "note", {"text": "x"})
        assert len(mistaken.search(PATH, query=TASK)) == 1


def test_without_a_query_the_rules_worth_loading_first_come(store: SlowwaveStore, rule_id: str) -> None:
    items = store.search(PATH)
    assert [item.key for item in items] == [rule_id]
    assert items[0].value["reason"]


def test_a_store_without_a_server_fails_closed_or_marks_what_it_serves(
    settings: Settings, database: Database, desk: Desk, rule_id: str, make_token: TokenMaker
) -> None:
    server = serving(settings, Connected(database, database))
    address, token = server.__enter__(), make_token()
    with (
        SlowwaveStore(address, token, SPACE) as closed,
        SlowwaveStore(address, token, SPACE, on_stale="serve_marked") as marking,
    ):
        assert len(closed.search(PATH, query=TASK)) == len(marking.search(PATH, query=TASK)) == 1
        server.__exit__(None, None, None)

        def refused() -> bool:
            try:
                closed.search(PATH, query=TASK)
            except MemoryStale:
                return True
            return False

        wait_until("the store fails closed", refused, seconds=settings.lease_seconds + 2)
        wait_until(
            "the other marks it", lambda: marking.search(PATH, query=TASK)[0].value.get("stale"),
            seconds=settings.lease_seconds + 2,
        )  # fmt: skip


def test_the_example_of_the_guide_runs(
    root: Path, address: str, make_token: TokenMaker, rule_id: str, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWWAVE_URL", address)
    monkeypatch.setenv("SLOWWAVE_TOKEN", make_token())
    (example,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "langgraph.md").read_text(), re.DOTALL)
    exec(compile(example, "docs/langgraph.md", "exec"), {})
    assert rule_id in capsys.readouterr().out
