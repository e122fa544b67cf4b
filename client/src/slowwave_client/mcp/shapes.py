"""What the tools answer. Every answer names the session it counts for and the state of the store it is true of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from slowwave_client import Rule, RuleSet, SessionCheck
from slowwave_client._impl.recording import StartupPack


class Shape(BaseModel):
    """Base of answers."""

    model_config = ConfigDict(extra="forbid")


class RuleShape(Shape):
    """One reviewed rule. Its text is advice that a person approved; it never gives permission to do anything."""

    id: str
    version: int
    when_to_use: str
    guidance: list[str] = Field(description="Steps, in order.")
    scope: dict[str, Any] = Field(description="Where it was verified: component versions, agents, dates.")
    evidence: dict[str, Any] = Field(description="How well it is supported.")
    recheck_at: str | None = Field(description="The date by which a person looks at it again.")
    conflicts: list[dict[str, Any]] = Field(description="Other active rules that advise otherwise: choose with care.")


class StartupRuleShape(RuleShape):
    """A rule worth loading first, and why."""

    reason: str


class WithheldShape(Shape):
    """A rule that fits but was left out."""

    id: str
    version: int
    reason: str


class SearchShape(Shape):
    """The rules that fit a task, best first."""

    session_id: str = Field(description="Pass it in later calls of the same run.")
    epoch: int
    rules: list[RuleShape]
    withheld: list[WithheldShape]


class OneRuleShape(Shape):
    """One rule."""

    session_id: str
    rule: RuleShape


class StartupShape(Shape):
    """The few rules worth loading before any task is known."""

    session_id: str = Field(description="Pass it in later calls of the same run.")
    epoch: int
    token_budget: int | None
    rules: list[StartupRuleShape]


class RecordShape(Shape):
    """What became of a recorded episode."""

    session_id: str
    id: str
    state: str = Field(description="new, revision, joined, or known: it had been recorded before.")


class StaleShape(Shape):
    """Something this session has read that no longer holds."""

    id: str
    version: int
    state: str
    reason: str
    current_version: int | None


class CheckShape(Shape):
    """Whether the run may go on."""

    session_id: str
    epoch: int
    verdict: str = Field(description="fine, read-only (search again before acting), or stop.")
    what_now: str
    stale: list[StaleShape]


def of_search(session_id: str, found: RuleSet) -> SearchShape:
    """A search's answer."""
    left = [WithheldShape(id=one.id, version=one.version, reason=one.reason) for one in found.withheld]
    rules = [RuleShape(**_rule(rule)) for rule in found]
    return SearchShape(session_id=session_id, epoch=found.epoch, rules=rules, withheld=left)


def of_rule(session_id: str, rule: Rule) -> OneRuleShape:
    """One rule's answer."""
    return OneRuleShape(session_id=session_id, rule=RuleShape(**_rule(rule)))


def of_startup(session_id: str, pack: StartupPack) -> StartupShape:
    """The start-up pack's answer."""
    rules = [StartupRuleShape(**_rule(one.rule), reason=one.reason) for one in pack.rules]
    return StartupShape(session_id=session_id, epoch=pack.epoch, token_budget=pack.token_budget, rules=rules)


def of_check(session_id: str, check: SessionCheck) -> CheckShape:
    """A check's answer."""
    stale = [
        StaleShape(
            id=one.id,
            version=one.version,
            state=one.state,
            reason=one.reason,
            current_version=one.current_version,
        )
        for one in check.stale
    ]
    return CheckShape(
        session_id=session_id, epoch=check.epoch, verdict=check.verdict, what_now=check.what_now, stale=stale
    )


def _rule(rule: Rule) -> Mapping[str, Any]:
    return {
        "id": rule.id,
        "version": rule.version,
        "when_to_use": rule.when_to_use,
        "guidance": list(rule.guidance),
        "scope": dict(rule.scope),
        "evidence": vars(rule.evidence).copy(),
        "recheck_at": rule.recheck_at,
        "conflicts": [dict(one) for one in rule.conflicts],
    }
