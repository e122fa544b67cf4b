"""The ranking of each namespace, kept as long as its epoch stands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from read_api.ranking import Ranking
from read_api.selection import Option, estimate_tokens
from storage.tables import RuleVersion

MAX_NAMESPACES = 256


@dataclass(frozen=True)
class Index:
    """The active rules of a namespace as of ``epoch``. ``rows`` are detached: read only."""

    epoch: int
    rows: Sequence[RuleVersion]
    options: Sequence[Option]
    ranking: Ranking


class Indexes:
    """By namespace. An index is used for the epoch that was just read in the database alone, so it cannot be old."""

    def __init__(self) -> None:
        self._kept: dict[str, Index] = {}
        self._lock = threading.Lock()

    def get(self, namespace: str, epoch: int, load: Callable[[], Sequence[RuleVersion]]) -> Index:
        """The index at this epoch; ``load`` reads the active rules if there is none yet.

        ``epoch`` must have been read before ``load`` reads: then the rows are of that epoch or newer.
        """
        kept = self._kept.get(namespace)
        if kept is not None and kept.epoch == epoch:
            return kept
        index = build(epoch, load())
        with self._lock:
            self._kept.pop(namespace, None)
            while len(self._kept) >= MAX_NAMESPACES:
                self._kept.pop(next(iter(self._kept)))
            self._kept[namespace] = index
        return index


def build(epoch: int, rows: Sequence[RuleVersion]) -> Index:
    """An index over these rows. The condition counts twice: it says when a rule is wanted."""
    texts = [_texts(row) for row in rows]
    options = [
        Option(row.rule_id, row.version, row.content.get("scope") or {}, estimate_tokens("\n".join(text)), row.tier)
        for row, text in zip(rows, texts, strict=True)
    ]
    return Index(epoch, rows, options, Ranking(["\n".join([text[0], *text]) for text in texts]))


def _texts(row: RuleVersion) -> list[str]:
    example = row.content.get("exemplar") or {}
    said = [*(row.content.get("guidance") or []), example.get("task") or "", *(example.get("calls") or [])]
    return [str(row.content.get("when_to_use") or ""), *map(str, said)]
