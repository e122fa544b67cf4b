"""The mode of a cluster by an upper confidence bound over similar past clusters. No chance in it: ties have an order.

Score of a mode: ``sum(w r) / sum(w) + c sqrt(log|N| / max(n, 1))`` over at most ten neighbours N with a known reward r,
``w = max(similarity, 0) * 0.998 ** age`` with the age in nights, n the neighbours that had the mode. A mode that no
neighbour had takes its mean from the cold start: other clusters of the family, else what the cluster has.
After "More Memory, Worse Agents: Error Reproduction and Anti-Persistence" (2026), whose reward is the task's own.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Literal, get_args

from tasks.draft.profile import Profile, likeness

Mode = Literal["none", "imitation", "strategic", "corrective"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""Of modes with one score the one with the better prior is taken, then the earlier one here."""

NEIGHBOURS = 10
DECAY = 0.998
EXPLORATION = 0.5


@dataclass(frozen=True)
class Past:
    """One earlier choice whose reward is known."""

    run_id: str
    cluster_id: str
    family: str
    night: date
    mode: Mode
    profile: Profile
    reward: float


@dataclass(frozen=True)
class Neighbour:
    """A past choice as it counts tonight. ``age`` in nights."""

    run_id: str
    cluster_id: str
    mode: Mode
    similarity: float
    age: int
    weight: float
    reward: float


@dataclass(frozen=True)
class Score:
    """One mode's numbers. ``mean`` is the prior where ``n`` is 0."""

    mode: Mode
    n: int
    mean: float
    prior: float
    bonus: float
    score: float


@dataclass(frozen=True)
class Choice:
    """The mode, all four scores in the order of ``MODES``, and what they rest on."""

    mode: Mode
    scores: tuple[Score, ...]
    neighbours: tuple[Neighbour, ...]
    prior_from: str

    def score_of(self, mode: Mode) -> Score:
        """The numbers of one mode."""
        return self.scores[MODES.index(mode)]

    def best_of(self, modes: Sequence[Mode]) -> Mode:
        """The best of these modes, by the same order."""
        return max((score for score in self.scores if score.mode in modes), key=_order).mode

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "modes": [asdict(score) for score in self.scores],
            "neighbours": [asdict(neighbour) for neighbour in self.neighbours],
            "prior_from": self.prior_from,
        }

    def words(self) -> str:
        """Why this mode, for the run page."""
        won = self.score_of(self.mode)
        if not won.n:
            seen = "no similar cluster is decided on" if not self.neighbours else "no similar cluster was taken so"
            return f"{seen}; the start is {won.mean:.2f}, from {self.prior_from}"
        clusters = "1 similar cluster" if won.n == 1 else f"{won.n} similar clusters"
        return f"mean reward {won.mean:.2f} over {clusters}, and {won.bonus:.2f} for how little it was tried"


def choose(profile: Profile, cluster_id: str, family: str, night: date, past: Sequence[Past]) -> Choice:
    """The mode of one cluster tonight."""
    near = neighbours(profile, night, past)
    prior, prior_from = cold_start(profile, cluster_id, family, past)
    scores = tuple(_score(mode, near, prior[mode]) for mode in MODES)
    return Choice(max(scores, key=_order).mode, scores, near, prior_from)


def neighbours(profile: Profile, night: date, past: Sequence[Past]) -> tuple[Neighbour, ...]:
    """The ten most similar past choices, the younger first where they are alike."""
    ranked = heapq.nsmallest(
        NEIGHBOURS,
        (
            (-round(similarity, 9), max((night - one.night).days, 0), one.run_id, one.cluster_id, place)
            for place, one in enumerate(past)
            if (similarity := likeness(profile, one.profile)) > 0
        ),
    )
    return tuple(_neighbour(past[place], -similarity, age) for similarity, age, _, _, place in ranked)


def _neighbour(one: Past, similarity: float, age: int) -> Neighbour:
    weight = max(similarity, 0.0) * DECAY**age
    return Neighbour(one.run_id, one.cluster_id, one.mode, similarity, age, weight, one.reward)


def cold_start(profile: Profile, cluster_id: str, family: str, past: Sequence[Past]) -> tuple[dict[Mode, float], str]:
    """A mean for each mode before any neighbour had it, and where that is from.

    A mode that other clusters of the family were taken up by has their mean reward; the others have what the cluster's
    outcomes suggest.
    """
    start, words = suggested(profile)
    kin = [one for one in past if one.family == family and one.cluster_id != cluster_id]
    if not kin:
        return start, words
    for mode in MODES:
        rewards = [one.reward for one in kin if one.mode == mode]
        if rewards:
            start[mode] = sum(rewards) / len(rewards)
    number = len({one.cluster_id for one in kin})
    return start, f"{number} other cluster{'' if number == 1 else 's'} of its family, and {words}"


def suggested(profile: Profile) -> tuple[dict[Mode, float], str]:
    """What a cluster's outcomes suggest by themselves."""
    won, lost = profile.successes, profile.failures
    start: dict[Mode, float] = dict.fromkeys(MODES, 0.0)
    hints: Mapping[Mode, float]
    if won and lost:
        hints = {"strategic": 0.3, "corrective": 0.25} if won >= lost else {"strategic": 0.25, "corrective": 0.3}
        words = f"both outcomes ({won} successes, {lost} failures)"
    elif won:
        hints, words = {"imitation": 0.3, "none": 0.2}, f"successes only ({won})"
    elif lost:
        hints, words = {"corrective": 0.3}, f"failures only ({lost})"
    else:
        hints, words = {"none": 0.1}, "no outcome that is known"
    return start | hints, words


def _score(mode: Mode, near: Sequence[Neighbour], prior: float) -> Score:
    mine = [neighbour for neighbour in near if neighbour.mode == mode]
    weight = sum(neighbour.weight for neighbour in mine)
    mean = sum(neighbour.weight * neighbour.reward for neighbour in mine) / weight if weight else prior
    bonus = EXPLORATION * math.sqrt(math.log(max(len(near), 1)) / max(len(mine), 1))
    return Score(mode, len(mine), mean, prior, bonus, mean + bonus)


def _order(score: Score) -> tuple[float, float, int]:
    return round(score.score, 9), score.prior, -MODES.index(score.mode)
