"""What a revocation would do, before it is done: whom it reaches, what was done under the rule, what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from review_ui import links
from review_ui.text import shortened
from review_ui.views.names import OUTCOMES, VERSION_STATES, said
from review_ui.words import N_, _, ngettext
from storage.queries.rules import VersionKey
from storage.tables import Episode, Rule, RuleVersion
from tasks.revoke.step import Preview

SHOWN = 12
"""Most items of a kind that a preview lists; the rest is counted."""
CALLS = 4
"""Most names of calls that are told of one run."""

REASONS = (
    N_("It is wrong: following it did harm."),
    N_("It no longer holds: the system it speaks of has changed."),
    N_("It rests on evidence that cannot be trusted."),
    N_("Its text tries to steer its readers."),
    N_("It must not be served for policy or privacy reasons."),
)


@dataclass(frozen=True)
class SessionLine:
    """A session that may have read what is withdrawn, and whether it still runs."""

    name: str
    words: str
    badge: str


@dataclass(frozen=True)
class RunLine:
    """A recorded run that may have read it: what it did, and how it ended."""

    link: str
    task: str
    outcome: str
    outcome_words: str
    calls: str


@dataclass(frozen=True)
class Item:
    """Something with a page of its own."""

    link: str
    title: str
    words: str


@dataclass(frozen=True)
class BlastRadius:
    """What a revocation would do, shortened for a page; the counts are whole."""

    versions: tuple[tuple[int, str], ...]
    descendants: tuple[Item, ...]
    descendant_count: int
    sessions: tuple[SessionLine, ...]
    session_count: int
    session_words: str
    candidates: tuple[Item, ...]
    candidate_count: int
    runs: tuple[RunLine, ...]
    run_count: int
    run_words: str
    beside: tuple[Item, ...]
    beside_count: int
    cost: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Reached:
    """What the store says of whom a revocation reaches.

    ``open_sessions`` holds those that named their client, with whether they are open; ``outcomes`` counts runs and
    their calls; ``bodies`` are of the runs that are shown.
    """

    open_sessions: Mapping[str, bool]
    outcomes: Mapping[str, tuple[int, int]]
    shown: Sequence[Episode]
    bodies: Mapping[str, dict[str, Any]]
    titles: Mapping[VersionKey, str]
    candidates: Mapping[str, str]
    beside: Sequence[tuple[Rule, RuleVersion]]
    to_weigh: int


def blast_radius(namespace: str, found: Preview, states: Mapping[int, str], reached: Reached) -> BlastRadius:
    """The preview of a revocation. ``states`` are those of the rule's own versions, by number."""
    withdrawn = {*found.versions, *found.descendants}
    return BlastRadius(
        versions=tuple((number, said(VERSION_STATES, states.get(number, ""))) for _rule, number in found.versions),
        descendants=tuple(_version(namespace, key, reached.titles) for key in found.descendants[:SHOWN]),
        descendant_count=len(found.descendants),
        sessions=tuple(_sessions(found.sessions, reached.open_sessions)),
        session_count=len(found.sessions),
        session_words=_session_words(found.sessions, reached.open_sessions),
        candidates=tuple(
            Item(links.candidate(namespace, one), shortened(reached.candidates.get(one, one), 160), one)
            for one in found.candidates[:SHOWN]
        ),
        candidate_count=len(found.candidates),
        runs=tuple(_run(row, reached.bodies.get(row.id), withdrawn) for row in reached.shown),
        run_count=len(found.episodes),
        run_words=_run_words(reached.outcomes),
        beside=tuple(
            Item(links.rule(namespace, rule.id), shortened(rule.title, 160), _named(rule.id, row.version))
            for rule, row in reached.beside[:SHOWN]
        ),
        beside_count=len(reached.beside),
        cost=_cost(len(found.descendants), reached.to_weigh),
        reasons=tuple(_(one) for one in REASONS),
    )


def _named(rule_id: str, version: int) -> str:
    return _("{rule} version {version}").format(rule=rule_id, version=version)


def _version(namespace: str, key: VersionKey, titles: Mapping[VersionKey, str]) -> Item:
    return Item(links.rule(namespace, key[0]), shortened(titles.get(key, key[0]), 160), _named(*key))


def _sessions(names: Sequence[str], standing: Mapping[str, bool]) -> list[SessionLine]:
    """Those that are open first: they may act on it now."""
    order = sorted(names, key=lambda name: ({True: 0, None: 1, False: 2}[standing.get(name)], name))
    words = {
        True: (_("still open"), "warn"),
        False: (_("ended"), "dim"),
        None: (_("not known to have ended"), ""),
    }
    return [SessionLine(name, *words[standing.get(name)]) for name in order[:SHOWN]]


def _session_words(names: Sequence[str], standing: Mapping[str, bool]) -> str:
    if not names:
        return _("No session is known to have read it.")
    still = sum(standing.get(name) is True for name in names)
    ended = sum(standing.get(name) is False for name in names)
    return _("{open} still open, {ended} ended, {rest} never said when they end.").format(
        open=still, ended=ended, rest=len(names) - still - ended
    )


def _run_words(outcomes: Mapping[str, tuple[int, int]]) -> str:
    """Runs and calls that were recorded: what is not recorded is not known."""
    runs, calls = (sum(pair[part] for pair in outcomes.values()) for part in (0, 1))
    if not runs:
        return _("No recorded run is known to have read it; what was done under it is not known.")
    ended = ", ".join(f"{said(OUTCOMES, outcome)} {pair[0]:,}" for outcome, pair in sorted(outcomes.items()))
    words = ngettext(
        "{n} recorded run read it and made {calls} calls ({ended}). Calls of sessions that recorded nothing are not "
        "known.",
        "{n} recorded runs read it and made {calls} calls ({ended}). Calls of sessions that recorded nothing are not "
        "known.",
        runs,
    )
    return words.format(n=f"{runs:,}", calls=f"{calls:,}", ended=ended)


def _run(row: Episode, body: Mapping[str, Any] | None, withdrawn: Collection[VersionKey]) -> RunLine:
    return RunLine(
        link=links.episode(row.namespace, row.id),
        task=shortened(row.task, 160),
        outcome=row.outcome,
        outcome_words=said(OUTCOMES, row.outcome),
        calls=_calls(calls_after(body, withdrawn)) if body is not None else _("its text was purged"),
    )


def calls_after(body: Mapping[str, Any], keys: Collection[VersionKey]) -> Counter[str]:
    """Calls of a run by name: those after it first read one of these versions, or all if it does not say when."""
    steps = [step for step in body.get("steps") or () if isinstance(step, dict)]
    read = next((n for n, step in enumerate(steps) if (step.get("rule"), step.get("version")) in keys), 0)
    return Counter(str(step.get("name") or "?") for step in steps[read:] if step.get("kind") == "tool_call")


def _calls(counted: Counter[str]) -> str:
    if not counted:
        return _("no call")
    named = ", ".join(f"{name} ×{times}" if times > 1 else name for name, times in counted.most_common(CALLS))
    left = len(counted) - CALLS
    if left <= 0:
        return named
    return ngettext("{named} and {n} other", "{named} and {n} others", left).format(named=named, n=left)


def _cost(rules: int, episodes: int) -> str:
    if not rules:
        return _("Nothing leans on it, so the repair weighs no other rule again.")
    words = ngettext(
        "The repair weighs {n} other rule again, on {episodes} recorded runs of its family.",
        "The repair weighs {n} other rules again, on {episodes} recorded runs of their families.",
        rules,
    )
    return words.format(n=rules, episodes=f"{episodes:,}")
