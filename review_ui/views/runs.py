"""Runs: the list, and the page of one with how far it is, what came of it, and what needs a hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from review_ui import links
from review_ui.errors import NotFound
from review_ui.text import span_words
from review_ui.views.choices import REGIME_WORDS, ChoiceView
from review_ui.views.compare import Comparison
from review_ui.views.conflicts import KINDS as CONFLICT_KINDS
from review_ui.views.findings import SectionView
from review_ui.views.names import RECHECKS, RUN_STATES, said
from review_ui.views.outcome import (
    NOTHING_BEHIND,
    Behind,
    Budget,
    Group,
    Repair,
    budgets_of,
    cost_words,
    groups_of,
    repair_of,
)
from review_ui.views.progress import Standing, standing_of
from review_ui.views.stages import StageView, Trouble, stages_of, title_of, totals, troubles_of
from review_ui.words import N_, _, ngettext
from storage.queries.pages_runs import Progress
from storage.tables import Recheck, Run, RunStep

RUN_KINDS = {"night": N_("night"), "repair": N_("repair")}
NAMED = {"night": N_("Night {key}"), "repair": N_("Repair {key}")}
ASKERS = {"schedule": N_("the schedule"), "demo": N_("the demo")}
FIRST_RECHECKS = 20
BADGES = {"stands": "good", "vanished": "bad", "reversed": "bad"}


@dataclass(frozen=True)
class RunRow:
    """One run in a list."""

    link: str
    namespace: str
    name: str
    state: str
    state_words: str
    started_at: datetime
    took_label: str
    took: str
    steps: str
    problems: str


@dataclass(frozen=True)
class RecheckView:
    """A rule that was tested again."""

    link: str
    name: str
    badge: str
    verdict: str
    words: str


@dataclass(frozen=True)
class RunView:
    """A run's page. ``part``: only what is under way was asked for; ``tells``: there is something new to read out."""

    row: RunRow
    id: str
    live: bool
    part: bool
    tells: bool
    says: str
    standing: Standing
    steps_words: str
    events_link: str
    asked_by: str
    episodes: int
    stages: tuple[StageView, ...]
    troubles: tuple[Trouble, ...]
    troubles_words: str
    sections: tuple[SectionView, ...]
    candidates: tuple[Group, ...]
    candidates_total: int
    choices: tuple[ChoiceView, ...]
    choices_total: int
    choices_link: str
    regime: str
    left_out: tuple[str, ...]
    cost: str
    budgets: tuple[Budget, ...]
    rechecks: tuple[RecheckView, ...]
    more_rechecks: tuple[RecheckView, ...]
    conflicts: tuple[tuple[str, int], ...]
    conflicts_link: str
    repair: Repair | None
    others: tuple[tuple[str, str], ...]
    other: str
    comparison: Comparison | None


@dataclass(frozen=True)
class Found:
    """What the queries of a run's page brought. ``asker`` is the name of the person who asked for it, if one did."""

    run: Run
    steps: Sequence[RunStep]
    episodes: int = 0
    sections: Sequence[SectionView] = ()
    choices: Sequence[ChoiceView] = ()
    choices_total: int = 0
    rechecks: Sequence[Recheck] = ()
    behind: Behind = NOTHING_BEHIND
    conflicts: dict[str, int] | None = None
    others: Sequence[Run] = ()
    other: str = ""
    comparison: Comparison | None = None
    asker: str = ""


def no_such_run() -> NotFound:
    """The refusal for a run that is not there, or not the viewer's."""
    return NotFound(_("There is no such run in the namespaces you review."), _("Go back to the list of runs."))


def name_of(run: Run) -> str:
    """A run's name: its kind, its key, and its number where there is more than one."""
    words = _(NAMED[run.kind]).format(key=run.key)
    return f"{words} ({run.seq})" if run.seq > 1 else words


def run_row(run: Run, counts: dict[str, int], now: datetime) -> RunRow:
    """A row from a run and its step counts by state."""
    ended = run.finished_at or now
    done, total = counts.get("done", 0) + counts.get("parked", 0), sum(counts.values())
    problems = len(run.problems) or counts.get("parked", 0)
    return RunRow(
        link=links.run(run.id),
        namespace=run.namespace,
        name=name_of(run),
        state=run.state,
        state_words=said(RUN_STATES, run.state),
        started_at=run.started_at,
        took_label=_("so far") if run.state == "running" else _("took"),
        took=span_words((ended - run.started_at).total_seconds()),
        steps=_("{done} of {total}").format(done=done, total=total),
        problems=ngettext("{n} problem", "{n} problems", problems).format(n=problems) if problems else "",
    )


