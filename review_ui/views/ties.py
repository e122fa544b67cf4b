"""What an episode is tied to: what it read, what makes it tainted, what cites it, its revisions, its night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from review_ui import links
from review_ui.text import shortened
from review_ui.views.names import CANDIDATE_STATES, STANCES, VERSION_STATES, said
from review_ui.views.replay import Quoting
from review_ui.words import N_, _
from storage.queries.pages_episodes import Citing, Place
from storage.queries.rules import VersionKey
from storage.tables import Episode, RuleVersion, Run

QUOTED = 3
"""Most things that a step names as citing it; the side of the page has all."""

WHY = {
    "new": N_("it was new"),
    "its search found nothing": N_("its search found nothing"),
    "repeated mistake": N_("a repeated mistake"),
    "corrected record": N_("a corrected record"),
}
WAYS = {
    "answer": N_("served in an answer"),
    "cache": N_("may have been answered from its cache"),
    "claim": N_("its own record says so"),
}


@dataclass(frozen=True)
class Read:
    """A rule version that the run may have read. ``at`` is of the first answer that carried it."""

    link: str
    words: str
    state: str
    state_words: str
    ways: str
    at: datetime | None


@dataclass(frozen=True)
class Taint:
    """A revoked version that makes the run count for nothing. ``through`` is what it read of it, where not itself."""

    link: str
    words: str
    through: str
    since: datetime
    reason: str


@dataclass(frozen=True)
class CitedBy:
    """A candidate or a rule version that rests on the run, and on which of its steps."""

    link: str
    title: str
    words: str
    stance: str
    stance_words: str
    steps: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Revision:
    """A reading of the same record; ``link`` is empty for the one that is shown."""

    link: str
    number: int
    ingested_at: datetime
    is_current: bool


@dataclass(frozen=True)
class Consumed:
    """The night that took it up, and why."""

    link: str
    name: str
    why: str


@dataclass(frozen=True)
class Ties:
    """What an episode is tied to, as the store tells it. ``ways`` are the ways in which it may have read a version.

    ``revoked`` says which revoked versions are behind a version it read; ``earlier`` are revisions before it, the
    latest first, ``current`` the one that counts now, if it is another.
    """

    states: Mapping[VersionKey, str]
    ways: Mapping[VersionKey, Sequence[str]]
    answered: Mapping[VersionKey, datetime]
    revoked: Mapping[VersionKey, Sequence[RuleVersion]]
    citing: Sequence[Citing]
    earlier: Sequence[Episode]
    current: Episode | None
    place: Place | None
    family: str | None
    consumed: tuple[Run, str] | None


def _version_words(key: VersionKey) -> str:
    return _("{rule} version {version}").format(rule=key[0], version=key[1])


def reads_of(namespace: str, ties: Ties) -> list[Read]:
    """Known versions; a claim to have read one that never was names nothing to link to, and is in the notes."""
    return [
        Read(
            link=links.rule(namespace, key[0]),
            words=_version_words(key),
            state=ties.states[key],
            state_words=said(VERSION_STATES, ties.states[key]),
            ways="; ".join(said(WAYS, way) for way in ways),
            at=ties.answered.get(key),
        )
        for key, ways in sorted(ties.ways.items())
        if key in ties.states
    ]


def taints_of(namespace: str, ties: Ties) -> list[Taint]:
    """The revoked versions behind what it read."""
    return [
        Taint(
            link=links.rule(namespace, row.rule_id),
            words=_version_words((row.rule_id, row.version)),
            through="" if (row.rule_id, row.version) == key else _version_words(key),
            since=row.state_at,
            reason=row.state_reason,
        )
        for key, rows in sorted(ties.revoked.items())
        for row in rows
    ]


def cited_by_of(episode: Episode, citing: Sequence[Citing]) -> list[CitedBy]:
    """One line for each revision and stance, with all the steps that it cites."""
    steps: dict[tuple[str, int, str, int], list[str]] = {}
    first: dict[tuple[str, int, str, int], Citing] = {}
    for one in citing:
        key = (one.candidate.id, one.evidence.number, one.evidence.stance, one.version.version if one.version else 0)
        first.setdefault(key, one)
        steps.setdefault(key, []).extend(map(str, one.evidence.step_ids))
    link = links.episode(episode.namespace, episode.id)
    return [
        CitedBy(
            link=_citing_link(one),
            title=shortened(one.candidate.title, 160),
            words=_citing_words(one),
            stance=one.evidence.stance,
            stance_words=said(STANCES, one.evidence.stance),
            steps=tuple(
                (step, f"{links.with_query(link, step=step)}#cited") for step in dict.fromkeys(steps[key])
            ),
        )
        for key, one in first.items()
    ]  # fmt: skip


def _citing_link(one: Citing) -> str:
    if one.version is not None:
        return links.rule(one.version.namespace, one.version.rule_id)
    return links.candidate(one.candidate.namespace, one.candidate.id)


def _citing_words(one: Citing) -> str:
    if one.version is None:
        return _("candidate, {state}").format(state=said(CANDIDATE_STATES, one.candidate.state))
    words = _version_words((one.version.rule_id, one.version.version))
    return _("{rule}, {state}").format(rule=words, state=said(VERSION_STATES, one.version.state))


def quoted_by(cited_by: Sequence[CitedBy]) -> dict[str, list[Quoting]]:
    """What cites each step, by step id."""
    found: dict[str, list[Quoting]] = {}
    for one in cited_by:
        for step, _link in one.steps:
            mine = found.setdefault(step, [])
            if len(mine) < QUOTED and all(other.link != one.link for other in mine):
                mine.append(Quoting(one.link, shortened(one.title, 60), one.stance_words))
    return found


def revisions_of(episode: Episode, ties: Ties) -> list[Revision]:
    """Every reading of the record that is known from here, the newest first; empty where there is one alone."""
    rows = {row.id: row for row in [*ties.earlier, episode, *([ties.current] if ties.current is not None else [])]}
    if len(rows) < 2:
        return []
    return [
        Revision(
            "" if row.id == episode.id else links.episode(row.namespace, row.id),
            row.revision,
            row.ingested_at,
            row.is_current,
        )
        for row in sorted(rows.values(), key=lambda row: -row.revision)
    ]


def consumed_of(run: Run, why: str) -> Consumed:
    """The night that took an episode up."""
    return Consumed(links.run(run.id), run.key, said(WHY, why))
