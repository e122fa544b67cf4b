"""Coding sessions as a harness records them: calls, errors, retries, and no word on how it all ended."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from worlds.coding.agents import AGENTS, FILLERS, Agent
from worlds.coding.dialects import Script
from worlds.coding.errors import TROUBLES, Cure, Trouble

WORDS = (
    "orbit", "lumen", "quartz", "maple", "harbor", "pixel", "ember", "delta", "willow", "cobalt", "fable", "nimbus",
    "raven", "saffron", "tundra", "velvet", "walnut", "zephyr", "basalt", "cinder",
)  # fmt: skip
GOALS = (
    "Add a retry to the {module} client and make the tests pass",
    "Fix the bug in {module} that drops the last row",
    "Bump {package} and get the build green",
    "Refactor {module} into two files",
    "给 {module} 模块加上缓存，并让测试通过",
    "修复 {module} 中的时区问题",
)
MOST_TRIES = 4
BY_ITSELF = 0.4
ALONG = 0.5
"""How often what goes along with a cure is done beside it."""

COPIES = 7
"""So many times is one session recorded that holds a recovery of its own: one piece of evidence, not seven."""

ONCE = Trouble(
    "once-only", "terraform apply", "terraform apply",
    "Error: state lock held by {module}-{n}\n", "state lock held",
    (Cure("terraform force-unlock -force 1", "terraform force-unlock"),),
)  # fmt: skip


def sessions(seed: int, count: int, start: datetime, *, cures_work: bool = True) -> Iterator[dict[str, Any]]:
    """Yield ``count`` coding sessions as canonical episodes without outcomes, and a few copies of one of them.

    Args:
        start: when the first begins; must carry a zone.
        cures_work: False makes every error pass by itself or not, whatever is done: nothing is there to be found.

    Raises:
        ValueError: ``start`` has no zone, or ``count`` is negative.
    """
    if start.tzinfo is None:
        raise ValueError(f"start needs a zone: {start.isoformat()} has none; add tzinfo=UTC")
    if count < 0:
        raise ValueError(f"sessions must not be negative, and is {count}")
    clock = start.astimezone(UTC)
    for index in range(count):
        yield _session(seed, index, clock, cures_work)
        clock += timedelta(minutes=random.Random(f"coding/{seed}/{index}/pause").randint(5, 90))
    if count:
        yield from _copies(seed, clock)


def _session(seed: int, index: int, at: datetime, cures_work: bool) -> dict[str, Any]:
    rng = random.Random(f"coding/{seed}/{index}")
    agent = rng.choice(AGENTS)
    names = _names(rng)
    script = Script(agent.dialect)
    task = rng.choice(GOALS).format(**names)
    script.say("user", task)
    possible = [one for one in TROUBLES if agent.dialect in one.dialects]
    for trouble in _drawn(possible, rng.choice((2, 3, 3, 4)), rng):
        _wander(script, rng)
        _meet(script, trouble if cures_work else _idle(trouble), agent, _names(rng), rng)
    _wander(script, rng)
    script.say("answer", "Done.")
    return _episode(f"coding-{seed}-{index:05d}", agent, task, script, at)


def _idle(trouble: Trouble) -> Trouble:
    """The same trouble, with acts that look like cures and do nothing."""
    return replace(trouble, by_itself=max(trouble.by_itself, BY_ITSELF), by_editing=0.0, cured=0.0)


def _drawn(possible: Sequence[Trouble], count: int, rng: random.Random) -> list[Trouble]:
    """Different troubles, by weight (Efraimidis and Spirakis 2006)."""
    return sorted(possible, key=lambda one: -(rng.random() ** (1 / one.weight)))[:count]


def _episode(name: str, agent: Agent, task: str, script: Script, at: datetime) -> dict[str, Any]:
    return {
        "id": name, "session_id": f"s-{name}", "task": task, "agent": agent.name,
        "environment": {"harness": agent.dialect}, "started_at": at.isoformat(),
        "ended_at": (at + timedelta(seconds=7 * len(script.steps))).isoformat(), "steps": script.steps,
    }  # fmt: skip


def _copies(seed: int, at: datetime) -> Iterator[dict[str, Any]]:
    """One session, written down again and again under other names."""
    rng = random.Random(f"coding/{seed}/copies")
    agent = next(one for one in AGENTS if one.dialect == "swe-agent")
    names = _names(rng)
    script = Script(agent.dialect)
    script.say("user", f"Roll out {names['package']}")
    for _ in range(4):
        _wander(script, rng)
    script.shell(ONCE.command, ONCE.says.format(**names), worked=False)
    script.shell(ONCE.command, ONCE.says.format(**names), worked=False)
    script.shell(ONCE.cures[0].line, "ok", worked=True)
    script.shell(ONCE.command, "Apply complete", worked=True)
    for number in range(COPIES):
        episode = _episode(f"coding-{seed}-copy-{number}", agent, f"Roll out {names['package']}", script, at)
        yield {key: value for key, value in episode.items() if key != "session_id"}


def _names(rng: random.Random) -> dict[str, Any]:
    module, package, name = rng.sample(WORDS, 3)
    clock = f"2026-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}T0{rng.randint(0, 9)}:1{rng.randint(0, 9)}:00Z"
    return {
        "module": f"{module}_{rng.choice(WORDS)}", "package": f"{package}-{rng.choice(('core', 'kit', 'api'))}",
        "name": name, "branch": f"{name}/fix-{rng.randint(10, 999)}", "n": rng.randint(2, 9), "time": clock,
        "root": f"/home/{name}/{package}",
    }  # fmt: skip


def _wander(script: Script, rng: random.Random) -> None:
    for line in rng.sample(FILLERS, rng.randint(0, 2)):
        script.shell(line, f"{rng.choice(WORDS)} {rng.randint(1, 99)}", worked=True)


def _meet(script: Script, trouble: Trouble, agent: Agent, names: Mapping[str, Any], rng: random.Random) -> None:
    """One trouble, from its first failure to the try that works or the last that the agent makes."""
    cause = rng.choice(trouble.cures) if trouble.cures else None
    line = rng.choice((trouble.command, *trouble.variants)).format(**names)
    _attempt(script, trouble, line, names, worked=False)
    cured, edited = False, False
    for number in range(MOST_TRIES):
        retry = line
        if not (number == 0 and rng.random() < agent.plain):
            edited = _prepare(script, trouble, agent, rng) or edited
            did = _turn_to_cure(script, trouble, agent, names, rng)
            cured = cured or (did is not None and did is cause)
            if did is not None and did.key.startswith("again:"):
                retry = did.line.format(**names)
        chance = max(trouble.by_itself, trouble.cured if cured else 0.0, trouble.by_editing if edited else 0.0)
        worked = rng.random() < chance
        _attempt(script, trouble, retry, names, worked=worked)
        if worked:
            return
        if rng.random() < 0.15:
            return


def _prepare(script: Script, trouble: Trouble, agent: Agent, rng: random.Random) -> bool:
    """Habits, looks around, a change somewhere; whether something was changed."""
    for line, chance in agent.habits:
        if rng.random() < chance:
            script.shell(line, "ok", worked=True)
    _wander(script, rng)
    edits = rng.random() < (0.6 if trouble.by_editing else 0.15)
    if edits and trouble.tool != "edit":
        script.edit(f"src/{rng.choice(WORDS)}.py", "The file has been edited.", worked=True)
    return edits


def _turn_to_cure(
    script: Script, trouble: Trouble, agent: Agent, names: Mapping[str, Any], rng: random.Random
) -> Cure | None:
    if not trouble.cures or rng.random() >= agent.knows:
        # Some do what goes along with a cure without the cure.
        for line in (line for cure in trouble.cures for line in cure.along):
            if rng.random() < ALONG / 3:
                script.shell(line, "ok", worked=True)
        return None
    cure = rng.choice(trouble.cures)
    for line in cure.along:
        if rng.random() < ALONG:
            script.shell(line, "ok", worked=True)
    if cure.tool == "read":
        script.read(cure.line.format(**names))
    elif not cure.key.startswith("again:"):
        script.shell(cure.line.format(**names), "ok", worked=True)
    return cure


def _attempt(script: Script, trouble: Trouble, line: str, names: Mapping[str, Any], *, worked: bool) -> None:
    output = "ok" if worked else trouble.says.format(**names)
    if trouble.tool == "edit":
        script.edit(line, output, worked=worked)
    else:
        script.shell(line, output, worked=worked)


def planted() -> Sequence[Trouble]:
    """The truth: the troubles that have a cure."""
    return [one for one in TROUBLES if one.cures]
