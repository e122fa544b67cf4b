"""A namespace's policy, key by key, and what another one would do to its queue."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from review_ui import links
from review_ui.views.names import TIERS, said
from review_ui.words import N_, _, ngettext
from tasks.ingest.policy import KNOWN
from tasks.verify.dry_run import DEFAULTS, SINCE, Change, DryRun, Moved

MEANINGS = {
    "owner": N_("Who answers for the rules of this namespace; named on every candidate."),
    "redact_patterns": N_("Regular expressions of what is taken out at the door; group 1, if any, is the secret."),
    "trust": N_("How far tools are trusted."),
    "tools": N_("What calls of a tool do, for the report of a revocation."),
    "regime": N_("What a night may make of the episodes: auto, episodic (no text), force (experiments only)."),
    "exemplars": N_("How many raw runs a night may propose as examples, at most."),
    "approve_forced": N_("Whether what was drafted under the regime force can be approved."),
    "drafter": N_("Who words what was confirmed: statistical, or model where one is set up."),
    "blocking_checks": N_("The checks whose failure keeps a candidate from being approved."),
    "retire_limit": N_("The part of the active rules that one night may propose to retire; one is always allowed."),
    "holdout_fraction": N_("The part of the sessions from which a rule is withheld at random, never a high-tier one."),
    "model_budget": N_("What one night may spend on a model: calls, tokens, seconds."),
    "audit_views": N_("Whether whoever reads an episode or a candidate on these pages is written to the audit log."),
}
WITHOUT = {
    "owner": N_("the reviewers of this namespace"),
    "redact_patterns": N_("nothing besides known kinds of secrets"),
    "trust": N_("what tools say is a tool's word"),
    "tools": N_("that is not known"),
    "drafter": N_("as the settings of the server say"),
    "blocking_checks": N_("all of them"),
    "model_budget": N_("as the settings of the server say"),
}
"""What holds for the keys that have no value of their own where the policy says nothing."""

SINCES = {
    "intake": N_("Counts for what is taken in from now on."),
    "at-once": N_("Counts at once."),
    "next-night": N_("Counts from the next night on."),
}
BECOMES = {
    "approvable": N_("could be approved"),
    "blocked": N_("could no longer be approved"),
    "blocked-otherwise": N_("stays blocked, for another reason"),
}
BADGES = {"approvable": "good", "blocked": "bad", "blocked-otherwise": "warn"}
FIRST = 200
"""Candidates of a dry run that the page lists."""


@dataclass(frozen=True)
class KeyRow:
    """One key of a policy. ``value`` is what holds; ``is_set`` whether the policy says so itself."""

    name: str
    meaning: str
    value: str
    is_set: bool
    since: str


@dataclass(frozen=True)
class ChangeRow:
    """One key that would change."""

    name: str
    before: str
    after: str
    since: str
    about: str


@dataclass(frozen=True)
class MovedRow:
    """One candidate that would stand otherwise."""

    title: str
    link: str
    tier: str
    becomes: str
    badge: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    anyway: bool


@dataclass(frozen=True)
class DryRunView:
    """What another policy would do. ``left`` counts the candidates that are not listed."""

    summary: str
    changes: tuple[ChangeRow, ...]
    moved: tuple[MovedRow, ...]
    left: str


def key_rows(policy: Mapping[str, Any], hidden: Collection[str] = ()) -> list[KeyRow]:
    """Every key there is, in the order of the documentation."""
    return [
        KeyRow(
            key, _(MEANINGS[key]), value_words(key, policy.get(key), hidden), key in policy, _(SINCES[since_of(key)])
        )
        for key in KNOWN
    ]


def value_words(key: str, value: Any, hidden: Collection[str] = ()) -> str:
    """A value as it is written; where there is none, what holds then. Of a hidden one, only how many it has."""
    if key in hidden and value:
        return ngettext("{n} pattern, which admins see", "{n} patterns, which admins see", len(value)).format(
            n=len(value)
        )
    if value is None:
        return _(WITHOUT[key]) if key in WITHOUT else _plain(DEFAULTS[key])
    return _plain(value)


def since_of(key: str) -> str:
    """From when a key counts."""
    return SINCE.get(key, "next-night")


def dry_run_view(namespace: str, found: DryRun, hidden: Collection[str] = ()) -> DryRunView:
    """The page's answer to a proposed policy."""
    left = len(found.moved) - FIRST
    return DryRunView(
        summary=_summary(found),
        changes=tuple(_change(one, hidden) for one in found.changes),
        moved=tuple(_moved(namespace, one) for one in found.moved[:FIRST]),
        left=ngettext("and {n} more candidate", "and {n} more candidates", left).format(n=left) if left > 0 else "",
    )


def _summary(found: DryRun) -> str:
    looked = ngettext("{n} waiting candidate was looked at.", "{n} waiting candidates were looked at.", found.looked)
    parts = [looked.format(n=found.looked)]
    if found.looked and not found.moved:
        parts.append(_("None of them would stand otherwise."))
    counts = {becomes: found.count(becomes) for becomes in BECOMES}
    if n := counts["approvable"]:
        parts.append(_("{n} could be approved that cannot be now.").format(n=n))
    if n := counts["blocked"]:
        parts.append(_("{n} could no longer be approved.").format(n=n))
    if n := counts["blocked-otherwise"]:
        parts.append(_("{n} would be blocked for another reason.").format(n=n))
    return " ".join(parts)


def _change(one: Change, hidden: Collection[str]) -> ChangeRow:
    return ChangeRow(
        name=one.key,
        before=value_words(one.key, one.before, hidden),
        after=value_words(one.key, one.after, hidden),
        since=_(SINCES[one.since]),
        about=_about(one),
    )


def _about(one: Change) -> str:
    """What a changed key does to what is there already."""
    n = one.touches or 0
    if one.key == "retire_limit" and one.most:
        if one.most[0] == one.most[1]:
            return _("One night may propose to retire {n} of the active rules, as now.").format(n=one.most[1])
        return _("One night may propose to retire {after} of the active rules instead of {before}.").format(
            before=one.most[0], after=one.most[1]
        )
    if one.key == "holdout_fraction" and one.most:
        return ngettext(
            "{n} active rule is withheld from that part of the sessions.",
            "{n} active rules are withheld from that part of the sessions.",
            one.most[1],
        ).format(n=one.most[1])
    if one.key == "blocking_checks":
        return ngettext(
            "{n} waiting candidate failed a check that this is about.",
            "{n} waiting candidates failed a check that this is about.",
            n,
        ).format(n=n)
    if one.key == "approve_forced":
        return ngettext(
            "{n} waiting candidate was drafted by force.", "{n} waiting candidates were drafted by force.", n
        ).format(n=n)
    if one.key == "exemplars":
        return ngettext("{n} example that waits stays as it is.", "{n} examples that wait stay as they are.", n).format(
            n=n
        )
    if one.key == "owner":
        return ngettext(
            "{n} waiting candidate names another owner until a night looks at it again.",
            "{n} waiting candidates name another owner until a night looks at them again.",
            n,
        ).format(n=n)
    return _("What waits stays as it is.")


def _moved(namespace: str, one: Moved) -> MovedRow:
    return MovedRow(
        title=one.title,
        link=links.candidate(namespace, one.id),
        tier=said(TIERS, one.tier),
        becomes=_(BECOMES[one.becomes]),
        badge=BADGES[one.becomes],
        before=one.before or (_("nothing keeps it from being approved"),),
        after=one.after or (_("nothing keeps it from being approved"),),
        anyway=one.anyway,
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
