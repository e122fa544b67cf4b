"""How far each step's text is trusted: by who said it. Text from outside is evidence of facts, never of permission.

Tool output and fetched pages are ``external`` unless the namespace's policy says otherwise, or the record itself does
and an operator brought it in: an agent's own word cannot raise the trust of what its tools returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, get_args

from tasks.ingest.episode import Episode, Step, Trust

LEVELS: tuple[str, ...] = get_args(Trust)


class BadTrustPolicy(ValueError):
    """A policy's ``trust`` that cannot be read; says which entry and what is allowed."""


@dataclass(frozen=True)
class TrustPolicy:
    """Patterns of tool names (``*``, ``?``), each with the trust of what such a tool returns.

    The most specific match wins: a name without a wildcard, then the longer pattern. Order says nothing, since the
    database may not keep it.
    """

    tools: Mapping[str, Trust] = field(default_factory=dict)

    @classmethod
    def read(cls, value: Any) -> TrustPolicy:
        """From a policy's ``trust``: ``{"tools": {"crm_*": "internal"}}``; None or ``{}`` is the default.

        Raises:
            BadTrustPolicy: if it is something else.
        """
        tools = (value or {}).get("tools", {}) if isinstance(value or {}, dict) else None
        if not isinstance(tools, dict) or set(value or {}) - {"tools"}:
            raise BadTrustPolicy('trust must look like {"tools": {"crm_*": "internal"}}')
        for name, level in tools.items():
            if level not in LEVELS:
                raise BadTrustPolicy(f"trust of the tool {str(name)[:40]!r} must be one of {', '.join(LEVELS)}")
        return cls({name: tools[name] for name in sorted(tools, key=_by_specificity)})

    def of_tool(self, name: str | None) -> Trust | None:
        """What the policy says of a tool's output, or None."""
        if not self.tools:
            return None
        matches = (level for pattern, level in self.tools.items() if fnmatchcase(name or "", pattern))
        return next(matches, None)


def _by_specificity(pattern: str) -> tuple[bool, int, str]:
    return any(char in pattern for char in "*?["), -len(pattern), pattern


def with_trust(episode: Episode, policy: TrustPolicy, *, capped: bool) -> Episode:
    """The episode with the trust of every observation and word of a user filled in, in place.

    In place because copying each step would cost as much as validating it: the door owns what an importer gave it.

    Args:
        capped: the record came through an agent's token, whose word on trust only lowers it.
    """
    for step, trust in _settled(episode, policy, capped):
        if trust != step.trust:
            step.trust = trust
    return episode


def _settled(episode: Episode, policy: TrustPolicy, capped: bool) -> Iterator[tuple[Step, Trust | None]]:
    tool_of = {step.id: step.name for step in episode.steps if step.kind == "tool_call"}
    stated: Trust | None = episode.trust if "trust" in episode.model_fields_set else None
    for step in episode.steps:
        trust = step.trust
        if step.kind == "observation":
            said = policy.of_tool(tool_of.get(step.of or "") or step.name)
            trust = said or _lowered(step.trust or stated, capped) or "external"
        elif step.kind == "user" and (trust is None or capped):
            # A sub-agent's prompt was written by an agent: it speaks with no person's authority.
            words: Trust | None = None if step.agent else "user"
            trust = "external" if trust == "external" else words
        yield step, trust


def _lowered(said: Trust | None, capped: bool) -> Trust | None:
    return None if capped and said != "external" else said
