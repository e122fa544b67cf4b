"""A stream of episodes from the worlds: same seed and options, same episodes."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from worlds.engine.habits import PlantedHabit
from worlds.engine.policies import Policy, policies
from worlds.engine.rules import FixedMemory, Memory
from worlds.engine.run import Run, Setting, run
from worlds.engine.world import Task, World
from worlds.shopping import SHOPPING
from worlds.support import SUPPORT
from worlds.travel import TRAVEL

WORLDS: Mapping[str, World] = {world.name: world for world in (SHOPPING, TRAVEL, SUPPORT)}
CONFOUNDERS = ("difficulty", "agent")
RELEASES = ("current", "next", "mixed")
SAME_SESSION = 0.15
"""How often an agent goes on to its next task in the session it is in."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """Who does what in which session; drawn without regard to how earlier runs ended."""

    world: World
    key: str
    policy: Policy
    session_id: str
    release: str


@dataclass(frozen=True, slots=True)
class _Options:
    confound: frozenset[str]
    task_keys: bool
    memory: Memory | None
    crew: Sequence[Policy]
    release: str


def generate(
    seed: int,
    episodes: int,
    *,
    worlds: Collection[str] = ("shopping", "travel", "support"),
    start: datetime,
    confound: Collection[str] = ("difficulty",),
    task_keys: bool = True,
    memory: Memory | Iterable[Any] | None = None,
    agents: Sequence[str] | None = None,
    release: str = "current",
) -> Iterator[dict[str, Any]]:
    """Yield ``episodes`` canonical episodes as JSON-ready dicts, in order of their start.

    Args:
        start: when the first run starts; must carry a zone.
        confound: ``difficulty``: harmless calls are made on hard tasks; ``agent``: a clumsy agent makes others.
        task_keys: False leaves ``task_key`` out, as most real logs do.
        memory: rules, or something that answers with rules; only the agent ``reader`` asks it. Chances are drawn
            per episode, so the same seed with and without memory gives matched pairs.
        agents: names of the agents at work; all by default.
        release: ``current``, ``next`` (some habits do no harm there) or ``mixed``.

    Raises:
        ValueError: an option that does not exist, no episodes to make, or a ``start`` without a zone.
    """
    _refuse_unknown("worlds", worlds, WORLDS)
    _refuse_unknown("confound", confound, CONFOUNDERS, may_be_empty=True)
    _refuse_unknown("release", (release,), RELEASES)
    if episodes < 0:
        raise ValueError(f"episodes must not be negative, and is {episodes}")
    if start.tzinfo is None:
        raise ValueError(f"start needs a zone: {start.isoformat()} has none; add tzinfo=UTC")
    crew = policies(None if agents is None else tuple(agents))
    options = _Options(frozenset(confound), task_keys, _reader(memory), crew, release)
    return _stream(seed, episodes, [WORLDS[name] for name in worlds], start.astimezone(UTC), options)


def planted(worlds: Collection[str] = tuple(WORLDS)) -> list[PlantedHabit]:
    """The ground truth: every bad habit planted in these worlds."""
    _refuse_unknown("worlds", worlds, WORLDS)
    return [habit for name in worlds for habit in WORLDS[name].habits]


def _reader(memory: Memory | Iterable[Any] | None) -> Memory | None:
    if memory is None or isinstance(memory, Memory):
        return memory
    return FixedMemory(memory)


def _stream(
    seed: int, episodes: int, worlds: Sequence[World], clock: datetime, options: _Options
) -> Iterator[dict[str, Any]]:
    for index, turn in enumerate(_turns(seed, episodes, worlds, options.crew, options.release)):
        rng = random.Random(f"{seed}/{index}")
        task = turn.world.task(turn.key, rng)
        setting = Setting(turn.release, options.confound)
        done = run(turn.world, task, turn.policy, rng, setting, memory=options.memory, session_id=turn.session_id)
        ended = clock + timedelta(seconds=4 * len(done.steps))
        episode = _episode(f"{turn.world.name}-{seed}-{index:06d}", turn, task, done, clock, ended)
        yield {**episode, "task_key": task.key} if options.task_keys else episode
        clock += timedelta(seconds=random.Random(f"{seed}/{index}/pause").randint(20, 240))


def _turns(seed: int, episodes: int, worlds: Sequence[World], crew: Sequence[Policy], release: str) -> Iterator[_Turn]:
    """Task keys are dealt from a shuffled deck per world, so that every key comes equally often."""
    rng = random.Random(f"{seed}/turns")
    decks: dict[str, list[str]] = {world.name: [] for world in worlds}
    session, last = 0, None
    for index in range(episodes):
        stays = rng.random() < SAME_SESSION
        policy, position = rng.choice(crew), _release_position(rng, release)
        if last is None or not stays:
            world, session = worlds[index % len(worlds)], session + 1
            last = _Turn(world, "", policy, f"s-{seed}-{session:05d}", world.releases[position])
        deck = decks[last.world.name] or _shuffled(rng, last.world)
        decks[last.world.name] = deck[1:]
        last = replace(last, key=deck[0])
        yield last


def _shuffled(rng: random.Random, world: World) -> list[str]:
    keys = [spec.key for spec in world.specs]
    rng.shuffle(keys)
    return keys


def _release_position(rng: random.Random, release: str) -> int:
    drawn = rng.randrange(2)
    return drawn if release == "mixed" else RELEASES.index(release)


def _episode(episode_id: str, turn: _Turn, task: Task, done: Run, started: datetime, ended: datetime) -> dict[str, Any]:
    success = done.verdict.success
    return {
        "id": episode_id,
        "task": task.text,
        "session_id": turn.session_id,
        "agent": turn.policy.name,
        "agent_version": turn.policy.version,
        "environment": {turn.world.component: turn.release},
        "tools_offered": turn.world.offered,
        "started_at": _iso(started),
        "ended_at": _iso(ended),
        "outcome": "success" if success else "failure",
        "outcome_source": "environment",
        "reward": 1.0 if success else 0.0,
        "trust": "internal",
        "steps": done.steps,
        "metadata": {"checker": done.verdict.reason},
    }


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _refuse_unknown(option: str, given: Collection[str], known: Collection[str], *, may_be_empty: bool = False) -> None:
    if isinstance(given, str) or (not given and not may_be_empty):
        raise ValueError(f"{option} must be a collection of names from {', '.join(known)}, and is {given!r}")
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"unknown {option}: {', '.join(unknown)}; choose from {', '.join(known)}")
