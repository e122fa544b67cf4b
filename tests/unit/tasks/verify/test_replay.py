"""Making runs again with one condition changed: in the tool worlds, through the protocol that an operator fills in."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tasks.contrast.predicate import Predicate, from_canonical
from tasks.verify.policy import BadEvidencePolicy, check_policy
from tasks.verify.replay import MOST_PAIRS, Pair, replayed
from worlds import POLICIES, WORLDS, PlantedHabit, Setting, World, planted, run
from worlds.engine.habits import Aside

CLAIM = Predicate("call-present", ("cancel",), "avoid")


class Fixed:
    """A hook whose pairs are given."""

    def __init__(self, *pairs: Pair) -> None:
        self.pairs = pairs

    def replay(self, claim: Predicate, episode_ids: Sequence[str], limit: int) -> Sequence[Pair]:
        return self.pairs


class Broken:
    """A hook of an operator whose environment is down."""

    def replay(self, claim: Predicate, episode_ids: Sequence[str], limit: int) -> Sequence[Pair]:
        raise ConnectionError("the sandbox is down")


class WorldHook:
    """Runs of a tool world made again from their seed: every draw is the same, one choice is forced.

    ``starts`` maps an episode to its task and seed.
    """

    def __init__(self, world: World, starts: dict[str, tuple[str, int]]) -> None:
        self.world = world
        self.starts = starts

    def replay(self, claim: Predicate, episode_ids: Sequence[str], limit: int) -> Sequence[Pair]:
        stated = claim.canonical("any")
        sides = [(choice.id, side) for choice in self.world.choices if (side := choice.side(stated)) is not None]
        if not sides:
            return []
        (choice, side), *_ = sides
        follow = side == (claim.direction == "do")
        starts = [self.starts[one] for one in episode_ids if one in self.starts]
        return [
            Pair(self._run(start, choice, follow), self._run(start, choice, not follow)) for start in starts[:limit]
        ]

    def _run(self, start: tuple[str, int], choice: str, taken: bool) -> bool:
        key, seed = start
        rng = random.Random(f"{key}/{seed}")
        setting = Setting(self.world.releases[0], frozenset())
        forced = {choice: taken, "slip": False}
        return run(
            self.world, self.world.task(key, rng), POLICIES["careful"], rng, setting, forced=forced
        ).verdict.success


HABITS = [habit for habit in planted() if habit.harm >= 0.8]
ASIDES = [(world, aside) for world in WORLDS.values() for aside in world.asides[:1]]


@pytest.mark.parametrize("habit", HABITS[:6], ids=lambda habit: habit.id)
def test_in_a_world_a_planted_habit_is_shown_by_changing_it_alone(habit: PlantedHabit) -> None:
    starts = {f"e{n}": (habit.applies_to[n % len(habit.applies_to)], n) for n in range(MOST_PAIRS)}
    found = replayed(WorldHook(WORLDS[habit.world], starts), from_canonical(dict(habit.predicate)), list(starts))
    assert found is not None
    assert found.pairs == MOST_PAIRS
    assert found.better > MOST_PAIRS / 2
    assert found.worse == 0


@pytest.mark.parametrize(("world", "aside"), ASIDES, ids=lambda one: getattr(one, "name", getattr(one, "call", "")))
def test_in_a_world_a_harmless_call_is_shown_to_change_nothing(world: World, aside: Aside) -> None:
    starts = {f"e{n}": (world.specs[n % len(world.specs)].key, n) for n in range(MOST_PAIRS)}
    claim = from_canonical({**aside.choice.taken[0], "direction": "avoid"})
    found = replayed(WorldHook(world, starts), claim, list(starts))
    assert found is not None
    assert (found.pairs, found.better, found.worse) == (MOST_PAIRS, 0, 0)


def test_a_condition_that_a_world_does_not_know_is_not_replayed() -> None:
    found = replayed(WorldHook(WORLDS["travel"], {"e1": ("x", 1)}), CLAIM, ["e1"])
    assert found is not None
    assert found.pairs == 0


def test_without_a_hook_nothing_is_said() -> None:
    assert replayed(None, CLAIM, ["e1"]) is None


def test_pairs_are_counted_and_a_run_that_did_not_end_says_nothing() -> None:
    hook = Fixed(Pair(True, False), Pair(True, True), Pair(False, True), Pair(None, True))
    found = replayed(hook, CLAIM, ["e1"])
    assert found is not None
    assert (found.pairs, found.better, found.worse) == (3, 1, 1)


def test_a_hook_that_fails_is_no_verdict() -> None:
    found = replayed(Broken(), CLAIM, ["e1"])
    assert found is not None
    assert (found.pairs, found.why) == (0, "the replay hook failed: ConnectionError")


def test_no_more_pairs_count_than_were_asked_for() -> None:
    found = replayed(Fixed(*[Pair(True, False)] * 100), CLAIM, ["e1"])
    assert found is not None
    assert found.pairs == MOST_PAIRS


@pytest.mark.parametrize(
    "policy",
    [{"blocking_checks": "secrets"}, {"blocking_checks": ["no-such"]}, {"retire_limit": 1.5}, {"retire_limit": True},
     {"holdout_fraction": 0.6}, {"holdout_fraction": "5 %"}],
)  # fmt: skip
def test_a_policy_on_evidence_that_cannot_be_meant_is_refused(policy: dict[str, object]) -> None:
    with pytest.raises(BadEvidencePolicy):
        check_policy(policy)


def test_a_policy_on_evidence_that_is_meant_is_taken() -> None:
    check_policy({"blocking_checks": ["secrets", "injection"], "retire_limit": 0.5, "holdout_fraction": 0.1})
