"""Evidence side by side: each episode with the steps that are cited, a few at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from review_ui import links
from review_ui.text import shortened
from review_ui.views.names import OUTCOMES, outcome_words, said
from review_ui.views.spoken import Spoken
from review_ui.views.trace import Excerpt, excerpt
from review_ui.words import N_, _
from storage.tables import Episode, Evidence

SIZE = 4
"""Pieces of evidence of one stance on a page."""
HEADINGS = {"support": N_("Evidence for it"), "counter": N_("Evidence against it")}
PAGES = {"support": N_("Pages of the evidence for it"), "counter": N_("Pages of the evidence against it")}
NONE = {"support": N_("No episode is linked."), "counter": N_("No episode speaks against it.")}


@dataclass(frozen=True)
class EvidenceView:
    """One piece of evidence with its excerpt; ``excerpt`` is None where the body was purged."""

    id: str
    episode_link: str
    step_link: str
    task: str
    stratum: str
    agent: str
    outcome: str
    outcome_said: str
    outcome_words: str
    trust: str
    group: str
    stale: bool
    excerpt: Excerpt | None
    region: str


@dataclass(frozen=True)
class EvidenceColumn:
    """Evidence of one stance, a page of it."""

    stance: str
    heading: str
    total: int
    shown: tuple[EvidenceView, ...]
    first: int
    last: int
    previous_link: str
    next_link: str
    pages: str
    none: str


def evidence_column(
    link: str,
    stance: str,
    rows: Sequence[tuple[Evidence, Episode]],
    bodies: Mapping[str, dict[str, Any]],
    spoken: Spoken,
    *,
    total: int,
    page: int,
    other_page: int,
) -> EvidenceColumn:
    """A column from a page of links. The addresses of its neighbours keep the other column where it is."""
    other = "counter" if stance == "support" else "support"
    offset = (page - 1) * SIZE

    def to(number: int) -> str:
        return links.with_query(link, **{stance: number, other: other_page}) + f"#{stance}"

    shown = tuple(
        evidence_view(evidence, episode, bodies.get(episode.id), spoken, place, total)
        for place, (evidence, episode) in enumerate(rows, offset + 1)
    )
    return EvidenceColumn(
        stance=stance,
        heading=_(HEADINGS[stance]),
        total=total,
        shown=shown,
        first=offset + 1,
        last=offset + len(rows),
        previous_link=to(page - 1) if page > 1 else "",
        next_link=to(page + 1) if offset + len(rows) < total else "",
        pages=_(PAGES[stance]),
        none=_(NONE[stance]),
    )


def evidence_view(
    evidence: Evidence, episode: Episode, payload: dict[str, Any] | None, spoken: Spoken, place: int, total: int
) -> EvidenceView:
    """One link with the steps it cites."""
    link = links.episode(evidence.namespace, episode.id)
    step = evidence.step_ids[0] if evidence.step_ids else ""
    task = shortened(" ".join(episode.task.split()), 160)
    label = (
        _("Cited steps, {place} of {total}: {task}") if evidence.step_ids else _("Steps, {place} of {total}: {task}")
    )
    return EvidenceView(
        id=f"{evidence.stance}-{place}",
        episode_link=link,
        step_link=at_step(link, step),
        task=task,
        stratum=evidence.stratum or episode.task_key,
        agent=" ".join(part for part in (episode.agent, episode.agent_version) if part) or _("unnamed agent"),
        outcome=episode.outcome,
        outcome_said=said(OUTCOMES, episode.outcome),
        outcome_words=outcome_words(episode.outcome, episode.outcome_source),
        trust=episode.trust,
        group=evidence.group_id,
        stale=evidence.is_stale,
        excerpt=excerpt(payload, evidence.step_ids, spoken=spoken) if payload is not None else None,
        region=label.format(place=place, total=total, task=shortened(task, 80)),
    )


def at_step(link: str, step: str) -> str:
    """An episode's page where a step of it is in view."""
    return f"{links.with_query(link, step=step)}#cited" if step else link
