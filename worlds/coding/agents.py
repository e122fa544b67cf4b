"""Who codes: what each agent knows, and what it does out of habit, which helps nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Agent:
    """``knows``: chance to turn to the right cure before a retry. ``habits``: acts with their chances before any retry.

    ``plain``: chance that the first retry comes at once, with nothing before it.
    """

    name: str
    dialect: str
    knows: float
    plain: float
    habits: tuple[tuple[str, float], ...] = ()


AGENTS: tuple[Agent, ...] = (
    Agent("atlas", "claude-code", 0.75, 0.15, (("git status", 0.7),)),
    Agent("birch", "claude-code", 0.45, 0.35, (("ls -la", 0.5),)),
    Agent("cedar", "codex", 0.55, 0.3, (("git diff --stat", 0.3),)),
    Agent("dune", "codex", 0.3, 0.4, (("rm -rf .cache", 0.6), ("ls -la", 0.3))),
    Agent("elm", "swe-agent", 0.6, 0.25),
    Agent("fir", "swe-agent", 0.4, 0.4, (("env", 0.4),)),
    # Knows most and always does the same thing beside it.
    Agent("gale", "swe-agent", 0.85, 0.1, (("python --version", 0.9),)),
)

FILLERS = (
    "ls",
    "git status",
    "cat README.md",
    "grep -rn TODO src",
    "git log --oneline -5",
    "find . -name '*.cfg'",
    "pwd",
)
"""What anybody does at any time."""
