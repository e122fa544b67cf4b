"""Reviewed rules as a LangGraph store. Needs the extra ``slowwave-client[langgraph]``.

A graph reads rules as it reads any store. What it puts becomes an episode: raw evidence, from which people may make a
rule. Nothing that a graph writes is read back by a graph without a person's decision in between.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

import httpx

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )
except ImportError as problem:
    raise ImportError("the store needs the package langgraph: pip install 'slowwave-client[langgraph]'") from problem

from slowwave_client import AccessRefused, Memory, NotFound, Rule, VersionGone
from slowwave_client._impl.core import OnStale
from slowwave_client._impl.recording import send_episode, startup

log = logging.getLogger("slowwave_client")
MOST = 50
"""Rules in one answer of the server; ``limit`` and ``offset`` of a search reach no further."""
UNTIMED = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""Stands where a store wants times: what agents are served carries a re-check date, and none of its making."""


class DeleteRefused(AccessRefused):
    """A graph does not delete what people reviewed."""


class SlowwaveStore(BaseStore):
    """The active rules of one namespace; ``acme/shop`` is the store's namespace ``("acme", "shop")``.

    ``search`` with a query finds the rules that fit it, without one those worth loading first. ``get`` gives one rule
    by its id. Threads may share a store; its awaitable methods run in threads. Close it, or use it as a context
    manager.

    Args:
        url, token, namespace: as for ``Memory``.
        ingest_token: one that may record episodes; without it ``put`` is refused.
        session_id: the agent run that reads; the store's own if absent.
        agent: the agent's name.
        environment: component name to version; rules verified elsewhere are withheld.
        on_stale: ``raise`` fails closed with ``MemoryStale``; ``serve_marked`` sets ``stale`` in the values.
        transport: an httpx transport, for tests and proxies.
    """

    __slots__ = ("_agent", "_environment", "_ingest_token", "_memory", "_path", "_session_id")

    def __init__(
        self,
        url: str,
        token: str,
        namespace: str,
        *,
        ingest_token: str | None = None,
        session_id: str | None = None,
        agent: str | None = None,
        environment: Mapping[str, str] | None = None,
        on_stale: OnStale = "raise",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._memory = Memory(url, token, namespace, on_stale=on_stale, transport=transport)
        self._path = tuple(namespace.split("/"))
        self._ingest_token = ingest_token
        self._session_id = session_id or f"langgraph-{uuid.uuid4()}"
        self._agent = agent
        self._environment = dict(environment or {})

    @property
    def session_id(self) -> str:
        """The session that reads count for: give it to the episode of this run."""
        return self._session_id

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of these operations, in their order. All puts are looked at before anything is done.

        Raises:
            InvalidNamespaceError: a put names another namespace.
            DeleteRefused: one of them is a delete.
            AccessRefused: the token may not do this.
            MemoryStale, MemoryUnavailable: the server is out of reach, and nothing may stand in for it.
            BadRequest: an episode was refused.
        """
        listed = list(ops)
        for op in listed:
            if isinstance(op, PutOp):
                self._allow(op)
        return [self._do(op) for op in listed]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As ``batch``, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def close(self) -> None:
        """Report what was read and close the connections. Safe to call twice."""
        if not self._memory._closed:
            self._memory.session(self._session_id, self._agent).report()
        self._memory.close()

    def __enter__(self) -> SlowwaveStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, op: Op) -> Result:
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, ListNamespacesOp):
            return _listed(self._path, op)
        self._put(op)
        return None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        if not self._within(op.namespace_prefix):
            return []
        wanted = MOST if op.filter else min(MOST, max(1, op.offset + op.limit))
        items = self._by_query(op.query, wanted) if op.query else self._startup()
        kept = [item for item in items if not op.filter or _matches(item.value, op.filter)]
        return kept[op.offset : op.offset + op.limit]

    def _by_query(self, query: str, k: int) -> list[SearchItem]:
        found = self._memory.rules(query, self._environment, self._session_id, self._agent, k)
        more = {"stale": True, "stale_reason": found.stale_reason} if found.stale else {}
        return [SearchItem(self._path, rule.id, _value(rule) | more, UNTIMED, UNTIMED) for rule in found]

    def _startup(self) -> list[SearchItem]:
        pack = self._memory._run(startup(self._memory._core, self._session_id, self._agent))
        return [
            SearchItem(self._path, one.rule.id, _value(one.rule) | {"reason": one.reason}, UNTIMED, UNTIMED)
            for one in pack.rules
        ]

    def _get(self, op: GetOp) -> Item | None:
        if tuple(op.namespace) != self._path:
            self._outside(op.namespace)
            return None
        try:
            rule = self._memory.rule(op.key, self._session_id, self._agent)
        except (NotFound, VersionGone):
            return None
        return Item(value=_value(rule), key=rule.id, namespace=self._path, created_at=UNTIMED, updated_at=UNTIMED)

    def _put(self, op: PutOp) -> None:
        assert op.value is not None
        episode = {"id": op.key, "session_id": self._session_id, **_episode(op.key, op.value)}
        if self._agent:
            episode.setdefault("agent", self._agent)
        self._memory._run(send_episode(self._memory._core, episode, self._ingest_token))

    def _allow(self, op: PutOp) -> None:
        own = "/".join(self._path)
        if tuple(op.namespace) != self._path:
            raise InvalidNamespaceError(f"this store is bound to {self._path}: {tuple(op.namespace)} cannot be written")
        if op.value is None:
            raise DeleteRefused(
                f"{op.key!r} in {own!r} cannot be deleted by a graph: rules are reviewed by people. A reviewer "
                f"withdraws one with: slowwave revoke {op.key} --reason WHY"
            )
        if self._ingest_token is None:
            raise AccessRefused(
                f"{op.key!r} cannot be put into {own!r}: this store has no token that may record episodes. Give "
                "ingest_token, made with: slowwave token create --role ingest --namespace " + own
            )

    def _within(self, prefix: tuple[str, ...]) -> bool:
        inside = self._path[: len(prefix)] == tuple(prefix)
        if not inside:
            self._outside(prefix)
        return inside

    def _outside(self, asked: tuple[str, ...]) -> None:
        log.warning("slowwave: this store holds %s only; nothing is under %s", self._path, tuple(asked))


def _value(rule: Rule) -> dict[str, Any]:
    return {
        "version": rule.version,
        "when_to_use": rule.when_to_use,
        "guidance": list(rule.guidance),
        "scope": dict(rule.scope),
        "evidence": vars(rule.evidence).copy(),
        "recheck_at": rule.recheck_at,
        "conflicts": [dict(one) for one in rule.conflicts],
    }


def _episode(key: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """A value that is an episode as it is; any other as a run in which it was written down, which claims no outcome."""
    if "task" in value and "steps" in value:
        return dict(value)
    text = value.get("text") if set(value) == {"text"} else None
    said = text if isinstance(text, str) else json.dumps(dict(value), ensure_ascii=False, sort_keys=True)
    return {"task": f"Write down {key}", "steps": [{"kind": "memory_write", "text": said, "creates": [key]}]}


def _listed(path: tuple[str, ...], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    if not all(_fits(path, condition) for condition in op.match_conditions or ()):
        return []
    return [path[: op.max_depth] if op.max_depth is not None else path][op.offset : op.offset + op.limit]


def _fits(path: tuple[str, ...], condition: MatchCondition) -> bool:
    asked = tuple(condition.path)
    part = path[: len(asked)] if condition.match_type == "prefix" else path[max(0, len(path) - len(asked)) :]
    return len(part) == len(asked) and all(want in ("*", have) for want, have in zip(asked, part, strict=False))


def _matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_equals(value.get(name), want) for name, want in wanted.items())


def _equals(have: Any, want: Any) -> bool:
    if not isinstance(want, Mapping):
        return bool(have == want)
    if not any(name.startswith("$") for name in want):
        return isinstance(have, Mapping) and _matches(have, want)
    return all(_compares(have, operator, than) for operator, than in want.items())


def _compares(have: Any, operator: str, than: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool((have == than) == (operator == "$eq"))
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"unknown operator {operator!r} in a filter: use $eq, $ne, $gt, $gte, $lt or $lte")
    try:
        return bool({"$gt": have > than, "$gte": have >= than, "$lt": have < than, "$lte": have <= than}[operator])
    except TypeError:  # a value that is absent, or of another kind, is in no order with it
        return False
