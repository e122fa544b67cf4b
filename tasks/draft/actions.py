"""Keep, remove or consolidate: what a night does with one cluster, and why, under the namespace's regime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from tasks.draft.modes import Choice, Mode

Regime = Literal["auto", "episodic", "force"]
Action = Literal["keep", "remove", "consolidate"]
REGIMES: tuple[Regime, ...] = get_args(Regime)
WRITING: tuple[Mode, ...] = ("imitation", "strategic", "corrective")
"""The modes under which a text may be made of a cluster."""

FORCED = "drafted under the regime “force”, which is for experiments"

MIN_RUNS = 2
"""Runs that a model is shown at least: one run is an anecdote."""


@dataclass(frozen=True)
class Situation:
    """One cluster tonight.

    ``new`` episodes came tonight, of ``runs`` in all. ``findings`` are confirmed of it tonight, of which ``known`` say
    what an active rule says already. ``failing`` names the rules that the last recheck found not to hold any more.
    ``writer``: a model is there to write about what was not confirmed.
    """

    new: int
    runs: int
    findings: int = 0
    known: int = 0
    failing: tuple[str, ...] = ()
    writer: bool = True

    @property
    def fresh(self) -> int:
        """Findings that no rule states yet."""
        return self.findings - self.known


@dataclass(frozen=True)
class Decided:
    """The action, the mode that counts, and whether a model may write about the cluster tonight."""

    action: Action
    mode: Mode
    may_write: bool
    why: str


def regime_of(policy: Mapping[str, Any]) -> Regime:
    """The regime that a namespace's policy names; ``auto`` where it names none."""
    named = policy.get("regime")
    return cast(Regime, named) if named in REGIMES else "auto"


def marked(packet: Mapping[str, Any], regime: Regime, policy: Mapping[str, Any]) -> dict[str, Any]:
    """A packet that says so where it was drafted by force: nothing of an experiment is approved by mistake.

    It can be approved only where the policy has ``approve_forced``.
    """
    if regime != "force":
        return dict(packet)
    return {**packet, "forced": {"why": FORCED, "approvable": policy.get("approve_forced") is True}}


def decide(regime: Regime, choice: Choice, now: Situation) -> Decided:
    """What to do with a cluster. ``remove`` only proposes: a person decides.

    A confirmed finding is drafted under ``auto`` and ``force`` whatever comes out here: the mode governs what else is
    made of a cluster.
    """
    if regime == "episodic":
        return _episodic(now)
    if regime == "force":
        mode = choice.mode if choice.mode in WRITING else choice.best_of(WRITING)
        return Decided("consolidate", mode, True, f"forced to write, for an experiment; {mode}: {choice.words()}")
    mode = choice.mode if now.writer or now.findings else "none"
    action, why = _action(mode, now)
    may_write = mode in WRITING and now.writer and now.new > 0 and now.runs >= MIN_RUNS and action != "keep"
    if mode != choice.mode:
        return Decided(action, mode, may_write, f"{why}; {choice.mode} would score best, but no model writes here")
    return Decided(action, mode, may_write, f"{why}; {mode}: {choice.words()}")


def _episodic(now: Situation) -> Decided:
    why = "the namespace keeps raw episodes only: no text is made of them"
    if now.failing:
        return Decided("remove", "none", False, f"{_failing(now)}; {why}")
    return Decided("keep", "none", False, why)


def _action(mode: Mode, now: Situation) -> tuple[Action, str]:
    if now.failing:
        return "remove", _failing(now)
    if now.fresh > 0:
        return "consolidate", f"{now.fresh} confirmed finding{'' if now.fresh == 1 else 's'} that no rule states yet"
    if now.new == 0:
        return "keep", "nothing new since the last night"
    if now.findings:
        return "keep", "what was confirmed is what its rules say already"
    if now.runs < MIN_RUNS:
        return "keep", "one run is an anecdote"
    came = f"{now.new} new episode{'' if now.new == 1 else 's'}"
    return ("keep", f"{came}, and no text is to be made of them") if mode == "none" else ("consolidate", came)


def _failing(now: Situation) -> str:
    return f"to be withdrawn, if a person agrees: {'; '.join(now.failing)}"
