"""What the checks look at in the body of a cited episode. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tasks.cluster.kin import RuleTexts, VersionKey, texts_found, texts_of
from tasks.contrast.facts import Facts, read_facts
from tasks.contrast.recoveries.attempts import Chain, read_chains
from tasks.ingest.episode import Episode
from tasks.verify.checks_text import NAMELIKE
from tasks.verify.signs import Sign, is_hint, signs

FROM_OUTSIDE = frozenset({"user", "observation", "memory_read"})
"""Steps whose text somebody else wrote. The system's and the agent's own are not looked at."""
NO_TEXTS = RuleTexts(())


@dataclass(frozen=True)
class Body:
    """Steps of an episode, those of external trust among them, and signs in what others wrote.

    ``read`` are promoted versions whose text stands in it; ``literals`` the names of single things in it;
    ``chains`` what it tried again; ``hints`` short texts of others that may be a part of an order, whose rest is in
    another run.
    """

    steps: frozenset[str]
    external: frozenset[str]
    signs: tuple[Sign, ...]
    facts: Facts
    read: frozenset[VersionKey] = frozenset()
    literals: frozenset[str] = frozenset()
    chains: tuple[Chain, ...] = ()
    hints: tuple[str, ...] = ()


def read_body(payload: Mapping[str, Any], texts: RuleTexts = NO_TEXTS, arrived: datetime | None = None) -> Body:
    """Look through the body of one episode, which came in at ``arrived``."""
    steps = payload.get("steps") or []
    whole = str(payload.get("trust", "internal"))
    episode = Episode.model_validate(payload)
    return Body(
        steps=frozenset(str(step["id"]) for step in steps),
        external=frozenset(str(step["id"]) for step in steps if step.get("trust", whole) == "external"),
        signs=tuple(signs(_texts(steps))),
        facts=read_facts(episode),
        read=texts_found(payload, texts, arrived),
        literals=frozenset(found for text in texts_of(payload) for found in NAMELIKE.findall(text)),
        chains=tuple(read_chains(episode.steps)),
        hints=tuple(text for text in _texts(steps) if is_hint(text)),
    )


def _texts(steps: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        f"{step.get('text') or ''}\n{step.get('snapshot') or ''}" for step in steps if step.get("kind") in FROM_OUTSIDE
    ]
