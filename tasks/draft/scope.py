"""Where a rule holds: the versions of each component that its evidence was made on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

ANY = "*"


def verified_environment(environments: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Per component: the one version seen, a range such as ``>=3.1,<=3.4``, or ``*`` where versions have no order.

    A component that some episodes do not name is left open (``*``): nothing was verified about where it is absent.
    """
    listed = [dict(environment) for environment in environments]
    names = sorted({name for environment in listed for name in environment})
    return {name: _range([environment.get(name) for environment in listed]) for name in names}


def version_key(version: str) -> tuple[int, ...] | None:
    """``3.10.1`` as numbers; None for anything that is not dotted numbers."""
    if not re.fullmatch(r"v?\d{1,9}(\.\d{1,9}){0,5}", version):
        return None
    key = [int(part) for part in version.removeprefix("v").split(".")]
    while len(key) > 1 and key[-1] == 0:
        key.pop()
    return tuple(key)


def _range(versions: list[str | None]) -> str:
    seen = {version for version in versions if version is not None}
    if None in versions or not seen:
        return ANY
    if len(seen) == 1:
        return seen.pop()
    keyed = [(key, version) for version in seen if (key := version_key(version)) is not None]
    if len(keyed) < len(seen):
        return ANY
    return f">={min(keyed)[1]},<={max(keyed)[1]}"
