"""The stages of a run: when each ran, how its shards stand, what it counted, and what needs a hand."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review_ui import links
from review_ui.text import span_words
from review_ui.words import N_, _, ngettext
from storage.tables import Run, RunStep
from tasks.stages import KINDS

WIDTH = 1000
"""Units of a drawn bar; it is stretched to the room there is."""
LEAST_WIDTH = 6
MOST_SHARDS = 20

STAGES = {
    "select": (N_("Select"), N_("Takes in the episodes that no night has read.")),
    "cluster": (N_("Cluster"), N_("Tells families, tasks and clusters apart by how the episodes begin.")),
    "contrast": (
        N_("Contrast"),
        N_("Holds successes against failures within each task, and confirms on other groups."),
    ),
    "draft": (N_("Draft"), N_("Words what was confirmed.")),
    "conflict": (N_("Conflict"), N_("Looks for what cannot both be followed, or both be so.")),
    "verify": (N_("Verify"), N_("Checks every draft and what it cites.")),
    "stage": (N_("Stage"), N_("Puts candidates into the queue, refreshes or withdraws those that wait.")),
    "recheck": (N_("Recheck"), N_("Tests the active rules again.")),
    "repair": (N_("Repair"), N_("Sorts out what leaned on a revoked rule.")),
}
SHARD_STATES = {
    "pending": N_("waiting"), "leased": N_("working"), "done": N_("done"), "parked": N_("parked"),
}  # fmt: skip
COUNTS = {
    "episodes": N_("episodes"), "tainted": N_("under a revoked rule"), "unjudged": N_("without a known outcome"),
    "clusters": N_("clusters"), "families": N_("families"), "tasks": N_("tasks"), "tests": N_("tests"),
    "confirmed": N_("confirmed"), "unconfirmed": N_("not confirmed"), "insufficient": N_("too little evidence"),
    "units": N_("independent runs"),
    "episodes_compared": N_("episodes compared"), "dropped_by_cap": N_("over a token's share"),
    "same_as_another": N_("one with another"), "findings": N_("confirmed findings"), "drafts": N_("drafts"),
    "keep": N_("clusters kept"), "remove": N_("clusters to remove from"), "consolidate": N_("clusters to consolidate"),
    "mode_none": N_("mode none"), "mode_imitation": N_("mode imitation"), "mode_strategic": N_("mode strategic"),
    "mode_corrective": N_("mode corrective"), "hypotheses": N_("hypotheses"), "model_calls": N_("model calls"),
    "model_tokens": N_("model tokens"), "model_seconds": N_("seconds of waiting for a model"),
    "citations_dropped": N_("citations dropped"), "model_worded": N_("clusters worded by the model"),
    "model_hypothesis": N_("untested claims of the model"), "model_nothing": N_("clusters the model had nothing for"),
    "model_refused": N_("answers refused"), "model_over_budget": N_("clusters over budget"),
    "model_parked": N_("clusters without an answer"), "statements": N_("facts read"),
    "facts_in_conflict": N_("facts in conflict"), "facts_noted": N_("facts noted"),
    "mixed_outcomes": N_("mixed outcomes"), "checked": N_("drafts checked"), "echoes": N_("runs that had read its kin"),
    "candidates": N_("candidates"), "created": N_("new"), "refreshed": N_("refreshed"), "unchanged": N_("unchanged"),
    "closed": N_("decided before"), "over_cap": N_("over the cap"), "held_back": N_("held back"),
    "voided": N_("withdrawn"), "exemplars": N_("exemplars"), "rechecked": N_("rules tested again"),
    "stands": N_("stand"), "vanished": N_("vanished"), "reversed": N_("reversed"),
    "outside_scope": N_("outside their scope"), "no_comparison": N_("without a comparison"),
    "not_enough": N_("without enough evidence"), "proposed": N_("corrections proposed"),
    "dropped": N_("corrections dropped"),
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One piece of a drawn bar; ``kind`` is the class that colours it."""

    kind: str
    x: float
    width: float


@dataclass(frozen=True)
class ShardView:
    """A step that needs a look: working, tried again, or parked."""

    name: str
    state: str
    state_words: str
    attempts: str
    error: str


@dataclass(frozen=True)
class StageView:
    """One stage of a run. ``when`` is drawn on the run's own time; ``shares`` are its shards by state."""

    name: str
    title: str
    meaning: str
    state: str
    state_words: str
    shards: str
    began: str
    took: str
    seconds: float | None
    when: Part | None
    shares: tuple[Part, ...]
    counts: tuple[tuple[str, str], ...]
    notable: tuple[ShardView, ...]
    more: int


@dataclass(frozen=True)
class Trouble:
    """What is missing from a run, and what to do now."""

    where: str
    error: str
    now: str
    command: str
    link: str


def title_of(stage: str) -> str:
    """A stage's name in words; the name itself where this version does not know it."""
    return _(STAGES[stage][0]) if stage in STAGES else stage


def stages_of(run: Run, steps: Sequence[RunStep], now: datetime) -> list[StageView]:
    """The stages that were planned, in the order data flows."""
    named = {step.stage for step in steps}
    order = [stage for stage in KINDS.get(run.kind, ()) if stage in named]
    order += [stage for stage in dict.fromkeys(step.stage for step in steps) if stage not in order]
    begins = [step.started_at for step in steps if step.started_at]
    ends = [step.finished_at for step in steps if step.finished_at]
    origin = min(begins, default=run.started_at)
    end = now if run.state == "running" else max(ends, default=origin)
    whole = max((end - origin).total_seconds(), 1e-3)
    return [_stage(name, [step for step in steps if step.stage == name], origin, whole, now) for name in order]


