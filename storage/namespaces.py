"""Namespaces are paths of whole segments: ``ann`` is not a prefix of ``ann1``."""

from __future__ import annotations

import re
from collections.abc import Sequence

SEGMENT = re.compile(r"[a-z0-9][a-z0-9._-]*")
LONGEST = 200


class NamespaceMalformed(ValueError):
    """A namespace is lower-case segments joined by ``/``, such as ``acme/support``."""


def parse_namespace(path: str) -> str:
    """``path``, checked.

    Raises:
        NamespaceMalformed: if a segment is empty or holds another character, or the whole is over 200 characters.
    """
    if len(path) > LONGEST or not all(SEGMENT.fullmatch(segment) for segment in path.split("/")):
        raise NamespaceMalformed(
            f"{path[:LONGEST]!r} is no namespace: use lower-case segments of letters, digits, '.', '_' and '-', "
            "joined by '/', such as acme/support"
        )
    return path


def namespace_allows(granted: Sequence[str], path: str) -> bool:
    """Whether a grant covers ``path``: itself or anything below it. An empty grant covers every namespace."""
    return not granted or any(path == prefix or path.startswith(f"{prefix}/") for prefix in granted)


def covers(granted: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether a grant covers another one whole; only a grant of everything covers a grant of everything."""
    return not granted or (bool(wanted) and all(namespace_allows(granted, path) for path in wanted))


def meets(granted: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether two grants have any namespace in common."""
    if not granted or not wanted:
        return True
    return any(namespace_allows(granted, path) for path in wanted) or any(
        namespace_allows(wanted, path) for path in granted
    )
