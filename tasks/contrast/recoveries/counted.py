"""Which retries count for a question: no echoes of a rule akin to it, and of no agent's token more than a third. Pure.

A third of the groups that met the error, and a third of those that did the remedy: many who met it and did something
else do not pay for a remedy that one token alone ever did. Which of its groups stay is drawn by a salted hash, blind to
how their retries ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from storage.ids import content_hash
from tasks.cluster.kin import VersionKey
from tasks.contrast.cap import allowances
from tasks.contrast.predicate import Predicate

Kin = Callable[[Predicate], Collection[VersionKey]]


@dataclass(frozen=True)
class Bringer:
    """Of one row: its independent group, who brought it (None is not capped), and the rules its session had read."""

    group: str
    principal: str | None
    read: Collection[VersionKey]


@dataclass(frozen=True)
class Counting:
    """``by_row`` has one entry a row of the trials; ``kin`` gives the rules whose readers are echoes of a predicate."""

    by_row: Sequence[Bringer]
    salt: str
    kin: Kin | None = None

    def echoes(self, predicate: Predicate, rows: Iterable[int]) -> set[int]:
        """Rows of sessions that had read a rule akin to this."""
        readers = [row for row in rows if self.by_row[row].read] if self.kin else []
        if self.kin is None or not readers:
            return set()
        related = set(self.kin(predicate.toward("do")))
        return {row for row in readers if not related.isdisjoint(self.by_row[row].read)}

    def surplus(self, rows: Collection[int], done: Collection[int]) -> set[int]:
        """Rows of the groups that some principal has too many of; ``done`` are rows that the remedy preceded."""
        brought = {self.by_row[row].group: self.by_row[row].principal for row in rows}
        if not any(brought.values()):
            return set()
        kept = within_caps(brought, {self.by_row[row].group for row in done}, self.salt)
        return {row for row in rows if self.by_row[row].group not in kept}


def within_caps(brought: Mapping[str, str | None], doing: Collection[str], salt: str) -> set[str]:
    """Groups that count when no principal may bring more than a third of all, nor of those that are ``doing`` it.

    Args:
        brought: by group, who brought it; None where an operator did.
    """
    kept = set(brought)
    while True:
        before = len(kept)
        for asked in (doing, brought):
            kept -= _surplus({group: brought[group] for group in kept if group in asked}, salt)
        if len(kept) == before:
            return kept


def _surplus(brought: Mapping[str, str | None], salt: str) -> set[str]:
    by_principal: defaultdict[str, list[str]] = defaultdict(list)
    for group, principal in brought.items():
        if principal is not None:
            by_principal[principal].append(group)
    mine = [by_principal[name] for name in sorted(by_principal)]
    allowed = allowances({place: len(groups) for place, groups in enumerate(mine)}, len(brought) - sum(map(len, mine)))
    found: set[str] = set()
    for place, groups in enumerate(mine):
        if allowed[place] < len(groups):
            found.update(sorted(groups, key=lambda group: content_hash([salt, group]))[allowed[place] :])
    return found
