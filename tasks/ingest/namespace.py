"""Names of partitions."""

from __future__ import annotations

import re

_PATH = re.compile(r"[a-z0-9._-]+(?:/[a-z0-9._-]+)*")
MAX_LENGTH = 200


class BadNamespace(ValueError):
    """A namespace that is not a path of plain words; says what one looks like."""


def check_namespace(path: str) -> str:
    """The path, if it is one: words of ``a-z 0-9 . _ -`` joined by ``/``.

    Raises:
        BadNamespace: otherwise.
    """
    words = path.split("/")
    if len(path) > MAX_LENGTH or not _PATH.fullmatch(path) or any(set(word) <= {"."} for word in words):
        raise BadNamespace(
            f"{path[:80]!r} is not a namespace: use lower-case words of letters, digits, '.', '_' or '-', "
            "joined by '/', such as acme/support"
        )
    return path
