"""The HTTP contract: requests out, typed values or typed errors in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from slowwave_client._impl.effects import Request, Response
from slowwave_client._impl.errors import (
    AccessRefused,
    BadRequest,
    ForeignSession,
    MemoryUnavailable,
    NotFound,
    SlowwaveError,
    VersionGone,
)
from slowwave_client._impl.journal import Reads
from slowwave_client._impl.models import EvidenceFigures, Rule, RuleSet, SessionCheck, StaleRead, Withheld

GRANT_HEADER = "slowwave-grant-seconds"
FIELDS = ("what", "where", "what_now", "state", "reason", "kind")
"""What a refusal may say."""


def search(
    *,
    namespace: str,
    task: str,
    environment: Mapping[str, str] | None,
    k: int,
    token_budget: int | None,
    session_id: str,
    agent: str | None,
    client_instance: str,
) -> Request:
    """``POST /v1/rules/search``."""
    body = {
        "namespace": namespace,
        "task": task,
        "environment": dict(environment or {}),
        "k": k,
        "token_budget": token_budget,
        "session_id": session_id,
        "agent": agent,
        "client_instance": client_instance,
    }
    return Request("POST", "/v1/rules/search", body=body)


def lease(namespace: str) -> Request:
    """``GET /v1/lease``."""
    return Request("GET", "/v1/lease", {"namespace": namespace})


def events(namespace: str, epoch: int | None) -> Request:
    """``GET /v1/events``, resuming after ``epoch``."""
    headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
    if epoch is not None:
        headers["Last-Event-ID"] = f"{epoch}-0"
    return Request("GET", "/v1/events", {"namespace": namespace}, headers=headers)


def ack(namespace: str, consumer: str, epoch: int) -> Request:
    """``POST /v1/acks``."""
    return Request("POST", "/v1/acks", body={"namespace": namespace, "consumer": consumer, "epoch": epoch})


def session_report(namespace: str, session_id: str, instance: str, reads: Reads) -> Request:
    """``POST /v1/sessions/{id}``: the session is over, and this is all it read."""
    listed = [{"id": rule, "version": version, "times": times} for (rule, version), times in sorted(reads.items())]
    body = {"namespace": namespace, "client_instance": instance, "ended": True, "reads": listed}
    return Request("POST", f"/v1/sessions/{quote(session_id, safe='')}", body=body)


def session_check(namespace: str, session_id: str) -> Request:
    """``GET /v1/sessions/{id}``."""
    return Request("GET", f"/v1/sessions/{quote(session_id, safe='')}", {"namespace": namespace})


def rule(namespace: str, rule_id: str, session_id: str, agent: str | None) -> Request:
    """``GET /v1/rules/{id}``."""
    params = {"namespace": namespace, "session_id": session_id} | ({"agent": agent} if agent else {})
    return Request("GET", f"/v1/rules/{quote(rule_id, safe='')}", params)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """An answer whose fields are not as agreed is as good as none."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise MemoryUnavailable(
            f"the server's answer to {what} is not understood ({type(problem).__name__}: {problem}): "
            "are client and server of the same version?"
        ) from problem


@dataclass(frozen=True)
class Lease:
    """What the server read in the database, and how long ago."""

    epoch: int
    lease_seconds: float
    age_seconds: float


def parse_lease(data: Mapping[str, Any]) -> Lease:
    """The part of an answer that renews a lease."""
    with reading("a lease request"):
        return Lease(int(data["epoch"]), float(data["lease_seconds"]), float(data.get("age_seconds", 0.0)))


def grant_seconds(response: Response, lease: Lease) -> float:
    """How long this answer may be cached; a server that does not say means one lease."""
    with reading("a search"):
        return float(response.headers.get(GRANT_HEADER, lease.lease_seconds))


def parse_rule(data: Mapping[str, Any]) -> Rule:
    """One rule of an answer."""
    with reading("a request for a rule"):
        return _rule(data)


def _rule(data: Mapping[str, Any]) -> Rule:
    figures = data.get("evidence") or {}
    return Rule(
        id=data["id"],
        version=data["version"],
        when_to_use=data["when_to_use"],
        guidance=tuple(data["guidance"]),
        scope=MappingProxyType(dict(data.get("scope") or {})),
        evidence=EvidenceFigures(
            figures.get("independent_groups"), figures.get("support"), figures.get("counter"), figures.get("lift")
        ),
        recheck_at=data.get("recheck_at"),
        conflicts=tuple(MappingProxyType(dict(one)) for one in data.get("conflicts") or ()),
    )


def parse_rules(data: Mapping[str, Any]) -> RuleSet:
    """The answer of a search."""
    with reading("a search"):
        return RuleSet(
            rules=tuple(_rule(one) for one in data["rules"]),
            epoch=data["epoch"],
            withheld=tuple(Withheld(one["id"], one["version"], one["reason"]) for one in data.get("withheld") or ()),
        )


def parse_check(data: Mapping[str, Any]) -> SessionCheck:
    """The answer about a session."""
    with reading("a session check"):
        stale = tuple(
            StaleRead(one["id"], one["version"], one["state"], one.get("reason") or "", one.get("current_version"))
            for one in data["stale"]
        )
        return SessionCheck(data["verdict"], stale, data["what_now"], data["epoch"])


def body(response: Response) -> dict[str, Any]:
    """The decoded body of a good answer.

    Raises:
        SlowwaveError: the subclass that fits the status.
    """
    if response.status != 200:
        raise error(response)
    try:
        data = response.json()
    except ValueError as problem:
        raise MemoryUnavailable(f"the server's answer is not JSON ({problem}): is this a Slowwave address?") from None
    if not isinstance(data, dict):
        raise MemoryUnavailable("the server's answer is not a JSON object: is this a Slowwave address?")
    return data


def error(response: Response) -> SlowwaveError:
    """The exception for an answer that is not good. What the server says is passed on."""
    told = _told(response)
    status = response.status
    message = f"{told['what']} [{told['where']}] {told['what_now']}".strip()
    if status == 410:
        return VersionGone(message, state=told["state"], reason=told["reason"], what_now=told["what_now"])
    if told["kind"] == "foreign-session":
        return ForeignSession(message, status=status, what_now=told["what_now"])
    kind = {401: AccessRefused, 403: AccessRefused, 404: NotFound}.get(status)
    if kind is None:
        kind = BadRequest if 400 <= status < 500 and status not in (408, 425, 429) else MemoryUnavailable
    return kind(message, status=status, what_now=told["what_now"], retry_after=_retry_after(response))


def _retry_after(response: Response) -> float | None:
    """Seconds; a date, which our server never sends, is as if nothing were said."""
    said = response.headers.get("retry-after", "")
    return float(said) if said.isascii() and said.isdigit() and len(said) < 6 else None


def _told(response: Response) -> dict[str, str]:
    try:
        data = response.json()["error"]
        told = {name: str(data.get(name) or "") for name in FIELDS}
    except (ValueError, KeyError, TypeError, AttributeError):
        told = dict.fromkeys(FIELDS, "")
    told["what"] = told["what"] or f"the server answered {response.status}"
    return told
