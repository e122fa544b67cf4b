"""The checks on a draft: each says what it found and what to do about it. Pure.

``fail`` keeps a packet from being approved; ``warn`` is for the reviewer to weigh. A failed check named in ``HOLDS``
keeps the draft out of the queue altogether: there is nothing in it for a person to decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from tasks.verify.signs import Sign, signs
from tasks.verify.support import MIN_GROUPS, Remaining

Verdict = Literal["pass", "warn", "fail"]

HOLDS = frozenset({"citations", "independence", "held-out", "revoked-before", "recall"})
"""Checks whose failure means that there is no new finding to show."""

NAMELIKE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])\w{5,}\b|\b\d{5,}\b|[\w.+-]+@[\w-]+\.\w+|https?://\S+")
"""Literals that name one thing: order numbers, codes, addresses."""


@dataclass(frozen=True)
class Check:
    """One check as the packet keeps it."""

    name: str
    verdict: Verdict
    detail: str
    fix: str = ""

    def as_row(self) -> dict[str, str]:
        """As JSON."""
        return {"name": self.name, "verdict": self.verdict, "detail": self.detail, "fix": self.fix}


@dataclass(frozen=True)
class CitedRun:
    """One cited episode as it is now. ``known_steps`` are the steps of its body; ``echo``: it had read such a rule."""

    episode_id: str
    group: str
    stance: str
    steps: frozenset[str]
    known_steps: frozenset[str]
    current: bool = True
    tainted: bool = False
    echo: bool = False
    external: bool = False
    signs: tuple[Sign, ...] = ()


@dataclass(frozen=True)
class RevokedBefore:
    """The latest revoked version with the same claim, and what the runs that arrived since say by themselves."""

    rule_id: str
    version: int
    reason: str
    at: str
    since: Remaining


@dataclass(frozen=True)
class Subject:
    """A draft with everything that is asked about it. ``same`` is the active rule with the same claim, if any."""

    content: Mapping[str, Any]
    packet: Mapping[str, Any]
    cited: Sequence[CitedRun]
    today: date
    secrets: Mapping[str, int] = field(default_factory=dict)
    same: tuple[str, int, bool] | None = None
    revoked: RevokedBefore | None = None


def check_all(subject: Subject) -> list[Check]:
    """Every check, in the order a reader wants them."""
    asked = (
        citations, independence, held_out, agent, exceptions_named, over_specific, over_general, hidden_text, orders,
        secrets, revoked_before, recall, scope,
    )  # fmt: skip
    return [check(subject) for check in asked]


def citations(subject: Subject) -> Check:
    """Every cited episode is there, current and unpurged, and has the cited steps."""
    if not subject.cited:
        return Check("citations", "fail", "nothing is cited", "a finding without observations cannot be reviewed")
    lost = [run.episode_id for run in subject.cited if not run.current]
    broken = [run.episode_id for run in subject.cited if run.current and run.steps - run.known_steps]
    tainted = [run.episode_id for run in subject.cited if run.tainted]
    if lost or broken or tainted:
        detail = (
            f"{len(lost)} cited episodes are superseded or purged, {len(broken)} lack a cited step, "
            f"{len(tainted)} ran under a rule that was revoked"
        )
        return Check("citations", "fail", detail, "the next night drafts it again from what is left")
    return Check("citations", "pass", f"{len(subject.cited)} cited episodes and their steps are all there")


def independence(subject: Subject) -> Check:
    """Enough independent groups show it, and both outcomes were compared; echoes of the rule itself do not count."""
    support = {run.group for run in subject.cited if run.stance == "support" and not run.echo}
    effect = subject.packet.get("effect") or {}
    sides = min(effect.get("success_total") or 0, effect.get("failure_total") or 0)
    principals = (subject.packet.get("evidence") or {}).get("principals", 0)
    detail = f"{len(support)} independent groups show it, reported by {_many(principals, 'principal')}"
    if len(support) < MIN_GROUPS or sides < MIN_GROUPS:
        fix = f"at least {MIN_GROUPS} independent groups must show it, and as many of each outcome be compared"
        return Check("independence", "fail", detail, fix)
    return Check("independence", "pass", detail)


def held_out(subject: Subject) -> Check:
    """Confirmed on groups that it was not found on, in the same direction."""
    found = subject.packet.get("held_out") or {}
    if not found.get("confirmed", found.get("same_direction")) or not found.get("same_direction"):
        return Check("held-out", "fail", "not confirmed on groups it was not found on", "wait for more runs")
    return Check("held-out", "pass", f"confirmed on {found.get('groups')} groups it was not found on")


def agent(subject: Subject) -> Check:
    """Whether the effect could be told apart from which agent ran."""
    adjusted = subject.packet.get("agent_adjusted") or {}
    verdict = str(adjusted.get("verdict", "not-asked"))
    if verdict == "same":
        return Check("agent", "pass", f"it stays when adjusted for which of {adjusted.get('agents')} agents ran")
    if verdict == "one-agent":
        return Check("agent", "pass", "one agent made all of these runs, so there is nothing to adjust for")
    fix = "see whether one agent brings most of the evidence"
    return Check("agent", "warn", f"adjusted for which agent ran, it is: {verdict}", fix)


def exceptions_named(subject: Subject) -> Check:
    """Where successes do the opposite in some tasks, the advice must be to check, and the tasks be named."""
    named = list(subject.packet.get("exceptions") or [])
    if not named:
        return Check("exceptions", "pass", "in no task do successes do the opposite")
    detail = f"in {_many(len(named), 'task')} successes do the opposite: {', '.join(map(str, named[:8]))}"
    first = str((subject.content.get("guidance") or [""])[0])
    if not re.search(r"\b(check|unless)\b", first, re.IGNORECASE):
        return Check("exceptions", "warn", detail, "the advice should be to check whether it applies, not to insist")
    return Check("exceptions", "pass", f"{detail}; the advice is to check")


def over_specific(subject: Subject) -> Check:
    """No literal in the text that names one thing, such as an order number."""
    literals = sorted({found for text in _advice(subject.content) for found in NAMELIKE.findall(text)})
    if literals:
        detail = f"the text holds literals that may be of a single run: {', '.join(literals[:5])}"
        return Check("over-specific", "warn", detail, "see whether the advice holds without them")
    return Check("over-specific", "pass", "no literal of a single run is in the text")


def over_general(subject: Subject) -> Check:
    """Enough tasks behind it for the family in which it would be served."""
    strata = (subject.packet.get("effect") or {}).get("strata") or 0
    spoken = len(subject.packet.get("strata") or [])
    detail = f"{strata} of {_many(spoken, 'task')} it speaks of tell successes from failures"
    if strata < 3 or strata * 10 < spoken:
        return Check("over-general", "warn", detail, "it would be served in tasks that say nothing about it yet")
    return Check("over-general", "pass", detail)


def hidden_text(subject: Subject) -> Check:
    """No hidden characters in what agents would read; those in cited steps are pointed out."""
    own = [sign for sign in signs(_advice(subject.content)) if sign.kind != "order"]
    if own:
        return Check("hidden-text", "fail", f"the text holds {_listed(own)}", "reject it, or edit the text")
    where, found = _marked(subject.cited, orders=False)
    if found:
        fix = "read them with the marks shown"
        return Check("hidden-text", "warn", f"{where} hold {_listed(found)}", fix)
    return Check("hidden-text", "pass", "no hidden characters")


def orders(subject: Subject) -> Check:
    """Nothing that reads as an order to the agent, in the text or in what it rests on."""
    own = [sign for sign in signs(_advice(subject.content)) if sign.kind == "order"]
    if own:
        return Check("injection", "fail", f"the text {_listed(own)}", "reject it, or edit the text")
    where, found = _marked(subject.cited, orders=True)
    if found:
        fix = "text from outside may be evidence of facts, never a source of instructions or permission"
        return Check("injection", "warn", f"{where} hold text that {_listed(found)}", fix)
    return Check("injection", "pass", "no text that reads as an order to the agent")


def secrets(subject: Subject) -> Check:
    """No secret in what agents would read."""
    if subject.secrets:
        kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(subject.secrets.items()))
        return Check("secrets", "fail", f"the text seems to hold secrets: {kinds}", "reject it, or edit the text")
    return Check("secrets", "pass", "no secrets")


def revoked_before(subject: Subject) -> Check:
    """A claim that was revoked comes back only on runs that arrived after its revocation."""
    before = subject.revoked
    if before is None:
        return Check("revoked-before", "pass", "this claim was never revoked")
    told = f"revoked before, on {before.at[:10]} ({before.rule_id} version {before.version}): {before.reason}"
    if not before.since.stands:
        detail = f"{told}; the runs that arrived since do not confirm it: {before.since.words()}"
        return Check("revoked-before", "fail", detail, "it comes back when runs made after its revocation confirm it")
    return Check("revoked-before", "warn", f"{told}; runs since then confirm it: {before.since.words()}", "weigh why")


def recall(subject: Subject) -> Check:
    """An active rule that says the same is refreshed or replaced by a version of its own, never doubled."""
    if subject.same is None:
        return Check("recall", "pass", "no active rule makes this claim")
    rule_id, version, unchanged = subject.same
    if unchanged:
        return Check("recall", "fail", f"{rule_id} version {version} says this already", "nothing to do: it is active")
    return Check("recall", "warn", f"would be a new version of {rule_id}, which is at {version}", "read the difference")


def scope(subject: Subject) -> Check:
    """Namespace, and a re-check date that is still to come."""
    given = subject.content.get("scope") or {}
    due = str(given.get("recheck_at") or "")
    if not given.get("namespace") or not due:
        return Check("scope", "fail", "scope or re-check date is missing", "set both")
    if date.fromisoformat(due[:10]) <= subject.today:
        return Check("scope", "fail", f"its re-check date {due} has passed", "the next night sets a new one")
    return Check("scope", "pass", f"holds in {given['namespace']}, to be checked again on {due}")


def held_back(checks: Sequence[Check]) -> list[Check]:
    """The failed checks that keep a draft out of the queue."""
    return [check for check in checks if check.verdict == "fail" and check.name in HOLDS]


def _advice(content: Mapping[str, Any]) -> list[str]:
    return [str(content.get("when_to_use") or ""), *(str(line) for line in content.get("guidance") or [])]


def _marked(cited: Sequence[CitedRun], *, orders: bool) -> tuple[str, list[Sign]]:
    """Where signs were found, in words, and which."""
    found = {run.episode_id: [s for s in run.signs if (s.kind == "order") == orders] for run in cited}
    marked = {episode_id: signs for episode_id, signs in found.items() if signs}
    where = f"{len(marked)} of {len(found)} cited runs (first: {min(marked)})" if marked else ""
    return where, [sign for each in marked.values() for sign in each]


def _listed(found: Sequence[Sign]) -> str:
    return "; ".join(sorted({sign.what for sign in found})[:6])


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
