"""Whether a run falls under what a draft says: its predicate and its scope. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.conflict.scopes import parse_range
from tasks.contrast.facts import Facts, holds
from tasks.contrast.predicate import Predicate, happened_words
from tasks.contrast.recoveries.attempts import Chain
from tasks.contrast.recoveries.shows import shows


def strayed(
    claim: Predicate, scope: Mapping[str, Any], facts: Facts, agent: str, chains: Sequence[Chain] | None = None
) -> str:
    """Why a run that is cited for a draft is not one it speaks of; empty where it is.

    Args:
        chains: the run's retries, where the claim was found among those of all sessions.
    """
    if not (holds(claim, facts) if chains is None else shows(claim, chains)):
        return f"in it, it was not so that {happened_words(claim)}"
    return outside(scope, facts.environment, agent)


def belongs(claimed: Mapping[str, Any], environment: Mapping[str, str], agent: str) -> bool:
    """Whether a run is one of those that a claim was split down to; always, where it is whole.

    Strict, unlike a scope: a run that does not say which side it is of is of neither.

    Args:
        claimed: a stored predicate. Each of its ``within`` names ``agents`` or ``agents_but``, or a ``component`` with
            ``versions``, and all of them must hold.
    """
    return all(_is_side(one, environment, agent) for one in claimed.get("within") or ())


def _is_side(one: Mapping[str, Any], environment: Mapping[str, str], agent: str) -> bool:
    if "agents" in one:
        return agent in one["agents"]
    if "agents_but" in one:
        return bool(agent) and agent not in one["agents_but"]
    given, versions = environment.get(str(one["component"])), str(one["versions"])
    return given is not None and (given == versions or parse_range(versions).overlaps(parse_range(given)))


def outside(scope: Mapping[str, Any], environment: Mapping[str, str], agent: str) -> str:
    """Why a run is out of a scope; empty where it is in it. A component that the run does not name fits."""
    agents = scope.get("agents") or ()
    if agents and agent not in agents:
        return f"made by {agent or 'an agent without a name'}, which is not among {', '.join(map(str, agents))}"
    for component, verified in sorted((scope.get("environment") or {}).items()):
        given = environment.get(component)
        if given is not None and given != verified and not parse_range(str(verified)).overlaps(parse_range(given)):
            return f"{component} {given}, verified for {verified}"
    return ""
