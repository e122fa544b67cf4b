"""How a run took up each of its clusters, with the numbers that decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from review_ui import links
from review_ui.text import shortened
from review_ui.views.names import said
from review_ui.words import N_, _, ngettext
from storage.tables import Cluster, ModeChoice

FIRST = 5
"""Choices on the run's own page; the rest is on a page of its own."""

ACTION_BADGES = {"remove": "bad", "consolidate": "cite", "keep": "dim"}
REGIME_WORDS = {
    "episodic": N_("This namespace keeps raw episodes only: no text was drafted."),
    "force": N_(
        "An experiment: text was forced. What came of it is marked, and is approved only where a policy allows."
    ),
}
ACTIONS = {"keep": N_("keep"), "remove": N_("remove"), "consolidate": N_("consolidate")}
MODES = {
    "none": N_("mode none"), "imitation": N_("mode imitation"), "strategic": N_("mode strategic"),
    "corrective": N_("mode corrective"),
}  # fmt: skip
MODEL_STATES = {
    "worded": N_("The model worded it"), "hypothesis": N_("The model said something untested"),
    "nothing": N_("The model had nothing to add"), "refused": N_("What the model said was refused"),
    "over-budget": N_("The model was not asked: over budget"), "parked": N_("The model gave no answer"),
}  # fmt: skip


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
        action=said(ACTIONS, choice.action),
        badge=ACTION_BADGES[choice.action],
        mode=said(MODES, choice.mode),
        why=choice.why,
        scores=tuple(_score(one, choice.mode) for one in scores.get("modes") or ()),
        start=str(scores.get("prior_from") or ""),
        neighbours=tuple(_neighbour(one) for one in scores.get("neighbours") or ()),
        reward=choice.reward,
        reward_why=choice.reward_why or _("a later night says what it was worth"),
        model=_model(scores.get("model") or {}),
    )


def _runs(profile: Mapping[str, Any]) -> str:
    counts = {name: int(profile.get(name) or 0) for name in ("successes", "failures", "other")}
    words = (
        ngettext("{n} success", "{n} successes", counts["successes"]),
        ngettext("{n} failure", "{n} failures", counts["failures"]),
        ngettext("{n} other", "{n} other", counts["other"]),
    )
    told = [each.format(n=n) for each, n in zip(words, counts.values(), strict=True) if n]
    return ", ".join(told) or _("no run that counts")


def _score(one: Mapping[str, Any], chosen: str) -> ScoreView:
    return ScoreView(
        said(MODES, one["mode"]),
        one["mode"] == chosen,
        one["n"],
        one["mean"],
        one["bonus"],
        one["score"],
        started=not one["n"],
    )


def _neighbour(one: Mapping[str, Any]) -> NeighbourView:
    link, mode = links.run(one["run_id"]), said(MODES, one["mode"])
    figures = (one["similarity"], one["age"], one["weight"], one["reward"])
    return NeighbourView(link, one["cluster_id"], mode, *figures)


def _model(asked: Mapping[str, Any]) -> str:
    if not asked:
        return ""
    calls = int(asked.get("calls") or 0)
    counted = ngettext("{n} call", "{n} calls", calls).format(n=calls)
    return f"{said(MODEL_STATES, str(asked.get('state')))}: {asked.get('why')} ({counted})"
