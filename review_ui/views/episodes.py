"""An episode's page: the record, what it is tied to, and the run itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review_ui import links
from review_ui.text import span_words
from review_ui.views.names import OUTCOMES, TRUSTS, outcome_words, said
from review_ui.views.packet import Labelled
from review_ui.views.replay import Replay, replay
from review_ui.views.ties import (
    CitedBy,
    Consumed,
    Read,
    Revision,
    Taint,
    Ties,
    cited_by_of,
    consumed_of,
    quoted_by,
    reads_of,
    revisions_of,
    taints_of,
)
from review_ui.views.trace import StepView, step_text, step_views
from review_ui.words import N_, _
from storage.tables import Episode
from tasks.ingest.notes import notes_of

WHOLE_PART = 40_000
"""Characters of one step shown at once on its own page."""
NOTES = {
    "breaks off": N_("breaks off"),
    "characters replaced": N_("characters replaced"),
    "earlier readings": N_("earlier readings"),
    "faults of the format": N_("faults of the format"),
    "learnt from copies": N_("learnt from copies"),
    "on its outcome": N_("on its outcome"),
    "says it read": N_("says it read"),
    "steps renamed": N_("steps renamed"),
    "task taken from": N_("task taken from"),
    "doubt about its task key": N_("doubt about its task key"),
    "task key taken from": N_("task key taken from"),
    "times not understood": N_("times not understood"),
}
"""The notes that ingest has words for; any other is named as whoever made it did."""


@dataclass(frozen=True)
class EpisodeView:
    """The page of an episode; ``trace`` is a page of its steps, None where the text was purged."""

    namespace: str
    id: str
    link: str
    task: str
    outcome: str
    outcome_said: str
    outcome_words: str
    trust: str
    trust_words: str
    purged_at: datetime | None
    newer_link: str
    stale_revision: bool
    taints: tuple[Taint, ...]
    facts: tuple[Labelled, ...]
    place: tuple[Labelled, ...]
    counts_once: bool
    notes: tuple[Labelled, ...]
    environment: tuple[Labelled, ...]
    started_at: datetime | None
    took: str
    naive: bool
    redactions: tuple[tuple[str, int], ...]
    redacted: int
    consumed: Consumed | None
    reads: tuple[Read, ...]
    cited_by: tuple[CitedBy, ...]
    revisions: tuple[Revision, ...]
    trace: Replay | None


def episode_view(
    episode: Episode, payload: dict[str, Any] | None, ties: Ties, *, page: int = 1, step: str = "", only: str = ""
) -> EpisodeView:
    """A page of an episode; with ``step``, the page that holds it, and that step marked."""
    link = links.episode(episode.namespace, episode.id)
    cited_by = cited_by_of(episode, ties.citing)
    trace = replay(link, payload, page=page, step=step, only=only, quoted=quoted_by(cited_by)) if payload else None
    newer = ties.current if ties.current is not None and ties.current.id != episode.id else None
    return EpisodeView(
        namespace=episode.namespace,
        id=episode.id,
        link=link,
        task=episode.task,
        outcome=episode.outcome,
        outcome_said=said(OUTCOMES, episode.outcome),
        outcome_words=outcome_words(episode.outcome, episode.outcome_source),
        trust=episode.trust,
        trust_words=said(TRUSTS, episode.trust),
        purged_at=episode.purged_at,
        newer_link=links.episode(newer.namespace, newer.id) if newer is not None else "",
        stale_revision=not episode.is_current,
        taints=tuple(taints_of(episode.namespace, ties)),
        facts=tuple(_facts(episode)),
        place=tuple(_place(episode, ties)),
        counts_once=ties.place is not None,
        notes=tuple(Labelled(said(NOTES, name), words) for name, words in notes_of(episode.details)),
        environment=tuple(Labelled(name, str(value)) for name, value in sorted(episode.environment.items())),
        started_at=episode.started_at,
        took=_took(episode),
        naive=episode.time_is_naive,
        redactions=tuple(sorted(episode.redactions.items())),
        redacted=sum(episode.redactions.values()),
        consumed=consumed_of(*ties.consumed) if ties.consumed is not None else None,
        reads=tuple(reads_of(episode.namespace, ties)),
        cited_by=tuple(cited_by),
        revisions=tuple(revisions_of(episode, ties)),
        trace=trace,
    )


def _facts(episode: Episode) -> list[Labelled]:
    file = episode.source_file
    if episode.source_line and file:
        file = _("{file}, line {line}").format(file=file, line=episode.source_line)
    details = episode.details
    told = [
        (_("Outcome from"), details.get("outcome_from")),
        (_("Outcome overruled"), details.get("outcome_overruled")),
        (_("Agent"), " ".join(part for part in (episode.agent, episode.agent_version) if part)),
        (_("Model"), episode.model),
        (_("Session"), episode.session_id),
        (_("Retry of"), episode.retry_of),
        (_("Reward"), None if episode.reward is None else f"{episode.reward:g}"),
        (_("Importer"), f"{episode.importer} {episode.importer_version}"),
        (_("Source"), file),
        (_("Revision"), str(episode.revision)),
        (_("Written by"), episode.principal),
    ]
    return [Labelled(name, str(value)) for name, value in told if value]


def _place(episode: Episode, ties: Ties) -> list[Labelled]:
    """What it is compared with: task, family, cluster, and the group that counts as one."""
    key = episode.task_key
    if episode.task_key_derived:
        stratum = ties.place.stratum if ties.place is not None else None
        key = _("{task} (derived from the task's words)").format(task=stratum or key)
    place = ties.place
    told = [
        (_("Task"), key),
        (_("Family"), ties.family or episode.family_id),
        (_("Cluster"), place.cluster if place is not None else None),
        (_("Independence group"), place.group if place is not None else None),
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
