"""The checks on a draft: each says what it found and what to do about it. Pure.

``warn`` is for the reviewer to weigh. ``fail`` keeps a packet from being approved, as far as the namespace's policy
lets that check block. A failed check named in ``HOLDS`` keeps the draft out of the queue altogether: there is nothing
in it for a person to decide. How often a rule was read is no check: usage is never truth.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from typing import Any

from tasks.contrast.recoveries import is_everywhere
from tasks.verify.check import Check, CitedRun, RevokedBefore, Subject, Verdict, many
from tasks.verify.checks_text import authoritative, hidden_text, orders, over_specific, secrets
from tasks.verify.support import MIN_GROUPS

__all__ = ["CHECKS", "HOLDS", "Check", "CitedRun", "RevokedBefore", "Subject", "Verdict", "check_all", "held_back"]

HOLDS = frozenset({"citations", "independence", "held-out", "revoked-before", "recall"})
"""Checks whose failure means that there is no new finding to show."""


def check_all(subject: Subject) -> list[Check]:
    """Every check, in the order a reader wants them."""
    return [check(subject) for check in CHECKS.values()]


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
    evidence = subject.packet.get("evidence") or {}
    principals, shown = evidence.get("principals", 0), evidence.get("support") or 0
    echoes = len({run.episode_id for run in subject.cited if run.echo})
    reported = f"reported by {many(principals, 'principal')}"
    if shown > len(support):
        detail = f"{shown} independent groups show it, {reported}; {len(support)} of them are cited"
    else:
        detail = f"{many(len(support), 'independent group')} {'shows' if len(support) == 1 else 'show'} it, {reported}"
    if echoes:
        detail += f"; {echoes} cited runs had read it or its kin and do not count"
    if subject.left_out:
        detail += f"; {many(subject.left_out, 'run')} of its family ran under a rule that was revoked, and are left out"
    if len(support) < MIN_GROUPS or sides < MIN_GROUPS:
        fix = f"at least {MIN_GROUPS} independent groups must show it, and as many of each outcome be compared"
        return Check("independence", "fail", detail, fix)
    return Check("independence", "pass", detail)


def held_out(subject: Subject) -> Check:
    """Confirmed on groups that it was not found on, in the same direction."""
    found = subject.packet.get("held_out") or {}
    if not found.get("confirmed", found.get("same_direction")) or not found.get("same_direction"):
        return Check("held-out", "fail", "not confirmed on groups it was not found on", "wait for more runs")
    detail = f"confirmed on {many(int(found.get('groups') or 0), 'group')} it was not found on"
    return Check("held-out", "pass", f"{detail}{_left_out(subject, found)}")


def _left_out(subject: Subject, found: Mapping[str, Any]) -> str:
    """How many of the tasks compared the confirming test left out, and why, as it may have another effect for it."""
    tested, compared = found.get("strata") or 0, (subject.packet.get("effect") or {}).get("strata") or 0
    if not tested or tested >= compared or found.get("earlier") or _is_everywhere(subject):
        return ""
    apart = compared - tested
    why = "the half it was found on did not show it there, or the other half had too few runs there"
    if found.get("by_task"):
        why = "it was found on those"
    return f", in {tested} of the {many(compared, 'task')} compared; {apart} left out: {why}"


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
    detail = f"in {many(len(named), 'task')} successes do the opposite: {', '.join(map(str, named[:8]))}"
    first = str((subject.content.get("guidance") or [""])[0])
    if not re.search(r"\b(check|unless)\b", first, re.IGNORECASE):
        return Check("exceptions", "warn", detail, "the advice should be to check whether it applies, not to insist")
    return Check("exceptions", "pass", f"{detail}; the advice is to check")


def mixed_cluster(subject: Subject) -> Check:
    """No cluster of the runs behind it in which the effect goes the other way: one rule for two kinds of work."""
    if _is_everywhere(subject):
        return Check("mixed-cluster", "pass", "it speaks of one error of one command, whatever the task")
    clusters: defaultdict[str, set[str]] = defaultdict(set)
    for run in subject.cited:
        if run.cluster:
            clusters[run.cluster].add(run.stratum)
    rows = {str(row.get("stratum")): row for row in subject.packet.get("strata") or []}
    away = -1 if str((subject.content.get("predicate") or {}).get("direction")) == "do" else 1
    leans = {name: lean for name, tasks in clusters.items() if (lean := _lean(rows, tasks)) is not None}
    small = len(clusters) - len(leans)
    unseen = f"{small} {'is' if small == 1 else 'are'} too small or of one task, so not looked at"
    opposed = sorted(name for name, lean in leans.items() if lean * away > 0)
    if opposed:
        detail = f"in {len(opposed)} of {many(len(leans), 'cluster')} the effect goes the other way: {opposed[0]}"
        detail += f"; {small} more {unseen.partition(' ')[2]}" if small else ""
        return Check("mixed-cluster", "warn", detail, "see whether the advice should be scoped to the other clusters")
    if not leans:
        said = f"of {many(small, 'cluster')} {unseen}" if small else "none of the cited runs is in a cluster"
        return Check("mixed-cluster", "pass", f"not applicable: {said}")
    detail = f"it goes the same way in {many(len(leans), 'cluster')}"
    return Check("mixed-cluster", "pass", f"{detail}; {unseen}" if small else detail)


def _is_everywhere(subject: Subject) -> bool:
    """Whether it was found among the steps of all sessions: then its strata are agents."""
    return is_everywhere(subject.content.get("predicate") or {})


def _lean(rows: Mapping[str, Mapping[str, Any]], tasks: Collection[str]) -> float | None:
    """Log of the Mantel-Haenszel odds ratio of success over some tasks; None where fewer than two of them tell."""
    up = down = 0.0
    telling = 0
    for name, row in rows.items():
        # A task key under which two descriptions were met is split as key~hash.
        if name not in tasks and name.partition("~")[0] not in tasks:
            continue
        won_with, won_without = row["success_with"], row["success_without"]
        lost_with, lost_without = row["failure_with"], row["failure_without"]
        n = won_with + won_without + lost_with + lost_without
        margins = (won_with + lost_with, won_without + lost_without, won_with + won_without, lost_with + lost_without)
        telling += all(margins)
        up, down = up + won_with * lost_without / max(n, 1), down + won_without * lost_with / max(n, 1)
    return math.log((up + 0.5) / (down + 0.5)) if telling >= 2 else None


def coverage(subject: Subject) -> Check:
    """Every run that it cites for itself is one that it speaks of: nothing was lost between the runs and the words."""
    cited = [run for run in subject.cited if run.stance == "support"]
    lost = [run for run in cited if run.strayed]
    if lost:
        detail = f"{len(lost)} of {len(cited)} runs cited for it are not covered by it (first: {lost[0].strayed})"
        return Check("coverage", "warn", detail, "widen when it applies, or cite only what it speaks of")
    return Check("coverage", "pass", f"it covers the {len(cited)} runs that are cited for it")


def over_general(subject: Subject) -> Check:
    """Enough tasks behind it for the family in which it would be served, and no other work that it would reach."""
    strata = (subject.packet.get("effect") or {}).get("strata") or 0
    spoken = len(subject.packet.get("strata") or [])
    noun = "agent" if _is_everywhere(subject) else "task"
    detail = f"{strata} of {many(spoken, noun)} it speaks of tell successes from failures"
    if strata < 3 or strata * 10 < spoken:
        return Check("over-general", "warn", detail, "it would be served in tasks that say nothing about it yet")
    if subject.elsewhere:
        named = ", ".join(f"“{label}”" for label in subject.elsewhere[:3])
        detail = f"{detail}; its calls are made in {many(len(subject.elsewhere), 'other family').replace('ys', 'ies')}"
        return Check(
            "over-general", "warn", f"{detail}: {named}", "it would be served there, where nothing was compared"
        )
    return Check("over-general", "pass", detail)


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


def drafts_agree(subject: Subject) -> Check:
    """Where a model wrote it: asked again, it claims the same."""
    said = subject.packet.get("agreement") or {}
    drafts, agree = int(said.get("drafts") or 0), int(said.get("agree") or 0)
    if drafts < 2:
        return Check("drafts-agree", "pass", "not applicable: no model was asked more than once")
    detail = f"{agree} of {drafts} drafts of a model make this claim"
    if agree * 3 < drafts * 2:
        return Check("drafts-agree", "warn", detail, "the model is not sure of it: rest on the figures, not its words")
    return Check("drafts-agree", "pass", detail)


def replay(subject: Subject) -> Check:
    """Where runs can be made again: with this one condition changed and all else equal, the outcome changes."""
    seen = subject.replayed
    if seen is None:
        return Check("replay", "pass", "not applicable: no replay hook is set up")
    if not seen.pairs:
        return Check("replay", "pass", f"not applicable: {seen.why or 'the hook cannot change this condition'}")
    detail = (
        f"made again {many(seen.pairs, 'time')} with this one condition changed: better {seen.better}, worse "
        f"{seen.worse}, the same {seen.pairs - seen.better - seen.worse}"
    )
    if seen.better > seen.worse:
        return Check("replay", "pass", detail)
    return Check("replay", "warn", detail, "following it did not help when all else was equal: see what goes with it")


def held_back(checks: Sequence[Check]) -> list[Check]:
    """The failed checks that keep a draft out of the queue."""
    return [check for check in checks if check.verdict == "fail" and check.name in HOLDS]


def rows_of(checks: Sequence[Check], blocking: Collection[str] | None) -> list[dict[str, Any]]:
    """The checks as a packet keeps them; a failed one that does not block says so.

    Args:
        blocking: names of the checks whose failure blocks approval, by policy; None for all.
    """
    return [
        check.as_row() | ({} if blocking is None or check.name in blocking else {"blocks": False}) for check in checks
    ]


CHECKS = {
    "citations": citations,
    "independence": independence,
    "held-out": held_out,
    "agent": agent,
    "exceptions": exceptions_named,
    "mixed-cluster": mixed_cluster,
    "coverage": coverage,
    "over-specific": over_specific,
    "over-general": over_general,
    "hidden-text": hidden_text,
    "injection": orders,
    "secrets": secrets,
    "authoritative-source": authoritative,
    "revoked-before": revoked_before,
    "recall": recall,
    "scope": scope,
    "drafts-agree": drafts_agree,
    "replay": replay,
}
"""By name, in the order a reader wants them."""
