"""Which files around an ATIF trajectory belong to it, and which trajectory a file belongs to."""

from __future__ import annotations

import posixpath
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any, TypeGuard

from tasks.ingest.importers.parts.atif_outcome import is_result, reward_in
from tasks.ingest.importers.parts.atif_steps import path_of, references_of
from tasks.ingest.importers.parts.reading import identifier, obj, only_record
from tasks.ingest.source import CHUNK, Source

# Reading every neighbour of every file grows with the square of a folder: the likeliest ones are enough.
MOST_NEIGHBOURS = 100
MOST_LINKS = 200
MOST_BYTES = 256 * 2**20


def is_trajectory(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a neighbour's value is one: it says so, and has steps."""
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        return False
    version = value.get("schema_version")
    return isinstance(version, str) and version.startswith("ATIF")


def owner_of(source: Source) -> str | None:
    """The trajectory's file that reads this one as its part: a trial's result or reward, or a sub-agent's file."""
    if source.neighbours is None:
        return None
    if source.name == "result.json":
        return _one_run(source, "agent/*.json", "*.json") if is_result(only_record(source)) else None
    if source.name in ("reward.txt", "reward.json"):
        places = ("../agent/*.json", "../*.json", "*.json")
        return _one_run(source, *places) if reward_in(source) is not None else None
    value = only_record(source)
    return _parent(source, value) if is_trajectory(value) else None


def standing_alone(source: Source) -> bool:
    """Whether the trajectories of this folder are all of one run, so that what was recorded beside is of this one."""
    found = {source.name: obj(only_record(source)), **dict(_trajectories(source, source.beside("*.json")))}
    return _runs(found) == 1


def continues(source: Source, value: dict[str, Any]) -> bool:
    """Whether the run goes on in another file that is there."""
    path = path_of({"trajectory_path": value.get("continued_trajectory_ref")})
    return path is not None and any(True for _ in _trajectories(source, [path]))


def _one_run(source: Source, *places: str) -> str | None:
    """The first place's trajectory, where all of that place are of one run."""
    for place in places:
        found = dict(_trajectories(source, source.beside(place)))
        if found:
            named = {posixpath.basename(name): each for name, each in found.items()}
            return next(iter(found)) if _runs(named) == 1 else None
    return None


def _trajectories(source: Source, names: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Those neighbours that are trajectories."""
    for name in _likeliest(source, names):
        with _opened(source, name) as beside:
            value = only_record(beside) if beside is not None else None
        if is_trajectory(value):
            yield name, value


def _likeliest(source: Source, names: Iterable[str]) -> list[str]:
    """The names most like this file's, first."""
    likest = sorted(names, key=lambda name: (-_alike(posixpath.basename(name), source.name), name))
    return likest[:MOST_NEIGHBOURS]


@contextmanager
def _opened(source: Source, name: str) -> Iterator[Source | None]:
    """A neighbour, closed again at once: a folder may have more files than may be open."""
    beside = source.near(name)
    try:
        yield beside
    finally:
        if beside is not None:
            beside.stream.close()


def _alike(one: str, other: str) -> int:
    """How many characters two names begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (first, second) in pairs if first != second), min(len(one), len(other)))


def _links(value: dict[str, Any]) -> set[str]:
    """The files that a trajectory names: its sub-agents', and the one it goes on in."""
    ongoing = {"trajectory_path": value.get("continued_trajectory_ref")}
    paths = (path_of(reference) for reference in [*references_of(value), ongoing])
    return {path for path in paths if path is not None}


def _runs(found: dict[str, dict[str, Any]]) -> int:
    """How many runs these trajectories of one folder are: one session is one run, and so is what names each other."""
    groups: list[set[str]] = []
    for name, value in found.items():
        session = identifier(value.get("session_id"))
        marks = {name, *_links(value)} | ({f"session {session}"} if session else set())
        linked = [group for group in groups if group & marks]
        groups = [group for group in groups if not group & marks] + [marks.union(*linked)]
    return len(groups)


def _parent(source: Source, value: dict[str, Any]) -> str | None:
    """The trajectory that refers to this one as its sub-agent. Where two refer to each other one stays the parent."""
    folder = PurePath(source.path).parent.name
    around = _likeliest(source, [*source.beside("*.json"), *source.beside("../*.json")])
    for name, other in _trajectories(source, [name for name in around if _mentioned(source, name)]):
        paths = {path_of(reference) for reference in references_of(other)}
        mine = {f"{folder}/{source.name}"} if name.startswith("../") else {source.name}
        if paths & mine and (name < source.name or name not in _reached(source, value)):
            return name
    return None


def _mentioned(source: Source, neighbour: str) -> bool:
    """Whether a neighbour's bytes hold this file's name: far cheaper than to parse every one of a large folder."""
    wanted, seen = source.name.encode("utf-8", "surrogatepass") + b'"', b""
    with _opened(source, neighbour) as beside:
        try:
            for _ in range(MOST_BYTES // CHUNK if beside is not None else 0):
                assert beside is not None
                piece = beside.stream.read(CHUNK)
                if wanted in seen + piece or not source.name.isascii():
                    return True
                if not piece:
                    break
                seen = piece[-len(wanted) :]
        except (OSError, EOFError, zlib.error):
            return False
    return False


def _reached(source: Source, value: dict[str, Any]) -> set[str]:
    """Every file that a trajectory leads to by its sub-agents."""
    seen: set[str] = set()
    left = [(value, "")]
    while left and len(seen) < MOST_LINKS:
        current, folder = left.pop()
        for reference in references_of(current):
            path = path_of(reference, folder)
            if path is None or path in seen:
                continue
            seen.add(path)
            left += [(found, posixpath.dirname(path)) for _, found in _trajectories(source, [path])]
    return seen
