"""The statistical drafter: deterministic, no model. Words from the predicate, figures from the contrast."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tasks.contrast.predicate import from_canonical, happened_words
from tasks.contrast.recoveries import is_everywhere
from tasks.draft.drafter import Brief, Cited, Drafted, Mode
from tasks.draft.scope import verified_environment
from tasks.draft.wording import guidance, when_to_use

METHOD = (
    "Successes and failures compared within each task of one family (Cochran-Mantel-Haenszel, Benjamini-Hochberg over "
    "all features), then tested again on groups that it was not found on (two-fold cross-fit). One independent group "
    "counts once."
)
RETRIES = (
    "Retries of a failing call that a remedy preceded compared with the same retry (first, second, third) of other "
    "sessions without it, by exit codes and error flags alone (Cochran-Mantel-Haenszel, Benjamini-Hochberg over all "
    "remedies), then tested again on sessions it was not found on (two-fold cross-fit). One independent session counts "
    "once."
)
EFFECT = (
    "odds_ratio",
    "low",
    "high",
    "p_value",
    "q_value",
    "strata",
    "success_with",
    "success_total",
    "failure_with",
    "failure_total",
)
STEPS = "recorded steps of this namespace: exit codes and error flags of each call; nobody judged these sessions"
REVERSING = {"avoid": "success", "do": "failure"}
"""The outcome of a run that did the act and speaks against the claim."""


class StatisticalDrafter:
    """Writes what the contrast confirmed, in plain words."""

    name = "drafter:statistical/1"

    def draft(self, brief: Brief) -> Drafted:
        """Content and packet for one finding."""
        mixed = bool(brief.statistics.get("exceptions"))
        content = {
            "when_to_use": when_to_use(brief.predicate, brief.family_label),
            "guidance": guidance(brief.predicate, mixed=mixed),
            "scope": {
                "namespace": brief.namespace,
                "environment": verified_environment(dict(piece.environment) for piece in brief.cited),
                "agents": [],
                "valid_from": None,
                "recheck_at": brief.recheck_at,
            },
            "predicate": dict(brief.predicate),
        }
        return Drafted(content, _packet(brief), _mode(brief.predicate), {"model_calls": 0, "tokens": 0})


def _mode(predicate: Mapping[str, Any]) -> Mode:
    """Corrective advice undoes a mistake; strategic advice lays out a way."""
    corrective = predicate.get("direction") == "avoid" or predicate.get("kind") in {"recovery", "missing-check"}
    return "corrective" if corrective else "strategic"


def _packet(brief: Brief) -> dict[str, Any]:
    statistics, everywhere = brief.statistics, is_everywhere(brief.predicate)
    effect = {name: (statistics.get("effect") or {}).get(name) for name in EFFECT}
    strata = list(statistics.get("strata") or [])
    return {
        "summary": brief.statement,
        "effect": effect,
        "held_out": statistics.get("held_out"),
        "strata": strata,
        "exceptions": list(statistics.get("exceptions") or []),
        "agent_adjusted": statistics.get("agent_adjusted"),
        "also_worded": list(statistics.get("also_worded") or []),
        "evidence": {**count_evidence(brief.cited), **(statistics.get("evidence") or {})},
        "verification_method": RETRIES if everywhere else METHOD,
        "counter_example": _failed_retry(brief) if everywhere else counter_example(brief),
        "owner": brief.owner,
        "authoritative_source": STEPS if everywhere else _source(brief.cited),
        "reach": reach(strata),
        "cost": {"model_calls": 0, "tokens": 0},
        "revoked_before": None,
        "conflicts": [],
        "checks": [],
        "tier_why": "",
    }


def count_evidence(cited: Iterable[Cited]) -> dict[str, Any]:
    """Cited evidence by independent group. A group that holds a piece against the claim counts against it."""
    pieces = list(cited)
    counter = {piece.group for piece in pieces if piece.stance == "counter"}
    support = {piece.group for piece in pieces} - counter
    return {
        "support": len(support),
        "counter": len(counter),
        "independent_groups": len(support | counter),
        "principals": len({piece.principal for piece in pieces}),
        "groups": {"support": sorted(support), "counter": sorted(counter)},
        "tainted": [],
        "stale": [],
    }


def counter_example(brief: Brief) -> dict[str, Any]:
    """The run that speaks most plainly against the claim: it did the opposite, in an excepted task if there is one."""
    # A task key under which two descriptions were met is split as key~hash.
    named = {str(name).partition("~")[0] for name in brief.statistics.get("exceptions") or []}
    direction = str(brief.predicate.get("direction"))
    against = [piece for piece in brief.cited if piece.stance == "counter"]
    if not against:
        return {"episode_id": None, "step_ids": [], "why": "no run behind this finding speaks against it"}

    def plainness(piece: Cited) -> tuple[bool, bool, bool, str]:
        elsewhere = piece.stratum not in named
        return elsewhere, piece.outcome != REVERSING.get(direction), not piece.step_ids, piece.episode_id

    shown = min(against, key=plainness)
    happened = happened_words(from_canonical(dict(brief.predicate)))
    did = (shown.outcome == "success") == (direction == "avoid")
    why = f"in task {shown.stratum}, {happened}" if did else f"in task {shown.stratum} it was not so that {happened}"
    return {
        "episode_id": shown.episode_id,
        "step_ids": list(shown.step_ids),
        "stratum": shown.stratum,
        "why": f"{why}, and the run ended in {shown.outcome}",
    }


def _failed_retry(brief: Brief) -> dict[str, Any]:
    """A session in which the remedy came before the retry, and the retry failed all the same."""
    against = [piece for piece in brief.cited if piece.stance == "counter"]
    if not against:
        return {"episode_id": None, "step_ids": [], "why": "in no session did the call fail again after it"}
    shown = min(against, key=lambda piece: (not piece.step_ids, piece.episode_id))
    happened = happened_words(from_canonical(dict(brief.predicate)))
    return {
        "episode_id": shown.episode_id,
        "step_ids": list(shown.step_ids),
        "stratum": shown.stratum,
        "why": f"{happened}, and the next try failed again",
    }


def reach(strata: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many of the recorded runs would have met the advice: those it speaks of, and those that did the act."""
    spoken, did = 0, 0
    for row in strata:
        with_ = row["success_with"] + row["failure_with"]
        spoken += with_ + row["success_without"] + row["failure_without"]
        did += with_
    return {"runs": spoken, "did": did}


def expected_gain(packet: Mapping[str, Any]) -> float:
    """Rank of a candidate: its effect at the cautious end of its interval, times the runs it would reach.

    Natural logarithm of the odds ratio; 0 where the interval includes no effect.
    """
    effect = packet.get("effect") or {}
    ends = [math.log(end) for end in (effect.get("low"), effect.get("high")) if end]
    reached = (packet.get("reach") or {}).get("runs", 0)
    low, high = effect.get("low"), effect.get("high")
    if not ends or ((low is None or low <= 1) and (high is None or high >= 1)):
        return 0.0
    return round(min(abs(end) for end in ends) * reached, 6)


def _source(cited: Iterable[Cited]) -> str:
    sources = Counter(piece.outcome_source for piece in cited)
    named = ", ".join(f"{name} ({count})" for name, count in sorted(sources.items()))
    return f"recorded runs of this namespace; their outcomes are from: {named or 'nowhere'}"
