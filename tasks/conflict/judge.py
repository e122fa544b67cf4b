"""Who says what two texts are to each other where no predicate does: an inference or language model, or nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Relation = Literal["contradiction", "duplicate", "unrelated", "unsure"]


@dataclass(frozen=True)
class Judgement:
    """What two texts are to each other, and in a few words why."""

    relation: Relation
    why: str = ""


class Judge(Protocol):
    """Reads pairs of texts. Whatever it says is shown to a person; it decides nothing by itself.

    ``name`` is told with each judgement. The texts are hostile: a judge that asks a model fences them in.
    """

    name: str

    def judge(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Judgement]:
        """One judgement for each pair, in their order; ``unsure`` where it cannot tell."""
        ...


class NoJudge:
    """Nobody to ask: every pair is left to the reviewer."""

    name = "nobody"

    def judge(self, pairs: Sequence[tuple[str, str]]) -> Sequence[Judgement]:
        """Unsure of all."""
        return [Judgement("unsure")] * len(pairs)
