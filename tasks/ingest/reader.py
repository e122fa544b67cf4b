"""Paths as people type them, turned into open sources: files, folders, globs, ``.gz``, ``-`` for standard input."""

from __future__ import annotations

import glob
import gzip
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from storage.ids import content_hash
from tasks.ingest.source import Limits, Source, SourceBroken, may_pass, why_unreadable

GZIP_MAGIC = b"\x1f\x8b"
LONGEST_SCOPE = 1000
"""Bytes of a path that what it gave is looked up by, as long as an index entry can be with an id beside it."""
_WILD = frozenset("*?[")


@dataclass(frozen=True)
class Missing:
    """A path that leads to no file, and why."""

    path: str
    reason: str


def expand(paths: Iterable[str | Path]) -> Iterator[Path | Missing]:
    """Each file once, in order: a folder is walked, a pattern is expanded, hidden files in a folder are left out."""
    seen: set[Path] = set()
    for given in paths:
        for found in _expand_safely(str(given)):
            if isinstance(found, Missing):
                yield found
            elif (real := found.resolve()) not in seen:
                seen.add(real)
                yield found


def _expand_safely(given: str) -> Iterator[Path | Missing]:
    try:
        yield from _expand_one(given)
    except (OSError, ValueError, RuntimeError) as error:
        yield Missing(given, why_unreadable(error))


def _expand_one(given: str) -> Iterator[Path | Missing]:
    path = Path(given).expanduser()
    if given == "-":
        yield Path("-")
    elif path.is_dir():
        files = sorted(_walk(path))
        yield from files
        if not files:
            yield Missing(given, "the folder holds no files")
    elif path.exists():
        yield path
    elif _WILD & set(given):
        matches = sorted(glob.glob(str(path), recursive=True))
        yield from (found for match in matches for found in _expand_one(match))
        if not matches:
            yield Missing(given, "no file matches this pattern")
    else:
        yield Missing(given, "no such file or folder")


def _walk(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(root) / name for name in names if not name.startswith("."))


@contextmanager
def open_source(path: Path, *, scope: str | None = None, limits: Limits | None = None) -> Iterator[Source]:
    """The file as a source; gzip is recognised by its first bytes, whatever the name.

    Source ids are scoped by the file's full path (or ``scope``), so that an edited file gives revisions, and two
    files that share a base name do not.

    Raises:
        SourceBroken: if the file cannot be opened.
    """
    if str(path) == "-":
        yield Source(_unzipped(sys.stdin.buffer), "stdin", "-", scope or "stdin", limits or Limits())
        return
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise SourceBroken("is not a regular file")
        file = path.open("rb")
    except OSError as error:
        raise SourceBroken(why_unreadable(error), may_pass=may_pass(error)) from error
    with file, Folder(path) as folder:
        where, bounds = scope or scope_of(path), limits or Limits()
        yield Source(_unzipped(file), path.name, shown(path), where, bounds, folder, file.tell)


def scope_of(path: str | Path) -> str:
    """What source ids of this path are unique within: its full path, links resolved, without ``.gz``.

    A path too long to be looked up by is shortened, with a hash of the whole.
    """
    try:
        scope = shown(Path(path).expanduser().resolve()).removesuffix(".gz")
    except (OSError, ValueError, RuntimeError):
        scope = str(path)
    data = scope.encode("utf-8", "surrogateescape")
    if len(data) <= LONGEST_SCOPE:
        return scope
    return f"{data[: LONGEST_SCOPE - 80].decode('utf-8', 'ignore')}…{content_hash(scope)}"


def is_file(scope: str) -> bool:
    """Whether a scope is a file's: places in it mean the same in the next reading, unlike those of a request."""
    return scope.startswith("/")


def shown(path: Path) -> str:
    """A path as text: bytes of a name that are not UTF-8 are written out, since no database keeps them."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class Folder:
    """The files around one file: its own folder, that folder's subfolders, and up to two folders above.

    Links that lead elsewhere are not followed: an episode's folder may hold what an agent made.
    """

    def __init__(self, path: Path) -> None:
        self._own = path.resolve()
        self._here = self._own.parent
        self._top = self._here.parent.parent
        self._opened: list[BinaryIO] = []

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in self._opened:
            stream.close()

    def matching(self, pattern: str) -> list[str]:
        """See ``Neighbours``."""
        found = (Path(name) for name in glob.glob(str(Path(glob.escape(str(self._here))) / pattern)))
        return sorted(os.path.relpath(path, self._here) for path in found if self._is_ours(path))

    def open(self, name: str) -> BinaryIO | None:
        """See ``Neighbours``."""
        path = self._here / name
        if not self._is_ours(path):
            return None
        try:
            file = path.open("rb")
        except OSError:
            return None
        self._opened.append(file)
        return _unzipped(file)

    def _is_ours(self, path: Path) -> bool:
        try:
            if path.parent == self._here and path.name not in ("", "..") and stat.S_ISREG(path.lstat().st_mode):
                return path != self._own  # no link on the way: nothing to resolve, in a folder of thousands
            real = path.resolve()
            return real != self._own and real.is_relative_to(self._top) and stat.S_ISREG(real.stat().st_mode)
        except (OSError, ValueError, RuntimeError):
            return False


def _unzipped(stream: BinaryIO) -> BinaryIO:
    """The stream, through gzip where its first bytes say so. Bounds are the source's: it counts what comes out."""
    peek = getattr(stream, "peek", None)
    if peek is None or not peek(2).startswith(GZIP_MAGIC):
        return stream
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream, mode="rb"))
