"""How a run took up each of its clusters, with the numbers that decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from review_ui import links
from review_ui.text import shortened
from storage.tables import Cluster, ModeChoice

FIRST = 5
"""Choices on the run's own page; the rest is on a page of its own."""

ACTION_BADGES = {"remove": "bad", "consolidate": "cite", "keep": "dim"}
REGIME_WORDS = {
    "episodic": "This namespace keeps raw episodes only: no text was drafted.",
    "force": "An experiment: text was forced. What came of it is marked, and is approved only where a policy allows.",
}


@dataclass(frozen=True)
class ScoreView:
    """One mode's numbers; ``started`` where its mean is a start, no neighbour having had it."""

    mode: str
    chosen: bool
    n: int
    mean: float
    bonus: float
    score: float
    started: bool


@dataclass(frozen=True)
class NeighbourView:
    """A similar earlier choice."""

    link: str
    cluster: str
    mode: str
    similarity: float
    age: int
    weight: float
    reward: float


@dataclass(frozen=True)
class ChoiceView:
    """One cluster of the run."""

    cluster: str
    runs: str
    action: str
    badge: str
    mode: str
    why: str
    scores: tuple[ScoreView, ...]
    start: str
    neighbours: tuple[NeighbourView, ...]
    reward: float | None
    reward_why: str
    model: str


def choice_view(choice: ModeChoice, cluster: Cluster) -> ChoiceView:
    """A choice as it is told."""
    scores = choice.scores
    return ChoiceView(
        cluster=shortened(cluster.label, 160),
        runs=_runs(choice.profile),
        action=choice.action,
        badge=ACTION_BADGES[choice.action],
        mode=choice.mode,
        why=choice.why,
        scores=tuple(_score(one, choice.mode) for one in scores.get("modes") or ()),
        start=str(scores.get("prior_from") or ""),
        neighbours=tuple(_neighbour(one) for one in scores.get("neighbours") or ()),
        reward=choice.reward,
        reward_why=choice.reward_why or "a later night says what it was worth",
        model=_model(scores.get("model") or {}),
    )


def _runs(profile: Mapping[str, Any]) -> str:
    nouns = {"successes": "success", "failures": "failure", "other": "other"}
    counts = {name: profile.get(name) or 0 for name in nouns}
    said = (f"{n} {nouns[name] if n == 1 else name}" for name, n in counts.items() if n)
    return ", ".join(said) or "no run that counts"


def _score(one: Mapping[str, Any], chosen: str) -> ScoreView:
    return ScoreView(
        one["mode"], one["mode"] == chosen, one["n"], one["mean"], one["bonus"], one["score"], started=not one["n"]
    )


def _neighbour(one: Mapping[str, Any]) -> NeighbourView:
    return NeighbourView(
        links.run(one["run_id"]), one["cluster_id"], one["mode"], one["similarity"], one["age"], one["weight"],
        one["reward"],
    )  # fmt: skip


def _model(asked: Mapping[str, Any]) -> str:
    if not asked:
        return ""
    calls = asked.get("calls") or 0
    return f"{asked.get('state')}: {asked.get('why')} ({calls} call{'' if calls == 1 else 's'})"
