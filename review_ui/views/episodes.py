"""An episode's page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review_ui import links
from review_ui.text import span_words
from review_ui.views.packet import Labelled
from review_ui.views.trace import StepView, step_text, step_views
from storage.tables import Candidate, Episode
from tasks.ingest.notes import notes_of
from tasks.ingest.outcome import source_words

STEPS_A_PAGE = 60
WHOLE_PART = 40_000
"""Characters of one step shown at once on its own page."""


@dataclass(frozen=True)
class EpisodeView:
    """The page of an episode; ``steps`` is one page of them, or one whole step in parts."""

    namespace: str
    id: str
    link: str
    task: str
    outcome: str
    outcome_words: str
    trust: str
    purged_at: datetime | None
    stale_revision: bool
    tainted: bool
    facts: tuple[Labelled, ...]
    notes: tuple[Labelled, ...]
    environment: tuple[Labelled, ...]
    started_at: datetime | None
    took: str
    naive: bool
    redactions: tuple[tuple[str, int], ...]
    steps: tuple[StepView, ...]
    step_total: int
    page: int
    first: int
    last: int
    previous_link: str
    next_link: str
    reads: tuple[tuple[str, str, str], ...]
    cited_by: tuple[tuple[str, str, str], ...]


def episode_view(
    episode: Episode,
    payload: dict[str, Any] | None,
    *,
    page: int,
    step: str,
    reads: Sequence[tuple[str, int, str]],
    citing: Sequence[tuple[Candidate, str]],
    tainted: bool,
) -> EpisodeView:
    """A page of an episode; with ``step``, the page that holds it, and that step marked."""
    views = step_views(payload or {}, [step] if step else [])
    pages = max(-(-len(views) // STEPS_A_PAGE), 1)
    held = next((place // STEPS_A_PAGE + 1 for place, view in enumerate(views) if view.cited), None)
    page = min(max(held or page, 1), pages)
    first = (page - 1) * STEPS_A_PAGE
    shown = views[first : first + STEPS_A_PAGE]
    link = links.episode(episode.namespace, episode.id)
    return EpisodeView(
        namespace=episode.namespace,
        id=episode.id,
        link=link,
        task=episode.task,
        outcome=episode.outcome,
        outcome_words=source_words(episode.outcome, episode.outcome_source),
        trust=episode.trust,
        purged_at=episode.purged_at,
        stale_revision=not episode.is_current,
        tainted=tainted,
        facts=tuple(_facts(episode)),
        notes=tuple(Labelled(name, words) for name, words in notes_of(episode.details)),
        environment=tuple(Labelled(name, str(value)) for name, value in sorted(episode.environment.items())),
        started_at=episode.started_at,
        took=_took(episode),
        naive=episode.time_is_naive,
        redactions=tuple(sorted(episode.redactions.items())),
        steps=tuple(shown),
        step_total=len(views),
        page=page,
        first=first + 1,
        last=first + len(shown),
        previous_link=links.with_query(link, page=page - 1) if page > 1 else "",
        next_link=links.with_query(link, page=page + 1) if page < pages else "",
        reads=tuple(
            (links.rule(episode.namespace, rule), f"{rule} version {version}", state) for rule, version, state in reads
        ),
        cited_by=tuple((links.candidate(c.namespace, c.id), c.title, stance) for c, stance in citing),
    )


def _facts(episode: Episode) -> list[Labelled]:
    derived = " (derived from the task)" if episode.task_key_derived else ""
    file = f"{episode.source_file}, line {episode.source_line}" if episode.source_line else episode.source_file
    details = episode.details
    told = [
        ("Outcome from", details.get("outcome_from")),
        ("Outcome overruled", details.get("outcome_overruled")),
        ("Task key", f"{episode.task_key}{derived}"),
        ("Agent", " ".join(part for part in (episode.agent, episode.agent_version) if part)),
        ("Model", episode.model),
        ("Session", episode.session_id),
        ("Retry of", episode.retry_of),
        ("Reward", None if episode.reward is None else f"{episode.reward:g}"),
        ("Importer", f"{episode.importer} {episode.importer_version}"),
        ("Source", file),
        ("Revision", str(episode.revision)),
        ("Written by", episode.principal),
    ]
    return [Labelled(name, str(value)) for name, value in told if value]


def _took(episode: Episode) -> str:
    if episode.started_at is None or episode.ended_at is None:
        return ""
    return span_words((episode.ended_at - episode.started_at).total_seconds())


@dataclass(frozen=True)
class WholeStep:
    """One step's whole text, in parts."""

    step: StepView
    text: str
    part: int
    parts: int
    previous_link: str
    next_link: str
    back_link: str


def whole_step(namespace: str, episode_id: str, payload: dict[str, Any], step: str, part: int) -> WholeStep | None:
    """A part of one step's text; None if there is no such step."""
    found = next((one for one in payload.get("steps") or [] if str(one.get("id")) == step), None)
    if found is None:
        return None
    view, text = step_views({**payload, "steps": [found]})[0], step_text(found)
    parts = max(-(-len(text) // WHOLE_PART), 1)
    part = min(max(part, 1), parts)
    link = links.episode(namespace, episode_id)

    def to(number: int) -> str:
        return links.with_query(link, whole=step, part=number) if 1 <= number <= parts else ""

    shown = text[(part - 1) * WHOLE_PART : part * WHOLE_PART]
    return WholeStep(view, shown, part, parts, to(part - 1), to(part + 1), links.with_query(link, step=step) + "#cited")
