"""Runs: their stages, progress, findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review_ui import links
from review_ui.text import age_words, span_words
from review_ui.views.choices import REGIME_WORDS, ChoiceView
from review_ui.views.findings import SectionView
from storage.tables import Candidate, Recheck, Run, RunStep

STEP_WORDS = {"pending": "waiting", "leased": "working", "done": "done", "parked": "parked"}


@dataclass(frozen=True)
class RunRow:
    """One run in a list."""

    link: str
    namespace: str
    name: str
    state: str
    started_at: datetime
    took: str
    done: int
    total: int
    problems: int
    requested_by: str


@dataclass(frozen=True)
class ShardView:
    """A step that needs a look: working, retried or parked."""

    name: str
    state_words: str
    attempts: int
    error: str


@dataclass(frozen=True)
class StageView:
    """One stage of a run."""

    name: str
    state: str
    state_words: str
    done: int
    total: int
    took: str
    results: str
    notable: tuple[ShardView, ...]


@dataclass(frozen=True)
class RunView:
    """A run's page. ``live`` asks the browser to look again."""

    row: RunRow
    live: bool
    percent: int
    finished_at: datetime | None
    episodes: int
    stages: tuple[StageView, ...]
    stats: tuple[tuple[str, str], ...]
    problems: tuple[str, ...]
    sections: tuple[SectionView, ...]
    choices: tuple[ChoiceView, ...]
    choices_total: int
    choices_link: str
    regime: str
    left_out: tuple[str, ...]
    cost: str
    rechecks: tuple[tuple[str, str, str, str], ...]
    candidates: tuple[tuple[str, str, str], ...]


def run_row(run: Run, counts: dict[str, int], now: datetime) -> RunRow:
    """A row from a run and its step counts by state."""
    ended = run.finished_at or now
    return RunRow(
        link=links.run(run.id),
        namespace=run.namespace,
        name=f"{'Night' if run.kind == 'night' else 'Repair'} {run.key}" + (f" ({run.seq})" if run.seq > 1 else ""),
        state=run.state,
        started_at=run.started_at,
        took=span_words((ended - run.started_at).total_seconds()),
        done=counts.get("done", 0) + counts.get("parked", 0),
        total=sum(counts.values()),
        problems=len(run.problems) + counts.get("parked", 0) * (not run.problems),
        requested_by=run.requested_by,
    )


def run_view(
    run: Run,
    steps: Sequence[RunStep],
    episodes: int,
    sections: Sequence[SectionView],
    choices: Sequence[ChoiceView],
    choices_total: int,
    rechecks: Sequence[Recheck],
    candidates: Sequence[Candidate],
    now: datetime,
) -> RunView:
    """The page of a run."""
    counts: dict[str, int] = {}
    for step in steps:
        counts[step.state] = counts.get(step.state, 0) + 1
    row = run_row(run, counts, now)
    stages = list(dict.fromkeys(step.stage for step in steps))
    return RunView(
        row=row,
        live=run.state == "running",
        percent=round(100 * row.done / row.total) if row.total else 0,
        finished_at=run.finished_at,
        episodes=episodes,
        stages=tuple(_stage(name, [step for step in steps if step.stage == name], now) for name in stages),
        stats=tuple((key.replace("_", " "), str(value)) for key, value in sorted(run.stats.items())),
        problems=tuple(_problem(problem) for problem in run.problems),
        sections=tuple(sections),
        choices=tuple(choices),
        choices_total=choices_total,
        choices_link=links.choices(run.id),
        regime=REGIME_WORDS.get(_regime(steps), ""),
        left_out=tuple(_left_out(_totals([step.result for step in steps if step.stage == "contrast"]))),
        rechecks=tuple(_recheck(one) for one in rechecks),
        cost=_cost(_totals([step.result for step in steps if step.stage == "draft"])),
        candidates=tuple((links.candidate(c.namespace, c.id), c.title, c.state) for c in candidates),
    )


def _stage(name: str, steps: Sequence[RunStep], now: datetime) -> StageView:
    states = [step.state for step in steps]
    state = next((state for state in ("leased", "parked", "pending") if state in states), "done")
    if state == "pending" and "done" in states:
        state = "leased"
    began = min((step.started_at for step in steps if step.started_at), default=None)
    ended = max((step.finished_at for step in steps if step.finished_at), default=None)
    over = state in ("done", "parked") and ended is not None
    took = span_words(((ended if over and ended else now) - began).total_seconds()) if began else "–"
    return StageView(
        name=name,
        state=state,
        state_words=STEP_WORDS[state],
        done=states.count("done"),
        total=len(states),
        took=took,
        results=_results([step.result for step in steps]),
        notable=tuple(_shard(step, now) for step in steps if step.state == "leased" or step.error)[:20],
    )


def _shard(step: RunStep, now: datetime) -> ShardView:
    since = f", since {age_words(step.started_at, now)}" if step.state == "leased" and step.started_at else ""
    return ShardView(step.shard or "whole stage", STEP_WORDS[step.state] + since, step.attempts, step.error or "")


def _totals(results: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Counts of all shards added up."""
    totals: dict[str, float] = {}
    for result in results:
        for key, value in result.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                totals[key] = totals.get(key, 0) + value
    return totals


def _results(results: Sequence[dict[str, Any]]) -> str:
    """As words: "episodes 420, families 6"."""
    return ", ".join(f"{key.replace('_', ' ')} {value:g}" for key, value in _totals(results).items())


def _recheck(one: Recheck) -> tuple[str, str, str, str]:
    """Link, name, verdict and words of a rule tested again."""
    link, name = links.rule(one.namespace, one.rule_id), f"{one.rule_id} version {one.version}"
    return link, name, one.verdict.replace("-", " "), one.words


def _regime(steps: Sequence[RunStep]) -> str:
    return next((str(step.result["regime"]) for step in steps if step.stage == "draft" and "regime" in step.result), "")


def _left_out(totals: dict[str, float]) -> list[str]:
    """What did not enter the comparison, and why; nothing where nothing was left out."""
    said = []
    if tainted := totals.get("tainted"):
        said.append(f"{tainted:g} episodes that ran under a rule which was revoked, or descends from one")
    if capped := totals.get("dropped_by_cap"):
        said.append(f"{capped:g} runs over what one agent's token may contribute: a third of the independent groups")
    if same := totals.get("same_as_another"):
        said.append(f"{same:g} episodes that are one with another as evidence: same session, a retry, or a copy")
    return said


def _cost(totals: dict[str, float]) -> str:
    """What a model was asked, if any was."""
    if not totals.get("model_calls") and not any(key.startswith("model_") and value for key, value in totals.items()):
        return "no model was asked"
    spent = f"{totals.get('model_calls', 0):g} model calls, {totals.get('model_tokens', 0):,.0f} tokens"
    took = f", {span_words(totals['model_seconds'])}" if totals.get("model_seconds") else ""
    dropped = totals.get("citations_dropped")
    return spent + took + (f"; {dropped:g} citations were in no step, and dropped" if dropped else "")


def _problem(problem: dict[str, Any]) -> str:
    where = " ".join(str(problem[key]) for key in ("stage", "shard") if problem.get(key))
    what = str(problem.get("error") or problem.get("detail") or problem.get("reason") or problem)
    return f"{where}: {what}" if where else what
