"""What lies in the followed folders now."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tasks.ingest.follow_plan import Stamp, is_unfinished_name
from tasks.ingest.reader import shown
from tasks.ingest.source import why_unreadable

_BITS = 2**63 - 1


@dataclass
class Scan:
    """Files by the text of their full path; ``where`` leads back to the path itself, ``troubles`` says what failed."""

    found: dict[str, Stamp] = field(default_factory=dict)
    where: dict[str, Path] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)


def scan(folders: Iterable[Path], leave_out: Path | None = None) -> Scan:
    """Every regular file below these folders, each once. Linked folders are not entered, so no loop is walked.

    ``leave_out`` is a folder that is not looked into, such as our own home.
    """
    seen = Scan()
    for folder in folders:
        for path in _walk(folder, seen, leave_out):
            _add(path, seen)
    return seen


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a regular file; None for anything else.

    Raises:
        OSError: if it cannot be looked at.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        return None
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ino & _BITS)


def _walk(folder: Path, seen: Scan, leave_out: Path | None) -> Iterator[Path]:
    def failed(error: OSError) -> None:
        seen.troubles[shown(Path(error.filename or folder))] = why_unreadable(error)

    try:
        root = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        seen.troubles[shown(folder)] = why_unreadable(error)
        return
    for here, folders, names in os.walk(root, onerror=failed):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and Path(here) / name != leave_out)
        yield from (Path(here) / name for name in sorted(names) if not is_unfinished_name(name))


def _add(path: Path, seen: Scan) -> None:
    try:
        real = path.resolve(strict=True) if path.is_symlink() else path
        stamp = stamp_of(real)
    except FileNotFoundError:
        if path.is_symlink():
            seen.troubles[shown(path)] = "is a link that leads nowhere"
        return  # else it went away between the look at its folder and this one
    except (OSError, RuntimeError) as error:
        seen.troubles[shown(path)] = why_unreadable(error)
        return
    if stamp is not None:
        seen.found[shown(real)], seen.where[shown(real)] = stamp, real
