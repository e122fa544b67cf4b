"""Grading what somebody found in episodes of the worlds against what was planted in them. Pure.

A finding is **true** if it states a planted habit with the right advice and is the first to do so, **redundant** if it
states one that was stated already or states it in a roundabout way, else **false**.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.engine.habits import PlantedHabit, Predicate
from worlds.engine.shows import shows

FINDABLE_Z = 6.0
"""A habit is findable if the effect it is declared to have would, in the mean, lie so many standard errors from none,
with the tasks known. Half of the evidence then shows it at 4.2, which few corrections for many tests would refuse."""
JUDGED = ("success", "failure")


@dataclass(frozen=True, slots=True)
class Grade:
    """``missed`` are habits that were findable and that no finding states; ``unfindable`` those that were not."""

    true: tuple[tuple[Predicate, str], ...]
    redundant: tuple[tuple[Predicate, str], ...]
    false: tuple[Predicate, ...]
    found: tuple[str, ...]
    missed: tuple[str, ...]
    unfindable: tuple[str, ...]

    @property
    def staged(self) -> int:
        return len(self.true) + len(self.redundant) + len(self.false)

    @property
    def precision(self) -> float:
        """Share of findings that are not false; 1 where there are none."""
        return 1 - len(self.false) / self.staged if self.staged else 1.0

    @property
    def recall(self) -> float:
        """Share of findable habits that were found; 1 where none was findable."""
        wanted = len(self.found) + len(self.missed)
        return len(self.found) / wanted if wanted else 1.0


def grade(
    findings: Iterable[Predicate], habits: Sequence[PlantedHabit], findable: Iterable[str] | None = None
) -> Grade:
    """Grade findings (predicates with their ``direction``, in the order they are ranked) against the truth.

    Args:
        findable: ids of the habits that could have been found, for instance those that ``findable_habits`` names; all
            where None. A habit that was found counts as findable.
    """
    true, redundant, false = [], [], []
    stated: list[str] = []
    for finding in findings:
        match = next((habit.id for habit in habits if habit.matches(finding)), None)
        close = match or next((habit.id for habit in habits if habit.restates(finding)), None)
        if match is not None and match not in stated:
            stated.append(match)
            true.append((finding, match))
        elif close is not None:
            redundant.append((finding, close))
        else:
            false.append(finding)
    # A habit that was found in roundabout words alone is found all the same: a reviewer reads of it.
    known = {*stated, *(habit for _, habit in redundant)}
    wanted = {habit.id for habit in habits} if findable is None else {*findable} | known
    ids = [habit.id for habit in habits]
    return Grade(
        tuple(true),
        tuple(redundant),
        tuple(false),
        found=tuple(each for each in ids if each in known),
        missed=tuple(each for each in ids if each in wanted and each not in known),
        unfindable=tuple(each for each in ids if each not in wanted),
    )


def findable_habits(episodes: Iterable[Mapping[str, Any]], habits: Sequence[PlantedHabit]) -> dict[str, float]:
    """Ids of the habits that these episodes can show, with the z that an effect as declared would have in the mean.

    Args:
        episodes: canonical, with their ``task_key``; those whose outcome was not judged are left out. Sessions and
            copies are not looked at: this is the most that a test could hope for.
    """
    judged = [one for one in episodes if one.get("outcome") in JUDGED and _is_judged(one)]
    scores = {habit.id: expected_z(judged, habit) for habit in habits}
    return {habit: z for habit, z in scores.items() if z >= FINDABLE_Z}


def expected_z(episodes: Sequence[Mapping[str, Any]], habit: PlantedHabit) -> float:
    """Declared harm over its standard error, pooled over tasks (Mantel-Haenszel weights)."""
    by_task: dict[str, list[tuple[bool, bool, bool]]] = {}
    wanted = {*habit.applies_to, *habit.exceptions}
    for one in episodes:
        if one["task_key"] in wanted and (holds := shows(habit.predicate, one)) is not None:
            taken = holds == (habit.predicate["direction"] == "avoid")
            row = (taken, one["outcome"] == "success", _in_force(habit, one))
            by_task.setdefault(one["task_key"], []).append(row)
    drop, variance = 0.0, 0.0
    for key, rows in by_task.items():
        took = sum(t for t, _, _ in rows)
        left = len(rows) - took
        if not took or not left:
            continue
        base = sum(s for t, s, _ in rows if not t) / left
        in_force = sum(f for t, _, f in rows if t) / took
        effect = habit.harm * base * in_force if key in habit.applies_to else -habit.harm * (1 - base)
        mean = sum(s for _, s, _ in rows) / len(rows)
        weight = took * left / len(rows)
        drop += weight * effect
        variance += weight * mean * (1 - mean)
    return drop / math.sqrt(variance) if variance else 0.0


def _in_force(habit: PlantedHabit, episode: Mapping[str, Any]) -> bool:
    """Whether the habit does harm at the episode's release, as far as its record says."""
    named = set(episode.get("environment", {}).values())
    return not named or bool(named & set(habit.releases))


def _is_judged(episode: Mapping[str, Any]) -> bool:
    return bool(episode.get("outcome_source") != "self-reported")