def run_view(found: Found, now: datetime, *, again: bool = False, told: str = "") -> RunView:
    """The page of a run. ``again``: a page that is open asks for what changed since it told of stage ``told``."""
    run, steps = found.run, found.steps
    by_state: dict[str, int] = {}
    by_step: dict[tuple[str, str], int] = {}
    for step in steps:
        by_state[step.state] = by_state.get(step.state, 0) + 1
        by_step[step.stage, step.state] = by_step.get((step.stage, step.state), 0) + 1
    standing = standing_of(Progress(run.namespace, run.kind, run.state, by_step))
    live = run.state == "running"
    troubles, groups = troubles_of(run, steps), groups_of(run.namespace, steps, found.behind)
    tested = [_recheck(one) for one in found.rechecks]
    return RunView(
        row=run_row(run, by_state, now),
        id=run.id,
        live=live,
        part=again and live,
        tells=standing.stage != told if again else live,
        says=_says(standing),
        standing=standing,
        steps_words=_steps_words(standing, run, now),
        events_link=links.run_events(run.id),
        asked_by=_("asked for by {who}").format(who=_asker(run.requested_by, found.asker)),
        episodes=found.episodes,
        stages=tuple(stages_of(run, steps, now)),
        troubles=tuple(troubles),
        troubles_words=ngettext("{n} problem", "{n} problems", len(troubles)).format(n=len(troubles)),
        sections=tuple(found.sections),
        candidates=tuple(groups),
        candidates_total=sum(group.total for group in groups if group.name in ("new", "refreshed", "exemplars")),
        choices=tuple(found.choices),
        choices_total=found.choices_total,
        choices_link=links.choices(run.id),
        regime=_(REGIME_WORDS.get(_regime(steps), "")),
        left_out=tuple(_left_out(totals([step.result for step in steps if step.stage == "contrast"]))),
        cost=cost_words(steps),
        budgets=tuple(budgets_of(steps)),
        rechecks=tuple(tested[:FIRST_RECHECKS]),
        more_rechecks=tuple(tested[FIRST_RECHECKS:]),
        conflicts=tuple((said(CONFLICT_KINDS, kind), n) for kind, n in sorted((found.conflicts or {}).items())),
        conflicts_link=links.with_query("/conflicts", namespace=run.namespace, run=run.id, state="all"),
        repair=repair_of(run.namespace, run.key, steps) if run.kind == "repair" else None,
        others=tuple((other.id, _listed(other)) for other in found.others),
        other=found.other,
        comparison=found.comparison,
    )


def _asker(requested_by: str, name: str) -> str:
    """Who asked for a run: a person, the schedule, whoever ran a command."""
    if name:
        return name
    kind, _colon, who = requested_by.partition(":")
    if kind == "operator":
        return _("operator {name}").format(name=who) if who else _("an operator")
    return said(ASKERS, requested_by)


def _steps_words(standing: Standing, run: Run, now: datetime) -> str:
    words = _("{done} of {total} steps known so far, after {time}")
    if standing.stage:
        words = _("{stage}: {done} of {total} steps known so far, after {time}")
    time = span_words((now - run.started_at).total_seconds())
    return words.format(stage=title_of(standing.stage), done=standing.done, total=standing.total, time=time)


def _says(standing: Standing) -> str:
    """What is read out when it changes: a stage, or the end, and not every step."""
    if standing.is_over:
        return _("The run is over: {state}.").format(state=said(RUN_STATES, standing.state))
    return _("Under way: {stage}.").format(stage=title_of(standing.stage)) if standing.stage else _("Under way.")


def _listed(run: Run) -> str:
    return f"{name_of(run)}: {said(RUN_STATES, run.state)}"


def _recheck(one: Recheck) -> RecheckView:
    name = _("{rule} version {version}").format(rule=one.rule_id, version=one.version)
    badge = BADGES.get(one.verdict, "dim")
    return RecheckView(links.rule(one.namespace, one.rule_id), name, badge, said(RECHECKS, one.verdict), one.words)


def _regime(steps: Sequence[RunStep]) -> str:
    return next((str(step.result["regime"]) for step in steps if step.stage == "draft" and "regime" in step.result), "")


def _left_out(counted: dict[str, float]) -> list[str]:
    """What did not enter the comparison, and why; nothing where nothing was left out."""
    tainted, capped, same = (int(counted.get(name, 0)) for name in ("tainted", "dropped_by_cap", "same_as_another"))
    said_of = (
        (tainted, ngettext(
            "{n} episode that ran under a rule which was revoked, or descends from one",
            "{n} episodes that ran under a rule which was revoked, or descends from one", tainted)),
        (capped, ngettext(
            "{n} run over what one agent's token may contribute: a third of the independent groups",
            "{n} runs over what one agent's token may contribute: a third of the independent groups", capped)),
        (same, ngettext(
            "{n} episode that is one with another as evidence: same session, a retry, or a copy",
            "{n} episodes that are one with another as evidence: same session, a retry, or a copy", same)),
    )  # fmt: skip
    return [words.format(n=f"{n:,}") for n, words in said_of if n]
