"""A namespace's policy as an operator writes it: which keys there are, and what each may hold."""

from __future__ import annotations

import json
import tomllib
from difflib import get_close_matches
from typing import Any

from tasks.draft.actions import REGIMES
from tasks.draft.model.budget import BadBudget, check_policy
from tasks.ingest.redact import Redactor
from tasks.ingest.secret_rules import BadPattern
from tasks.ingest.trust import BadTrustPolicy, TrustPolicy
from tasks.revoke.report import BadToolPolicy, ToolPolicy
from tasks.verify import policy as evidence_policy

KNOWN = {
    "owner": "who answers for the rules of this namespace, as text; named on every candidate",
    "redact_patterns": "regular expressions of what to take out at the door; group 1, if any, is the secret",
    "trust": 'how far tools are trusted: {"tools": {"crm_*": "internal"}}',
    "tools": "what calls of a tool do, for the report of a revocation: "
    '{"pay_*": {"side_effects": true, "cancellable": false}}',
    "regime": "what a night may make of the episodes: auto (the default), episodic (no text), force (experiments only)",
    "exemplars": "raw runs that a night may propose as examples, at most; 0 (the default) for none",
    "approve_forced": "whether what was drafted under the regime force can be approved; false by default",
    "drafter": "who words what was confirmed: statistical, or model where one is set up",
    **evidence_policy.KEYS,
    "model_budget": "what one night may spend on a model: whole numbers under calls, tokens and seconds",
    "audit_views": "whether whoever reads an episode or a candidate on the page is written to the audit log; "
    "false by default",
}
COUNTS_FROM = (
    "redact_patterns and trust count for what is taken in from now on, tools, holdout_fraction and audit_views at "
    "once, all others from the next night on"
)
FLAGS = ("approve_forced", "audit_views")
LONGEST_OWNER = 200
MOST_EXEMPLARS = 100


class BadPolicy(ValueError):
    """A policy that cannot be taken; says which key, what is wrong with it and what it may be."""


def parse_policy(text: str) -> dict[str, Any]:
    """A policy from JSON or TOML, checked.

    Raises:
        BadPolicy: if it is neither, or ``read_policy`` refuses it.
    """
    try:
        return read_policy(json.loads(text))
    except RecursionError:
        raise BadPolicy("the policy is nested too deeply") from None
    except BadPolicy:
        raise
    except ValueError as no_json:  # of JSON, or a number of more digits than Python reads
        try:
            return read_policy(tomllib.loads(text))
        except BadPolicy:
            raise
        except (ValueError, RecursionError) as no_toml:
            looks_like_json = text.lstrip().startswith(("{", "["))
            why = f"as JSON: {no_json}" if looks_like_json else f"as TOML: {no_toml}"
            raise BadPolicy(f"the policy is neither JSON nor TOML; {why}") from None


def read_policy(value: Any) -> dict[str, Any]:
    """The policy as it is stored.

    Raises:
        BadPolicy: naming the first fault.
    """
    if not isinstance(value, dict):
        raise BadPolicy(f"a policy is an object with the keys {_known()}, not {_kind(value)}")
    for key in value:
        if key not in KNOWN:
            raise BadPolicy(_unknown(key))
    _check_owner(value.get("owner"))
    _check_patterns(value.get("redact_patterns"))
    _check_nights(value)
    _check_flags(value)
    try:
        check_policy(value)
        evidence_policy.check_policy(value)
    except (BadBudget, evidence_policy.BadEvidencePolicy) as wrong:
        raise BadPolicy(str(wrong)) from wrong
    try:
        TrustPolicy.read(value.get("trust"))
        ToolPolicy.read(value.get("tools"))
    except (BadTrustPolicy, BadToolPolicy) as wrong:
        raise BadPolicy(str(wrong)) from wrong
    return {key: child for key, child in value.items() if child is not None}


def _check_nights(policy: dict[str, Any]) -> None:
    regime, exemplars = policy.get("regime"), policy.get("exemplars")
    if regime not in (None, *REGIMES):
        raise BadPolicy(f"regime must be one of {', '.join(REGIMES)}")
    if exemplars is not None and (type(exemplars) is not int or not 0 <= exemplars <= MOST_EXEMPLARS):
        raise BadPolicy(f"exemplars must be a whole number from 0 to {MOST_EXEMPLARS}")


def _check_flags(policy: dict[str, Any]) -> None:
    for key in FLAGS:
        if policy.get(key) is not None and not isinstance(policy[key], bool):
            raise BadPolicy(f"{key} must be true or false")


def _check_owner(owner: Any) -> None:
    if owner is None:
        return
    if not isinstance(owner, str):
        raise BadPolicy(f"owner must be text, not {_kind(owner)}")
    if not owner.strip() or len(owner) > LONGEST_OWNER or not owner.isprintable():
        raise BadPolicy(f"owner must be 1 to {LONGEST_OWNER} visible characters")


def _check_patterns(patterns: Any) -> None:
    if patterns is None:
        return
    if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
        raise BadPolicy("redact_patterns must be a list of regular expressions, each a text")
    for pattern in patterns:
        try:
            found = Redactor([pattern]).redact_text("nothing secret here")[1]
        except BadPattern as wrong:
            raise BadPolicy(str(wrong)) from wrong
        if not pattern or found.get("policy-pattern"):
            raise BadPolicy(f"the redaction pattern {pattern!r} takes out any text: make it narrower")


def _unknown(key: str) -> str:
    close = get_close_matches(key, KNOWN, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"there is no policy key {key[:40]!r}{hint} Known: {_known()}"


def _known() -> str:
    return ", ".join(KNOWN)


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "nothing" if value is None else kinds.get(type(value), type(value).__name__)
