"""What came of a run: the candidates by what was done with each, what a repair did, what a model cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from review_ui import links
from review_ui.text import shortened, span_words
from review_ui.views.names import CANDIDATE_STATES, said
from review_ui.words import N_, _, ngettext
from storage.queries.pages_runs import Written
from storage.tables import Candidate, RunStep

FIRST = 12
"""Candidates of a group that are in view; the rest unfolds."""

GROUPS = (
    ("new", N_("New"), N_("Staged for the first time.")),
    ("refreshed", N_("Refreshed"), N_("Their text or evidence changed; a decision on the old one may have fallen.")),
    ("arrived", N_("What was asked for arrived"), N_("They were parked for evidence, and are back in the queue.")),
    ("missing", N_("What was asked for did not come"), N_("The last day to wait for it is over; they are back.")),
    ("exemplars", N_("Exemplars"), N_("Runs proposed as examples.")),
    ("unchanged", N_("Unchanged"), N_("Found again as they were. They wait as before.")),
    ("closed", N_("Decided before"), N_("Found again after they were promoted or rejected. The decision stands.")),
    ("over_cap", N_("Over the cap"), N_("More was found than one night stages, the best first. They are found again.")),
    ("held_back", N_("Held back by a check"), N_("Nothing in them is for a person to decide yet.")),
    ("voided", N_("Withdrawn"), N_("They waited, and this run no longer supports them.")),
)


@dataclass(frozen=True)
class Made:
    """One candidate, or a draft that became none. ``held`` are the checks that keep it back, each with why."""

    title: str
    link: str
    state: str
    state_words: str
    held: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Group:
    """Candidates with which the same was done. ``total`` may be more than are named: older runs kept counts alone."""

    name: str
    heading: str
    meaning: str
    total: int
    shown: tuple[Made, ...]
    folded: tuple[Made, ...]


@dataclass(frozen=True)
class Budget:
    """Something of a model that a night may use: ``percent`` of what was allowed, None where that was not recorded."""

    name: str
    used: str
    allowed: str
    percent: int | None


@dataclass(frozen=True)
class Restored:
    """A version that a repair looked at, and why it came out so."""

    words: str
    link: str
    why: str


@dataclass(frozen=True)
class Repair:
    """What a repair kept, and what it left for a person."""

    rule: str
    rule_link: str
    kept: tuple[Restored, ...]
    to_review: tuple[Restored, ...]
    finished: bool


@dataclass(frozen=True)
class Behind:
    """What the groups are made of: revisions of the run, candidates by id, and words of drafts that became none."""

    written: Sequence[Written]
    candidates: Mapping[str, Candidate]
    words: Mapping[str, str]


NOTHING_BEHIND = Behind((), {}, {})


def result_of(steps: Sequence[RunStep], stage: str) -> Mapping[str, Any]:
    """What the one step of an undivided stage told; empty where it has not ended."""
    return next((step.result for step in steps if step.stage == stage and step.result), {})


def ids_told(steps: Sequence[RunStep]) -> dict[str, list[str]]:
    """Ids of the candidates that a run passed by, by what was done with them."""
    staged = result_of(steps, "stage")
    told, back = dict(staged.get("told") or {}), dict(staged.get("asked_for") or {})
    held = [str(row.get("candidate") or "") for row in result_of(steps, "verify").get("held_back") or ()]
    voided = list(told.get("voided") or ()) + list(result_of(steps, "repair").get("voided") or ())
    return {
        **{name: [str(one) for one in told.get(name) or ()] for name in ("unchanged", "closed", "over_cap")},
        **{name: [str(one) for one in back.get(name) or ()] for name in ("arrived", "missing")},
        "held_back": list(dict.fromkeys(held)),
        "voided": [str(one) for one in voided],
    }


def groups_of(namespace: str, steps: Sequence[RunStep], behind: Behind) -> list[Group]:
    """The candidates of a run by what was done with each; a group without any is left out."""
    told, counts = ids_told(steps), result_of(steps, "stage")
    held: dict[str, list[tuple[str, str]]] = {}
    for row in result_of(steps, "verify").get("held_back") or ():
        held.setdefault(str(row.get("candidate") or ""), []).append((str(row.get("check")), str(row.get("why"))))
    made = {
        "new": [_written(namespace, one) for one in behind.written if one.kind != "exemplar" and one.number == 1],
        "refreshed": [_written(namespace, one) for one in behind.written if one.kind != "exemplar" and one.number > 1],
        "exemplars": [_written(namespace, one) for one in behind.written if one.kind == "exemplar"],
        **{
            name: [_named(namespace, one, behind, held if name == "held_back" else {}) for one in ids]
            for name, ids in told.items()
        },
    }
    groups = []
    for name, heading, meaning in GROUPS:
        mine = made[name]
        number = counts.get(name)
        total = max(len(mine), number if isinstance(number, int) and name not in ("new", "refreshed") else 0)
        if total:
            groups.append(Group(name, _(heading), _(meaning), total, tuple(mine[:FIRST]), tuple(mine[FIRST:])))
    return groups


def _written(namespace: str, one: Written) -> Made:
    link = links.candidate(namespace, one.candidate_id)
    return Made(shortened(one.title, 200), link, one.state, said(CANDIDATE_STATES, one.state))


def _named(namespace: str, candidate_id: str, behind: Behind, held: Mapping[str, Sequence[tuple[str, str]]]) -> Made:
    checks = tuple(held.get(candidate_id, ()))
    known = behind.candidates.get(candidate_id)
    if known is None:
        return Made(shortened(behind.words.get(candidate_id) or candidate_id, 200), "", "", "", checks)
    words, link = said(CANDIDATE_STATES, known.state), links.candidate(namespace, candidate_id)
    return Made(shortened(known.title, 200), link, known.state, words, checks)


def budgets_of(steps: Sequence[RunStep]) -> list[Budget]:
    """What was asked of a model, against what was allowed; empty where none was asked."""
    result = result_of(steps, "draft")
    if not any(value for key, value in result.items() if key.startswith("model_")):
        return []
    allowed = result.get("allowed") or {}
    rows = (
        ("calls", _("model calls"), _figure), ("tokens", _("tokens"), _figure), ("seconds", _("waiting"), span_words),
    )  # fmt: skip
    return [_budget(words, result.get(f"model_{name}") or 0, allowed.get(name), say) for name, words, say in rows]


def _budget(name: str, used: float, allowed: float | None, say: Any) -> Budget:
    if allowed is None:
        return Budget(name, say(used), "", None)
    return Budget(name, say(used), say(allowed), min(round(100 * used / allowed), 100) if allowed else 100)


def _figure(value: float) -> str:
    return f"{value:,.0f}"


def cost_words(steps: Sequence[RunStep]) -> str:
    """What a model was asked, if any was, in one sentence."""
    result = result_of(steps, "draft")
    if not any(value for key, value in result.items() if key.startswith("model_")):
        return _("no model was asked")
    calls = int(result.get("model_calls") or 0)
    words = ngettext("{n} model call, {tokens} tokens", "{n} model calls, {tokens} tokens", calls).format(
        n=calls, tokens=_figure(result.get("model_tokens") or 0)
    )
    if result.get("model_seconds"):
        words += f", {span_words(result['model_seconds'])}"
    if dropped := int(result.get("citations_dropped") or 0):
        left = ngettext(
            "{n} citation was in no step, and dropped", "{n} citations were in no step, and dropped", dropped
        )
        words += f"; {left.format(n=dropped)}"
    return words


def repair_of(namespace: str, key: str, steps: Sequence[RunStep]) -> Repair:
    """What a repair did. ``key`` is the run's: rule@version."""
    rule_id, _at, version = key.rpartition("@")
    result = result_of(steps, "repair")
    words = _("{rule} version {version}").format(rule=rule_id, version=version) if rule_id else key
    return Repair(
        rule=words,
        rule_link=links.rule(namespace, rule_id or key),
        kept=tuple(_restored(namespace, row) for row in result.get("restored") or ()),
        to_review=tuple(_restored(namespace, row) for row in result.get("to_review") or ()),
        finished=bool(result),
    )


def _restored(namespace: str, row: Mapping[str, Any]) -> Restored:
    rule_id = str(row.get("rule") or "")
    words = _("{rule} version {version}").format(rule=rule_id, version=row.get("version"))
    return Restored(words, links.rule(namespace, rule_id), str(row.get("why") or ""))
