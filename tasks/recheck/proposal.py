"""What a person is asked when a rule no longer holds: to withdraw it. Pure.

Approving such a candidate is a revocation by whoever approves it; until then the rule stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from storage.ids import content_hash
from tasks.cluster.kin import VersionKey
from tasks.recheck.judge import Judged
from tasks.verify.check import Check

REMOVAL, CORRECTION = "removal", "correction"
RETIRING = frozenset({REMOVAL, CORRECTION})
"""Kinds of candidates that put an active rule away when they are approved."""
AUTHOR = "recheck"
METHOD = (
    "The rule's own comparison again, within each task, on every untainted run in its scope that had not read it or "
    "its kin; and on those that arrived since its last look, an exact one-sided test of whether less than half of the "
    "promised effect is left."
)


@dataclass(frozen=True)
class Active:
    """The rule in question, as it is served. ``title`` is one line of it."""

    key: VersionKey
    content: Mapping[str, Any]
    packet: Mapping[str, Any]
    title: str
    owner: str


@dataclass(frozen=True)
class Shown:
    """A run that speaks for or against withdrawing the rule."""

    episode_id: str
    group: str
    stance: str
    stratum: str
    step_ids: tuple[str, ...]


def candidate_id(namespace: str, rule_id: str) -> str:
    """A rule has one candidate that proposes to withdraw it."""
    return content_hash([namespace, REMOVAL, rule_id], 16)


def kind_of(judged: Judged) -> str:
    """A reversed effect corrects a rule that does harm; a vanished one removes a rule that does nothing."""
    return CORRECTION if judged.verdict == "reversed" else REMOVAL


def content(rule: Active, namespace: str, kind: str, recheck_at: str) -> dict[str, Any]:
    """What is decided, in words without figures; the same from night to night."""
    rule_id, version = rule.key
    why = "does harm now" if kind == CORRECTION else "has no effect any more"
    return {
        "when_to_use": f"Rule {rule_id} version {version} is active, and {why}.",
        "guidance": [
            f"Withdraw the rule “{rule.title}”: approving this revokes it, and at once all that descends from it",
            "Reject this to keep it; look at the runs below first.",
        ],
        "scope": {"namespace": namespace, "recheck_at": recheck_at},
        "removes": {"rule": rule_id, "version": version},
    }


def packet(rule: Active, judged: Judged, shown: Sequence[Shown], tier_why: str) -> dict[str, Any]:
    """What the reviewer sees."""
    whole, new = judged.statistics["whole"], judged.statistics["fresh"]
    against = [one for one in shown if one.stance == "support"]
    return {
        "summary": f"Rule {rule.key[0]} no longer holds: {judged.words}.",
        "effect": {
            "odds_ratio": whole["odds_ratio"], "low": whole["low"], "high": whole["high"],
            "p_value": judged.statistics.get("p_value"), "q_value": None, "strata": whole["strata"],
            "success_with": None, "success_total": whole["successes"], "failure_with": None,
            "failure_total": whole["failures"],
        },
        "held_out": {
            "groups": judged.statistics["fresh_groups"], "odds_ratio": new["odds_ratio"], "low": new["low"],
            "high": new["high"], "p_value": judged.statistics.get("p_value"), "alpha": judged.statistics.get("alpha"),
            "same_direction": False, "confirmed": False, "strata": new["strata"], "folds": [],
        },
        "strata": [], "exceptions": [], "agent_adjusted": None, "also_worded": [],
        "evidence": _evidence(shown),
        "verification_method": METHOD,
        "counter_example": _example(against, rule),
        "owner": rule.owner,
        "authoritative_source": "the recorded runs of this namespace that had not read the rule",
        "reach": rule.packet.get("reach") or {"runs": 0, "did": 0},
        "cost": {"model_calls": 0, "tokens": 0},
        "revoked_before": None, "conflicts": [], "tier": "standard", "tier_why": tier_why,
        "checks": [check.as_row() for check in checks(judged, shown)],
    }  # fmt: skip


def checks(judged: Judged, shown: Sequence[Shown]) -> list[Check]:
    """What stands behind the proposal."""
    fresh, exposed = judged.statistics["fresh_groups"], judged.statistics["exposed_groups"]
    apart = f"{fresh} groups that had not read it arrived since its last look; {exposed} that had are left out"
    cited = f"{len(shown)} runs are cited" if shown else "it rests on figures: no fresh run shows what it speaks of"
    return [
        Check("independence", "pass", apart),
        Check("citations", "pass" if shown else "warn", cited, "" if shown else "look at the runs of its family"),
        Check("recheck", "pass" if judged.spent else "warn", judged.words,
              "" if judged.spent else "no test on fresh groups stands behind it: it is the whole that faded"),
    ]  # fmt: skip


def due(content_: Mapping[str, Any], otherwise: date) -> str:
    """The re-check date of the rule itself, so that the proposal stays the same text."""
    return str((content_.get("scope") or {}).get("recheck_at") or otherwise.isoformat())


def _evidence(shown: Sequence[Shown]) -> dict[str, Any]:
    groups = {stance: sorted({one.group for one in shown if one.stance == stance}) for stance in ("support", "counter")}
    return {
        "support": len(groups["support"]), "counter": len(groups["counter"]),
        "independent_groups": len({one.group for one in shown}), "principals": 1 if shown else 0, "groups": groups,
        "tainted": [], "stale": [],
    }  # fmt: skip


def _example(against: Sequence[Shown], rule: Active) -> dict[str, Any]:
    if not against:
        return {"episode_id": None, "step_ids": [], "why": "no single run shows it: it is the comparison that faded"}
    one = min(against, key=lambda each: each.episode_id)
    return {
        "episode_id": one.episode_id, "step_ids": list(one.step_ids), "stratum": one.stratum,
        "why": f"in task {one.stratum} a run did what “{rule.title}” warns of or asks for, and ended the other way",
    }  # fmt: skip