def seconds_by_stage(steps: Sequence[RunStep]) -> dict[str, float]:
    """How long each stage that ended took, from its first shard's start to its last one's end."""
    found = {}
    for name in dict.fromkeys(step.stage for step in steps):
        mine = [step for step in steps if step.stage == name]
        begins, ends = [s.started_at for s in mine if s.started_at], [s.finished_at for s in mine if s.finished_at]
        if begins and ends and all(step.state in ("done", "parked") for step in mine):
            found[name] = max((max(ends) - min(begins)).total_seconds(), 0.0)
    return found


def _stage(name: str, steps: Sequence[RunStep], origin: datetime, whole: float, now: datetime) -> StageView:
    states = [step.state for step in steps]
    state = next((state for state in ("leased", "parked", "pending") if state in states), "done")
    if state == "pending" and "done" in states:
        state = "leased"
    began = min((step.started_at for step in steps if step.started_at), default=None)
    ended = max((step.finished_at for step in steps if step.finished_at), default=None)
    last = ended if ended is not None and not {"leased", "pending"} & set(states) else now
    seconds = (last - began).total_seconds() if began else None
    before = (began - origin).total_seconds() if began else 0.0
    notable = [step for step in steps if step.state in ("leased", "parked") or step.error]
    return StageView(
        name=name,
        title=title_of(name),
        meaning=_(STAGES[name][1]) if name in STAGES else "",
        state=state,
        state_words=_(SHARD_STATES[state]),
        shards=_shards(states) if len(states) > 1 else "",
        began=_("Began after {time}.").format(time=span_words(before)) if began else "",
        took=span_words(seconds),
        seconds=seconds,
        when=_part(state, before / whole, (seconds or 0.0) / whole) if began else None,
        shares=_shares(states) if len(states) > 1 else (),
        counts=tuple(counts_of(totals([step.result for step in steps]))),
        notable=tuple(_shard(step, now) for step in notable[:MOST_SHARDS]),
        more=max(len(notable) - MOST_SHARDS, 0),
    )


def _part(kind: str, start: float, share: float) -> Part:
    width = max(min(share, 1.0) * WIDTH, LEAST_WIDTH)
    return Part(kind, round(min(max(start, 0.0) * WIDTH, WIDTH - width), 1), round(width, 1))


def _shares(states: Sequence[str]) -> tuple[Part, ...]:
    parts, at = [], 0.0
    for kind in ("done", "parked", "leased", "pending"):
        share = states.count(kind) / len(states) * WIDTH
        if share:
            parts.append(Part(kind, round(at, 1), round(share, 1)))
            at += share
    return tuple(parts)


def _shards(states: Sequence[str]) -> str:
    said = ngettext("{n} shard", "{n} shards", len(states)).format(n=len(states))
    each = [
        f"{_(SHARD_STATES[kind])} {states.count(kind)}"
        for kind in ("done", "leased", "pending", "parked")
        if kind in states
    ]
    return f"{said}: {', '.join(each)}"


def _shard(step: RunStep, now: datetime) -> ShardView:
    words = _(SHARD_STATES[step.state])
    if step.state == "leased" and step.started_at:
        words = _("working for {time}").format(time=span_words((now - step.started_at).total_seconds()))
    if step.state == "pending" and step.error:
        words = _("failed, and is tried again by itself")
    attempts = ngettext("{n} attempt", "{n} attempts", step.attempts).format(n=step.attempts)
    return ShardView(step.shard or _("the whole stage"), step.state, words, attempts, step.error or "")


def totals(results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Counts of all shards added up."""
    found: dict[str, float] = {}
    for result in results:
        for key, value in result.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                found[key] = found.get(key, 0) + value
    return found


def counts_of(found: Mapping[str, float]) -> list[tuple[str, str]]:
    """(words, number) of every count that is not zero; what this version does not know keeps its name."""
    return [
        (_(COUNTS[key]) if key in COUNTS else key.replace("_", " "), f"{value:,.6g}")
        for key, value in found.items()
        if value
    ]


def troubles_of(run: Run, steps: Sequence[RunStep]) -> list[Trouble]:
    """What a closed run is missing; of a running one, the shards that are parked already."""
    if run.state == "running":
        found: Sequence[Mapping[str, Any]] = [
            {"stage": step.stage, "shard": step.shard, "error": step.error} for step in steps if step.state == "parked"
        ]
    else:
        found = run.problems
    return [_trouble(run, one) for one in found]


def _trouble(run: Run, problem: Mapping[str, Any]) -> Trouble:
    stage, shard = str(problem.get("stage") or ""), str(problem.get("shard") or "")
    error = str(problem.get("error") or problem.get("detail") or problem.get("reason") or _("no reason recorded"))
    where = " ".join(part for part in (title_of(stage) if stage else "", shard) if part)
    if run.kind == "repair":
        rule_id = run.key.rpartition("@")[0] or run.key
        now = _(
            "The revocation stands, and what was withheld stays withheld. Restore what is right on its rule's page."
        )
        return Trouble(where, error, now, "", links.rule(run.namespace, rule_id))
    if stage in ("stage", "recheck") and "family" in problem:
        return Trouble(where, error, "", "", "")  # a plan that was halted says itself how to go on
    now = _("The rest of the night counts, and the next night takes this up. To run it now:")
    if run.state == "running":
        now = _(
            "The rest of the night goes on, and the next night takes this up. Once this one is over, it can be run:"
        )
    if run.state == "failed":
        now = _("The night went no further. The next one takes this up. To run it now:")
    command = f"slowwave consolidate --namespace {shlex.quote(run.namespace)} --local"
    return Trouble(where, error, now, command, "")
