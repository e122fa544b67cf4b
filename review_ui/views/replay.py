"""A recorded run as it can be followed: each step told apart, calls beside their results, a page or a part at a time.

Only views are shortened: what is long folds, and has a page of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review_ui import links
from review_ui.views.packet import Labelled
from review_ui.views.trace import UNFOLDED, StepView, step_views
from review_ui.words import N_, _

STEPS_A_PAGE = 60
JUMPS = 12
"""Most places that are named to jump to."""

ICONS = {
    "user": "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.5-3 2.8-4.5 5.5-4.5s5 1.5 5.5 4.5z",
    "plan": "M2 3h3v2H2zM7 3h7v2H7zM2 7h3v2H2zM7 7h7v2H7zM2 11h3v2H2zM7 11h7v2H7z",
    "claim": "M2 2.5h12v8H8l-4 3v-3H2z",
    "tool_call": "M3.5 2l9.5 6-9.5 6z",
    "observation": "M14 3v6H6v3L1 8l5-4v3h5.5V3z",
    "answer": "M1.5 8.5l2-2 3 3 6-6.5 2 2-8 8.5z",
    "memory_read": "M3.5 2h9v12L8 11l-4.5 3z",
    "memory_write": "M2 14l1-4 8-8 3 3-8 8z",
    "system": "M3 3h10v10H3z",
}
"""The shape of each kind, in a square of 16: kinds are told apart by word, shape and colour."""

FILTERS: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "user": (N_("User"), lambda step: step.get("kind") == "user"),
    "calls": (N_("Calls and results"), lambda step: step.get("kind") in ("tool_call", "observation")),
    "words": (N_("Plans, claims, answers"), lambda step: step.get("kind") in ("plan", "claim", "answer")),
    "memory": (N_("Memory"), lambda step: step.get("kind") in ("memory_read", "memory_write")),
    "system": (N_("System"), lambda step: step.get("kind") == "system"),
}
"""Filters by kind: words, and whether a step is of it. Errors, citations and trust are asked of the run as a whole."""
ERRORS, CITED, EXTERNAL = "errors", "cited", "external"


@dataclass(frozen=True)
class Quoting:
    """What cites a step."""

    link: str
    title: str
    stance: str


@dataclass(frozen=True)
class TraceStep:
    """One step. ``arguments`` of a call are a table; ``results`` are what came of it, where they stand beside it.

    ``gap`` steps before it are not shown. ``of_link`` leads a result to a call that stands elsewhere.
    """

    view: StepView
    icon: str
    anchor: str
    at: datetime | None
    arguments: tuple[Labelled, ...]
    arguments_cut: bool
    whole_link: str
    of_link: str
    quoted: tuple[Quoting, ...]
    results: tuple[TraceStep, ...]
    gap: int


@dataclass(frozen=True)
class FilterLink:
    """A link that leaves some of the steps; ``chosen`` if it is in force."""

    link: str
    words: str
    count: int
    chosen: bool


@dataclass(frozen=True)
class Jump:
    """Places of one sort that a reader may go to; ``more_link`` leads to all of them, where there are more."""

    words: str
    places: tuple[tuple[str, str], ...]
    more_link: str
    more: int


@dataclass(frozen=True)
class Replay:
    """One page of a run. ``total`` steps pass the filter in force, of ``whole`` in all; places count from 1."""

    steps: tuple[TraceStep, ...]
    left_out_after: int
    filters: tuple[FilterLink, ...]
    jumps: tuple[Jump, ...]
    total: int
    whole: int
    filtered: bool
    first: int
    last: int
    previous_link: str
    next_link: str


def replay(
    link: str,
    payload: Mapping[str, Any],
    *,
    page: int,
    step: str,
    only: str,
    quoted: Mapping[str, Sequence[Quoting]],
) -> Replay:
    """A page of a run; with ``step``, the page that holds it. ``quoted`` says by step id what cites it."""
    steps = [each for each in payload.get("steps") or [] if isinstance(each, dict)]
    default = str(payload.get("trust") or "internal")
    sorts = _sorts(steps, default, quoted)
    only = only if only in sorts else ""
    passing = sorts[only] if only else list(range(len(steps)))
    held = next((n for n, place in enumerate(passing) if step and _id(steps[place]) == step), None)
    if step and held is None and only:
        return replay(link, payload, page=page, step=step, only="", quoted=quoted)
    pages = max(-(-len(passing) // STEPS_A_PAGE), 1)
    page = min(max(held // STEPS_A_PAGE + 1 if held is not None else page, 1), pages)
    first = (page - 1) * STEPS_A_PAGE
    shown = passing[first : first + STEPS_A_PAGE]
    before = passing[first - 1] if first else -1
    return Replay(
        steps=tuple(_shown(link, steps, shown, before, default, step, quoted)),
        left_out_after=(len(steps) if page == pages else passing[first + STEPS_A_PAGE]) - shown[-1] - 1 if shown else 0,
        filters=tuple(_filters(link, sorts, only, len(steps))),
        jumps=tuple(_jumps(link, steps, sorts)),
        total=len(passing),
        whole=len(steps),
        filtered=bool(only),
        first=first + 1,
        last=first + len(shown),
        previous_link=links.with_query(link, only=only, page=page - 1) if page > 1 else "",
        next_link=links.with_query(link, only=only, page=page + 1) if page < pages else "",
    )


def _id(step: Mapping[str, Any]) -> str:
    return str(step.get("id"))


def _sorts(
    steps: Sequence[dict[str, Any]], default_trust: str, quoted: Mapping[str, Sequence[Quoting]]
) -> dict[str, list[int]]:
    """Places of the steps that each filter leaves; an error keeps the call that it came of in view."""
    found = {name: [n for n, step in enumerate(steps) if is_of(step)] for name, (_words, is_of) in FILTERS.items()}
    places = {_id(step): n for n, step in enumerate(steps)}
    wrong = {n for n, step in enumerate(steps) if _is_error(step)}
    calls = {places[str(steps[n]["of"])] for n in wrong if str(steps[n].get("of")) in places}
    found[ERRORS] = sorted(wrong | calls)
    found[CITED] = [n for n, step in enumerate(steps) if _id(step) in quoted]
    found[EXTERNAL] = [n for n, step in enumerate(steps) if str(step.get("trust") or default_trust) == "external"]
    return found


def _is_error(step: Mapping[str, Any]) -> bool:
    return bool(step.get("is_error")) or step.get("exit_code") not in (None, 0)


def _shown(
    link: str,
    steps: Sequence[dict[str, Any]],
    shown: Sequence[int],
    before: int,
    default_trust: str,
    target: str,
    quoted: Mapping[str, Sequence[Quoting]],
) -> list[TraceStep]:
    """The steps of a page in order. A result goes beside its call where only other calls and results lie between."""
    on_page = {_id(steps[place]) for place in shown}
    made: list[TraceStep] = []
    beside: dict[str, list[TraceStep]] = {}
    calls: dict[str, int] = {}
    for place in shown:
        step, kind = steps[place], str(steps[place].get("kind"))
        gap, before = place - before - 1, place
        if gap or kind not in ("tool_call", "observation"):
            calls = {}
        of = str(step.get("of") or "")
        one = _step(link, step, place, default_trust, target, quoted, gap, apart=bool(of) and of not in on_page)
        if kind == "observation" and of in calls:
            beside.setdefault(of, []).append(one)
            continue
        if kind == "tool_call":
            calls[_id(step)] = len(made)
        made.append(one)
    return [_with_results(one, beside.get(one.view.id, ())) if one.view.kind == "tool_call" else one for one in made]


def _with_results(call: TraceStep, results: Sequence[TraceStep]) -> TraceStep:
    return TraceStep(**{**vars(call), "results": tuple(results)})


def _step(
    link: str,
    step: dict[str, Any],
    place: int,
    default_trust: str,
    target: str,
    quoted: Mapping[str, Sequence[Quoting]],
    gap: int,
    *,
    apart: bool,
) -> TraceStep:
    given = step.get("arguments")
    told = {**step, "arguments": None} if isinstance(given, dict) else step
    identity = _id(step)
    marked = [identity] if identity in quoted or identity == target else []
    view = step_views({"trust": default_trust, "steps": [told]}, marked)[0]
    arguments = (
        [Labelled(str(name), _written(value)) for name, value in given.items()] if isinstance(given, dict) else []
    )
    return TraceStep(
        view=view,
        icon=ICONS[view.kind],
        anchor="cited" if target and identity == target else f"s-{place + 1}",
        at=_time(step.get("at")),
        arguments=tuple(Labelled(one.name, one.value[:UNFOLDED]) for one in arguments),
        arguments_cut=any(len(one.value) > UNFOLDED for one in arguments),
        whole_link=links.with_query(link, whole=identity),
        of_link=f"{links.with_query(link, step=str(step['of']))}#cited" if apart else "",
        quoted=tuple(quoted.get(identity, ())),
        results=(),
        gap=gap,
    )


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _time(value: Any) -> datetime | None:
    """Steps are stored as JSON, so their times are text; one that cannot be read is as if it were absent."""
    try:
        at = datetime.fromisoformat(str(value)) if value else None
    except ValueError:
        return None
    return at if at is not None and at.tzinfo is not None else None


def _filters(link: str, sorts: Mapping[str, Sequence[int]], only: str, whole: int) -> list[FilterLink]:
    words = {name: _(each) for name, (each, _is_of) in FILTERS.items()}
    words |= {ERRORS: _("Errors"), CITED: _("Cited"), EXTERNAL: _("External text")}
    every = [FilterLink(link, _("All"), whole, not only)]
    return every + [
        FilterLink(links.with_query(link, only=name), words[name], len(places), name == only)
        for name, places in sorts.items()
        if places
    ]


def _jumps(link: str, steps: Sequence[dict[str, Any]], sorts: Mapping[str, Sequence[int]]) -> list[Jump]:
    wrong = [place for place in sorts[ERRORS] if _is_error(steps[place])]
    made = []
    for name, words, places in ((CITED, _("Cited steps:"), sorts[CITED]), (ERRORS, _("Errors:"), wrong)):
        if places:
            named = tuple(
                (_id(steps[place]), f"{links.with_query(link, step=_id(steps[place]))}#cited")
                for place in places[:JUMPS]
            )
            made.append(Jump(words, named, links.with_query(link, only=name), max(len(places) - JUMPS, 0)))
    return made
