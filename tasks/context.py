"""What a step is given besides its data: time, actor, keys, limits. Nothing in a step reads a clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tasks.cluster.embed import Embedder
from tasks.draft.model.budget import Drafting
from tasks.draft.model.chat import ChatModel


@dataclass(frozen=True)
class PipelineSettings:
    """Limits and levels of the nightly pipeline."""

    q_level: float = 0.10
    """False discovery rate of the screen (Benjamini-Hochberg)."""
    yearly_alpha: float = 0.05
    """Probability that a year of nights in one namespace stages something false."""
    min_confirm_strata: int = 8
    """Informative strata needed to split the confirmation by task rather than by group."""
    recheck_days: int = 90
    """Days until a promoted rule is due for re-check."""
    max_candidates: int = 50
    """Most candidates staged in one night."""
    read_batch: int = 200
    """Episode bodies read at a time."""
    write_batch: int = 200
    """Rows written in one transaction."""
    drafting: Drafting = field(default_factory=Drafting)
    """Which drafter writes, and what a night may spend on a model."""


@dataclass(frozen=True)
class StepContext:
    """Time, actor, keys and limits of one step. ``model`` is the language model that drafts, where one is set up.

    ``embedder`` makes the vectors that clusters are told from; None for lexical ones.
    """

    now: datetime
    actor: str
    secret: bytes
    settings: PipelineSettings = field(default_factory=PipelineSettings)
    model: ChatModel | None = None
    embedder: Embedder | None = None
