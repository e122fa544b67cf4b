"""A stream of episodes from an invented world, in the manners of its logs."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from worlds.engine.policies import Policy
from worlds.engine.run import Run, Setting, run
from worlds.engine.world import Task
from worlds.invented.plan import Invented, invent

NOT_JUDGED = ("unknown", "partial")
RETRY_AFTER = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class _Turn:
    """Who does what in which session, at which release of the world."""

    index: int
    key: str
    policy: Policy
    session: int
    release: str


def generate(
    world_seed: int,
    seed: int,
    episodes: int,
    *,
    start: datetime,
    confound: Collection[str] = ("difficulty",),
    task_keys: bool = True,
    release: str = "mixed",
) -> Iterator[dict[str, Any]]:
    """Yield ``episodes`` canonical episodes of the world that ``world_seed`` invents, in order of their start.

    The first ``n`` episodes of a longer stream are those of a shorter one. ``confound`` and ``task_keys`` are those of
    :func:`worlds.generate`; ``release`` is ``current``, ``next`` or ``mixed``.

    Raises:
        ValueError: a ``start`` without a zone, an unknown release or confounder, or fewer than no episodes.
    """
    if start.tzinfo is None:
        raise ValueError(f"start needs a zone: {start.isoformat()} has none; add tzinfo=UTC")
    if release not in ("current", "next", "mixed") or episodes < 0:
        raise ValueError(f"release {release!r}, episodes {episodes}: need current, next or mixed, and 0 or more")
    if unknown := set(confound) - {"difficulty", "agent"}:
        raise ValueError(f"unknown confound {sorted(unknown)}: choose from difficulty, agent")
    return _stream(invent(world_seed), seed, episodes, start.astimezone(UTC), frozenset(confound), task_keys, release)


def _stream(
    made: Invented, seed: int, episodes: int, clock: datetime, confound: frozenset[str], keys: bool, release: str
) -> Iterator[dict[str, Any]]:
    left = episodes
    for turn in _turns(made, seed, release):
        if left <= 0:
            return
        rng = random.Random(f"{made.seed}/{seed}/{turn.index}")
        task = made.world.task(turn.key, rng)
        done = run(made.world, task, turn.policy, rng, Setting(turn.release, confound))
        # How an episode is written down is drawn apart from how it went: manners decide nothing.
        manner = random.Random(f"{made.seed}/{seed}/{turn.index}/manner")
        episode = _episode(made, seed, turn, task, done, clock, manner)
        for one in (episode, *_after(made, seed, turn, task, episode, confound, clock, manner)):
            if left > 0:
                yield {**one, "task_key": task.key} if keys else one
                left -= 1
        clock += timedelta(seconds=manner.randint(20, 400))


def _turns(made: Invented, seed: int, release: str) -> Iterator[_Turn]:
    """Endlessly; task keys are dealt from a shuffled deck, so that every key comes about equally often."""
    rng = random.Random(f"{made.seed}/{seed}/turns")
    deck: list[str] = []
    session, policy, at = 0, made.crew[0], 0
    index = 0
    while True:
        if index == 0 or rng.random() >= made.manners.same_session:
            session, policy, at = session + 1, rng.choice(made.crew), rng.randrange(2)
        if not deck:
            deck = [spec.key for spec in made.world.specs]
            rng.shuffle(deck)
        position = at if release == "mixed" else ("current", "next").index(release)
        yield _Turn(index, deck.pop(), policy, session, made.world.releases[position])
        index += 1


def _after(
    made: Invented, seed: int, turn: _Turn, task: Task, episode: dict[str, Any], confound: frozenset[str],
    clock: datetime, manner: random.Random,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """What some logs hold besides: the same record taken in once more, or a second try at a failed task."""
    if manner.random() < made.manners.copies:
        yield {**episode, "id": f"{episode['id']}-copy", "session_id": f"{episode['session_id']}-import"}
    if episode["outcome"] == "failure" and manner.random() < made.manners.retries:
        rng = random.Random(f"{made.seed}/{seed}/{turn.index}/again")
        done = run(made.world, task, turn.policy, rng, Setting(turn.release, confound))
        again = _episode(made, seed, turn, task, done, clock + RETRY_AFTER, manner)
        yield {**again, "id": f"{episode['id']}-again", "retry_of": episode["id"]}


def _episode(
    made: Invented, seed: int, turn: _Turn, task: Task, done: Run, started: datetime, manner: random.Random
) -> dict[str, Any]:
    manners, world = made.manners, made.world
    episode: dict[str, Any] = {
        "id": f"{world.name}-{seed}-{turn.index:06d}",
        "task": task.text,
        "session_id": f"{world.name}-{seed}-s{turn.session:05d}",
        "agent": turn.policy.name,
        "agent_version": turn.policy.version,
        "started_at": _iso(started),
        "ended_at": _iso(started + timedelta(seconds=3 * len(done.steps))),
        "trust": "internal",
        "steps": _talked(done.steps, manners.user_talks, manner),
        **_outcome(done.verdict.success, made, manner),
    }
    client = random.Random(f"{made.seed}/{turn.policy.name}/client")
    names, offers = client.random() < manners.names_environment, client.random() < manners.offers_tools
    if names:
        others = {name: manner.choice(values) for name, values in manners.other_components}
        episode["environment"] = {world.component: turn.release, **others}
    if offers:
        episode["tools_offered"] = world.offered
    return episode


def _outcome(success: bool, made: Invented, manner: random.Random) -> dict[str, Any]:
    """The checker's verdict, or nothing certain, or only what the agent says of itself (it is always content)."""
    manners = made.manners
    if manner.random() < manners.unknown:
        return {"outcome": manner.choice(NOT_JUDGED)}
    if manner.random() < manners.self_reported:
        return {"outcome": "success", "outcome_source": "self-reported"}
    judged = {"outcome": "success" if success else "failure", "outcome_source": manners.outcome_source}
    return {**judged, "reward": float(success)} if manners.rewards else judged


def _talked(steps: Any, share: float, manner: random.Random) -> list[dict[str, Any]]:
    """The steps, with a word of the user's put in here and there. Ids stay those of the steps."""
    talked: list[dict[str, Any]] = []
    for step in steps:
        if step["kind"] == "answer" and manner.random() < share:
            talked.append({"id": f"{step['id']}u", "kind": "user", "text": manner.choice(_WORDS)})
        talked.append(step)
    return talked


_WORDS = ("Thanks, is it done?", "And? Did it work?", "I am still here.", "Take your time.")


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
