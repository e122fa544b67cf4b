"""Where an index reads from: one namespace's active versions of one kind, in short transactions of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from read_api.errors import Unauthenticated
from read_api.shelf import Option, kind_of_evidence
from storage.engine import Database
from storage.queries.readers import ActiveText, active_page, active_texts, epoch_of, events_after
from storage.queries.rules import VersionKey

PAGE = 2_000
"""Rules read at once: a connection is held for a moment, not for as long as an index takes to build."""

__all__ = ["Source", "VersionKey", "option_of", "text_of"]


class Happened(NamedTuple):
    """An event: the versions that it names, and whether it is of an erasure."""

    epoch: int
    keys: list[VersionKey]
    erases: bool


@dataclass(frozen=True)
class Source:
    """The rules of a namespace, or its exemplars."""

    database: Database
    namespace: str
    kind: str = "rule"

    def epoch(self) -> int:
        """The epoch as the database has it now.

        Raises:
            Unauthenticated: the token behind the database does not see the namespace any more.
        """
        with self.database.read() as session:
            epoch = epoch_of(session, self.namespace)
        if epoch is None:
            raise Unauthenticated("this token ended during the request", "Authorization header", "ask for a new one")
        return epoch

    def pages(self) -> Iterator[list[Option]]:
        """Everything active, by rule id. What changes between two pages is in an event after the epoch read before."""
        after = ""
        while True:
            with self.database.read() as session:
                rows = active_page(session, self.namespace, self.kind, after, PAGE)
            yield [option_of(row) for row in rows]
            if len(rows) < PAGE:
                return
            after = rows[-1].rule_id

    def events(self, epoch: int, limit: int) -> list[Happened]:
        """What changed after an epoch, oldest first."""
        with self.database.read() as session:
            events = events_after(session, self.namespace, epoch, limit)
        return [
            Happened(
                event.epoch,
                [(str(change["rule"]), int(change["version"])) for change in event.changes],
                any(change["event"] == "purged" for change in event.changes),
            )
            for event in events
        ]

    def active(self, keys: Collection[VersionKey]) -> list[Option]:
        """Those of these versions that are active now."""
        with self.database.read() as session:
            return [option_of(row) for row in active_texts(session, self.namespace, self.kind, keys)]


def option_of(row: ActiveText) -> Option:
    """A version as an index keeps it."""
    return Option(
        id=row.rule_id,
        version=row.version,
        scope=row.content.get("scope") or {},
        text=text_of(row.content),
        tier=row.tier,
        kind=kind_of_evidence(row.evidence),
        groups=int(row.evidence.get("independent_groups") or 0),
        candidate=row.candidate_id,
    )


def text_of(content: Mapping[str, Any]) -> str:
    """What a version is found by: its condition on the first line, then its steps, or an exemplar's task and calls."""
    example = content.get("exemplar") or {}
    said: Sequence[Any] = [*(content.get("guidance") or []), example.get("task") or "", *(example.get("calls") or [])]
    condition = " ".join(str(content.get("when_to_use") or "").splitlines())
    return "\n".join([condition, *map(str, said)])
