"""What a model is shown: some raw episodes of one cluster. There is no place here for a rule, a draft or a figure.

What an episode read from memory, or wrote to it, is shown only as having happened: prior memory stays hidden while
drafting, so that a rule's words can't come back as their own evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from storage.ids import canonical_json
from tasks.contrast.facts import call_key
from tasks.draft.model.mask import Mask
from tasks.ingest.episode import Episode, Step
from tasks.verify.signs import HIDDEN

Mode = Literal["imitation", "strategic", "corrective"]
MODES: tuple[Mode, ...] = ("imitation", "strategic", "corrective")

MEMORY_READ, MEMORY_WRITE = "[memory read]", "[memory write]"
MOST_EPISODES = 8
SHARES: dict[Mode, float] = {"imitation": 2 / 3, "strategic": 1 / 2, "corrective": 1 / 3}
"""By mode, the share of successes among the episodes shown: both outcomes are always among them."""


@dataclass(frozen=True)
class StepText:
    """One step as a model may see it. ``number`` counts from 1 over the episode, so that omissions show."""

    number: int
    id: str
    kind: str
    text: str = ""
    name: str = ""
    arguments: str = ""
    failed: bool = False


@dataclass(frozen=True)
class EpisodeText:
    """One episode as a model may see it. ``outcome`` is success, failure or unknown."""

    id: str
    task: str
    outcome: str
    steps: tuple[StepText, ...]
    calls: frozenset[str] = frozenset()
    skipped: int = 0


@dataclass(frozen=True)
class Listed:
    """One episode to choose from. ``exposed``: it may have read a rule."""

    id: str
    outcome: str
    stratum: str
    group: str
    exposed: bool = False


@dataclass(frozen=True)
class ClusterBrief:
    """Everything that a prompt is made of."""

    namespace: str
    label: str
    mode: Mode
    episodes: tuple[EpisodeText, ...]

    @property
    def inputs(self) -> list[str]:
        """The episodes whose text is in the prompt."""
        return sorted(episode.id for episode in self.episodes)


def choose(listed: Sequence[Listed], mode: Mode, most: int = MOST_EPISODES) -> list[Listed]:
    """Episodes to show: both outcomes where there are both, one a group, tasks that have both outcomes first.

    Those that may have read a rule come last. The same list in any order gives the same choice.
    """
    successes, failures = (_order(listed, outcome) for outcome in ("success", "failure"))
    if not successes and not failures:
        return _spread(sorted(_order(listed, "unknown"), key=lambda one: one.exposed), set(), most)
    won = min(len(successes), max(1, round(most * SHARES[mode])))
    won = max(won, most - len(failures)) if failures else most
    groups: set[str] = set()
    chosen = _spread(successes, groups, min(won, most - (1 if failures else 0)))
    return chosen + _spread(failures, groups, most - len(chosen))


def _order(listed: Sequence[Listed], outcome: str) -> list[Listed]:
    """Of one outcome: unexposed first, then of tasks with both outcomes, round the tasks rather than through one."""
    both = {one.stratum for one in listed if one.outcome == "success"} & {
        one.stratum for one in listed if one.outcome == "failure"
    }
    turn: dict[str, int] = {}
    keyed = []
    for one in sorted((one for one in listed if one.outcome == outcome), key=lambda one: (one.exposed, one.id)):
        place = turn[one.stratum] = turn.get(one.stratum, 0) + 1
        keyed.append(((one.exposed, one.stratum not in both, place, one.stratum, one.id), one))
    return [one for _, one in sorted(keyed, key=lambda pair: pair[0])]


def _spread(ordered: Iterable[Listed], groups: set[str], most: int) -> list[Listed]:
    """The first ``most`` of groups not met yet; ``groups`` is added to."""
    chosen: list[Listed] = []
    for one in ordered:
        if len(chosen) < most and one.group not in groups:
            groups.add(one.group)
            chosen.append(one)
    return chosen


def read_episode(identity: str, episode: Episode, outcome: str, mask: Mask) -> EpisodeText:
    """An episode for a model's eyes: memory hidden, copied context left out, words of rules masked wherever met."""
    hidden = {step.id for step in episode.steps if step.kind in ("memory_read", "memory_write")}
    steps, calls, skipped = [], set(), 0
    for number, step in enumerate(episode.steps, 1):
        if step.is_copied_context:
            skipped += 1
            continue
        if step.kind == "tool_call" and step.name:
            calls.add(call_key(step))
        steps.append(_step(number, step, hidden, mask))
    return EpisodeText(identity, mask.over(clean(episode.task)), outcome, tuple(steps), frozenset(calls), skipped)


def _step(number: int, step: Step, hidden: set[str], mask: Mask) -> StepText:
    if step.kind in ("memory_read", "memory_write"):
        return StepText(number, step.id, step.kind, MEMORY_READ if step.kind == "memory_read" else MEMORY_WRITE)
    if step.of in hidden:
        return StepText(number, step.id, step.kind, MEMORY_READ)
    given: Any = step.arguments if step.arguments is not None else step.raw_arguments
    arguments = "" if given is None else _json(given)
    return StepText(
        number, step.id, step.kind, mask.over(clean(step.text)), clean(call_key(step) if step.name else ""),
        mask.over(clean(arguments)), bool(step.is_error),
    )  # fmt: skip


def _json(value: Any) -> str:
    text = canonical_json(value).decode()
    return text if text.isascii() and "\\u" not in text else _readable(value)


def _readable(value: Any) -> str:
    """As JSON with its own letters: escapes would cost tokens and could not be quoted."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_readable(str(key))}:{_readable(child)}" for key, child in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_readable(child) for child in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return canonical_json(value).decode()


def clean(text: str) -> str:
    """Text that can be sent: no lone surrogates, and invisible characters told as a count rather than passed on."""
    sendable = text.encode("utf-8", "replace").decode("utf-8")
    return sendable if sendable.isascii() else _HIDDEN_RUN.sub(_told, sendable)


def _told(found: re.Match[str]) -> str:
    return f"[{len(found.group())} hidden characters]"


_HIDDEN_RUN = re.compile(f"{HIDDEN.pattern}+")
