"""Flows beside the cache: what is worth loading first, and episodes on their way back.

Neither is ever answered from the cache. An episode may go out under a token of its own; that token's refusal says
nothing about reading, and so does not empty the cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slowwave_client._impl import flows, protocol
from slowwave_client._impl.core import Core
from slowwave_client._impl.effects import Call, Flow, Request, Response
from slowwave_client._impl.errors import BadRequest, NotFound, TransportFailed
from slowwave_client._impl.models import Rule


@dataclass(frozen=True)
class StartupRule:
    """A rule worth loading before any task is known, and why."""

    rule: Rule
    reason: str


@dataclass(frozen=True)
class StartupPack:
    """The few rules worth loading first, within ``token_budget`` tokens, as of ``epoch``."""

    epoch: int
    token_budget: int | None
    rules: tuple[StartupRule, ...]


@dataclass(frozen=True)
class Recorded:
    """What became of an episode: ``new``, ``joined`` to the run it is part of, a ``revision``, or ``known`` before."""

    state: str


def startup(
    core: Core, session_id: str | None = None, agent: str | None = None, token_budget: int | None = None
) -> Flow[StartupPack]:
    """The few rules worth loading first, always from the server.

    Raises:
        NotFound: the namespace is unknown, or the server is too old to have such a pack.
        MemoryUnavailable: the server is out of reach.
    """
    params = {"namespace": core.namespace, "session_id": session_id or core.instance}
    params |= {"agent": agent} if agent else {}
    params |= {"token_budget": str(token_budget)} if token_budget is not None else {}
    response = yield from flows._call(core, Request("GET", "/v1/startup", params))
    try:
        data = protocol.body(response)
    except NotFound as problem:
        if "namespace" in str(problem):
            raise
        what = "this server has no start-up pack: search for the rules of your task instead"
        raise NotFound(what, status=404, what_now="search for the rules of your task instead") from None
    with protocol.reading("a request for the start-up pack"):
        found = tuple(StartupRule(protocol.parse_rule(one), str(one.get("reason") or "")) for one in data["rules"])
        return StartupPack(int(data["epoch"]), data.get("token_budget"), found)


def send_episode(core: Core, episode: Mapping[str, Any], token: str | None = None) -> Flow[Recorded]:
    """Send one episode in the canonical form; the same one again changes nothing.

    Args:
        episode: ``task`` and ``steps`` at least.
        token: one that may ingest; the client's own if absent.

    Raises:
        AccessRefused: the token may not ingest here.
        BadRequest: the server refused the record; says why.
        MemoryUnavailable: the server is out of reach: send it again.
    """
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    params = {"namespace": core.namespace, "format": "canonical"}
    try:
        response: Response = yield Call(Request("POST", "/v1/episodes", params, episode, headers))
    except TransportFailed as problem:
        raise core.unavailable(str(problem)) from problem
    data = protocol.body(response)
    with protocol.reading("an episode"):
        if data["rejected"]:
            what = f"the episode was not taken: {data['rejected'][0]['reason']}"
            raise BadRequest(what, status=response.status, what_now="correct it and send it again")
        for count, state in (("duplicates", "known"), ("revised", "revision"), ("joined", "joined")):
            if data[count]:
                return Recorded(state)
        return Recorded("new")
