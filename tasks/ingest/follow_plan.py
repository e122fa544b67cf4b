"""Which files of the followed folders are due: pure, given what was found, what is remembered, and the time.

A file is finished when neither its size nor its time of change moved for ``settle`` seconds, by its own clock or by
ours: the clock of a network folder may be wrong, and a file that was moved into place is old at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

FIRST_RETRY = 5.0
LONGEST_RETRY = 600.0
UNFINISHED = (".part", ".partial", ".tmp", ".crdownload", ".swp", "~")
"""Ends of names under which programs write what they rename when it is finished."""


@dataclass(frozen=True)
class Stamp:
    """What tells one content of a path from another without reading it."""

    size: int
    mtime_ns: int
    inode: int = 0


@dataclass(frozen=True)
class Sighting:
    """Since when a path has had this stamp, by our clock."""

    stamp: Stamp
    since: float


@dataclass(frozen=True)
class Known:
    """What is remembered of a path: the stamp and generation it was read with, or how often that failed."""

    stamp: Stamp
    generation: str
    failed: bool = False
    attempts: int = 0
    at: float = 0.0


@dataclass(frozen=True)
class Plan:
    """What to read now, and how long nothing else can be due. ``growing`` files are not finished yet."""

    due: tuple[str, ...] = ()
    growing: tuple[str, ...] = ()
    held_back: tuple[str, ...] = ()
    sightings: dict[str, Sighting] = field(default_factory=dict)
    wait: float | None = None


def plan(
    found: Mapping[str, Stamp],
    seen: Mapping[str, Sighting],
    known: Mapping[str, Known],
    *,
    generation: str,
    now: float,
    settle: float,
) -> Plan:
    """Sort the files of one scan into due, growing and held back (failed, until their time comes)."""
    sightings = {path: _sighting(stamp, seen.get(path), now) for path, stamp in found.items()}
    due, growing, held, waits = [], [], [], []
    for path, sighting in sorted(sightings.items()):
        before = known.get(path)
        if (
            before is not None
            and not before.failed
            and (before.stamp, before.generation)
            == (
                sighting.stamp,
                generation,
            )
        ):
            continue
        left = settle - _unchanged_for(sighting, now)
        if left > 0:
            growing.append(path)
            waits.append(left)
            continue
        pause = _pause(before, sighting.stamp, generation, now)
        if pause > 0:
            held.append(path)
            waits.append(pause)
        else:
            due.append(path)
    return Plan(tuple(due), tuple(growing), tuple(held), sightings, min(waits, default=None))


def retry_after(attempts: int) -> float:
    """Seconds until a file that failed this often is tried again: twice as long each time, up to a limit."""
    return min(FIRST_RETRY * 2.0 ** min(max(attempts, 1) - 1, 20), LONGEST_RETRY)


def is_unfinished_name(name: str) -> bool:
    """Whether a name says that its file is still being written, or is not meant for us."""
    return name.startswith(".") or name.lower().endswith(UNFINISHED)


def _sighting(stamp: Stamp, before: Sighting | None, now: float) -> Sighting:
    """A clock that was set back starts the wait anew."""
    same = before is not None and before.stamp == stamp and before.since <= now
    return before if same and before is not None else Sighting(stamp, now)


def _unchanged_for(sighting: Sighting, now: float) -> float:
    return max(now - sighting.since, now - sighting.stamp.mtime_ns / 1e9)


def _pause(before: Known | None, stamp: Stamp, generation: str, now: float) -> float:
    """How long a failed file waits yet; a changed one does not."""
    if before is None or not before.failed or (before.stamp, before.generation) != (stamp, generation):
        return 0.0
    passed = now - before.at
    return retry_after(before.attempts) - passed if passed >= 0 else 0.0
