"""Making a run again with one condition changed, where the operator's environment can. Pure: a hook is handed in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tasks.contrast.predicate import Predicate


@dataclass(frozen=True)
class Pair:
    """One task made twice from the same start: as the claim advises, and against it. None: it did not end."""

    followed: bool | None
    ignored: bool | None


@dataclass(frozen=True)
class Replayed:
    """What the pairs showed: in how many the followed run alone succeeded (``better``), or alone failed (``worse``)."""

    pairs: int
    better: int
    worse: int
    why: str = ""


class ReplayHook(Protocol):
    """Makes runs again in isolation: nothing that it does may reach a live system."""

    def replay(self, claim: Predicate, episode_ids: Sequence[str], limit: int) -> Sequence[Pair]:
        """Pairs of runs from the starting points of these episodes, with the claim's condition alone changed.

        Returns [] where the hook cannot change that condition. At most ``limit`` pairs.
        """
        ...


MOST_PAIRS = 20


def replayed(hook: ReplayHook | None, claim: Predicate, episode_ids: Sequence[str]) -> Replayed | None:
    """What a replay says of a claim; None without a hook. A hook that fails is no verdict: it says so."""
    if hook is None:
        return None
    try:
        pairs = list(hook.replay(claim, sorted(episode_ids), MOST_PAIRS))[:MOST_PAIRS]
    except Exception as error:  # A hook is the operator's code: whatever it raises, the night goes on.
        return Replayed(0, 0, 0, f"the replay hook failed: {type(error).__name__}")
    ended = [pair for pair in pairs if pair.followed is not None and pair.ignored is not None]
    better = sum(bool(pair.followed) and not pair.ignored for pair in ended)
    worse = sum(bool(pair.ignored) and not pair.followed for pair in ended)
    return Replayed(len(ended), better, worse)
