"""What callers may do, written once: each flow is made blocking or awaitable by ``doors``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from slowwave_client._impl import protocol, tracing
from slowwave_client._impl.core import Core, Key
from slowwave_client._impl.effects import AwaitChange, Call, Flow, Request, Response
from slowwave_client._impl.errors import (
    AccessRefused,
    ForeignSession,
    MemoryUnavailable,
    SlowwaveError,
    TransportFailed,
    WaitTimeout,
)
from slowwave_client._impl.models import Rule, RuleSet, SessionCheck
from slowwave_client._impl.record import EpisodeRecord

log = logging.getLogger("slowwave_client")
ATTEMPTS = 3


def rules(
    core: Core,
    task: str,
    environment: Mapping[str, str] | None = None,
    session_id: str | None = None,
    agent: str | None = None,
    k: int = 5,
    token_budget: int | None = None,
) -> Flow[RuleSet]:
    """The reviewed rules that fit this task, best first; from the cache where that is known to be current.

    Args:
        task: what the agent is about to do, in any language.
        environment: component name to version, such as ``{"pandas": "2.2"}``; rules verified elsewhere are withheld.
        session_id: the agent run that reads; reads are attributed to it. The client's own if absent.
        agent: the agent's name.
        k: at most so many rules.
        token_budget: at most so many tokens of rules.

    Raises:
        MemoryStale: the server is out of reach and the lease ran out: nothing is served.
        MemoryUnavailable: the server is out of reach and this request is not cached.
        AccessRefused, NotFound, BadRequest: the server said no.
    """
    session_id = session_id or core.instance
    key: Key = (task, tuple(sorted(environment.items())) if environment else (), agent, k, token_budget)
    with tracing.searching(core.namespace, session_id, agent, task) as search:
        hit = core.hit(key, session_id)
        if hit is not None:
            return search.came_to(hit, cached=True)
        answer, cached = yield from _asked(core, key, environment, session_id)
        return search.came_to(answer, cached)


def _asked(core: Core, key: Key, environment: Mapping[str, str] | None, session_id: str) -> Flow[tuple[RuleSet, bool]]:
    """The server's answer; or, where it gives none and that is allowed, the last one kept, and that it is."""
    task, _, agent, k, token_budget = key
    request = protocol.search(
        namespace=core.namespace,
        task=task,
        environment=environment,
        k=k,
        token_budget=token_budget,
        session_id=session_id,
        agent=agent,
        client_instance=core.instance,
    )
    failure: SlowwaveError = core.unavailable(
        "every answer was older than an epoch already seen, or too long under way"
    )
    for _ in range(ATTEMPTS):
        ticket = core.ticket()
        try:
            response: Response = yield from _call(core, request)
            data = protocol.body(response)
            answer, lease = protocol.parse_rules(data), protocol.parse_lease(data)
        except MemoryUnavailable as problem:
            failure = problem
            core.failed(problem)
            break
        grant = protocol.grant_seconds(response, lease)
        renewed = core.learn(ticket, lease.epoch, lease.lease_seconds, lease.age_seconds)
        if renewed and core.store(key, session_id, ticket, answer, grant):
            return answer, False
    return core.last_resort(key, session_id, failure), True


def rule(core: Core, rule_id: str, session_id: str | None = None, agent: str | None = None) -> Flow[Rule]:
    """One rule's active version, always from the server.

    Raises:
        VersionGone: it has no active version any more.
        MemoryUnavailable: the server is out of reach.
    """
    response = yield from _call(core, protocol.rule(core.namespace, rule_id, session_id or core.instance, agent))
    return protocol.parse_rule(protocol.body(response))


def check(core: Core, session_id: str | None = None) -> Flow[SessionCheck]:
    """Whether anything this session was served has changed since, and how to go on.

    Raises:
        MemoryUnavailable: the server is out of reach.
    """
    response = yield from _call(core, protocol.session_check(core.namespace, session_id or core.instance))
    return protocol.parse_check(protocol.body(response))


def wait_for_epoch(core: Core, epoch: int, timeout: float = 5.0) -> Flow[int]:
    """Wait until this client has seen ``epoch``; the epoch it is at.

    Raises:
        WaitTimeout: it did not within ``timeout`` seconds.
    """
    reached: bool = yield AwaitChange(lambda: core.epoch is not None and core.epoch >= epoch, timeout)
    if not reached:
        raise WaitTimeout(f"epoch {epoch} of {core.namespace!r} was not seen within {timeout} s: at {core.epoch}")
    return core.epoch or 0


def wait_until_connected(core: Core, timeout: float = 5.0) -> Flow[None]:
    """Wait until the event stream is up.

    Raises:
        WaitTimeout: it did not come up within ``timeout`` seconds; says the last error.
    """
    up: bool = yield AwaitChange(lambda: core.connected, timeout)
    if not up:
        raise WaitTimeout(f"no event stream of {core.namespace!r} within {timeout} s: {core.last_error or 'no error'}")


@dataclass
class SessionCore:
    """One session on a client. ``ingest_token`` sends its episode, where the client's own may not."""

    core: Core
    session_id: str
    agent: str | None
    ingest_token: str | None = field(default=None, repr=False)
    record: EpisodeRecord | None = None


def session_rules(
    session: SessionCore,
    task: str,
    environment: Mapping[str, str] | None = None,
    k: int = 5,
    token_budget: int | None = None,
) -> Flow[RuleSet]:
    """As the client's ``rules``, read by this session; its episode gets a step for each version."""
    answer = yield from rules(session.core, task, environment, session.session_id, session.agent, k, token_budget)
    if session.record is not None:
        session.record.read(answer.rules)
    return answer


def session_check(session: SessionCore) -> Flow[SessionCheck]:
    """As the client's ``check``, for this session."""
    return (yield from check(session.core, session.session_id))


def session_report(session: SessionCore) -> Flow[None]:
    """Tell the server what the session read. A failure is logged: the server then counts every grant as a read."""
    core = session.core
    reads = core.journal.close(session.session_id)
    if reads is None:
        return
    request = protocol.session_report(core.namespace, session.session_id, core.instance, reads)
    try:
        response = yield from _call(core, request)
        protocol.body(response)
    except SlowwaveError as problem:
        log.warning("slowwave: session %s could not be reported: %s", session.session_id, problem)


def _call(core: Core, request: Request) -> Flow[Response]:
    """Send; a transport that fails is ``MemoryUnavailable``, a refused token ends serving at once.

    A session that is another token's says nothing against this one: the cache stays.
    """
    try:
        response: Response = yield Call(request)
    except TransportFailed as problem:
        raise core.unavailable(str(problem)) from problem
    if response.status in (401, 403):
        refusal = protocol.error(response)
        assert isinstance(refusal, AccessRefused)
        if not isinstance(refusal, ForeignSession):
            core.lost_access(refusal)
        raise refusal
    return response
