"""What a conflict shows of each of its sides: a title, what it rests on, and a hash of what it says. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from storage.ids import content_hash
from tasks.conflict.claims import Claim, Found, says
from tasks.conflict.counter import Against
from tasks.conflict.disagree import Disagreement, says_of
from tasks.conflict.mixed import Mixed
from tasks.conflict.statements import Statement

MOST_EPISODES = 5
"""Episodes named of a side; the counts are of all."""

Cited = tuple[str, str]
"""An episode and a step of it; the step may be empty."""


def as_claim(ref: str, content: Mapping[str, Any]) -> Claim:
    """A stored content as one side of a comparison. An exemplar advises nothing, so its words are not compared."""
    guidance = [str(line) for line in content.get("guidance") or ()]
    text = "\n".join([str(content.get("when_to_use") or ""), *guidance]) if guidance else ""
    title = guidance[0].rstrip(".") if guidance else str(content.get("when_to_use") or "")
    return Claim(ref, content.get("predicate") or {}, content.get("scope") or {}, title, text)


def text_side(content: Mapping[str, Any], evidence: Mapping[str, Any], cited: Iterable[Cited]) -> dict[str, Any]:
    """The side of a candidate or a rule. ``evidence`` holds the counts of its packet."""
    return {
        "title": as_claim("", content).title,
        "says": says(content),
        "support": int(evidence.get("support") or 0),
        "counter": int(evidence.get("counter") or 0),
        "episodes": _episodes(cited),
    }


def runs_side(title: str, groups: int, cited: Iterable[Cited]) -> dict[str, Any]:
    """The side of a set of runs: what they have in common, and how many independent groups they are."""
    return {
        "title": title,
        "says": content_hash(title, 32),
        "support": groups,
        "counter": 0,
        "episodes": _episodes(cited),
    }


def stated_side(statements: tuple[Statement, ...]) -> dict[str, Any]:
    """The side of a stated fact: its words, since when it is said to be so, and in how many sessions it was said."""
    newest = statements[-1]
    return {
        "title": fact_words(newest),
        "says": says_of(statements),
        "support": len({each.session or each.episode_id for each in statements}),
        "counter": 0,
        "trust": sorted({each.trust for each in statements}),
        "said_at": statements[0].holds_from.isoformat(timespec="seconds"),
        "episodes": _episodes((each.episode_id, each.step_id) for each in reversed(statements)),
    }


def fact_words(one: Statement) -> str:
    """A stated fact as a person reads it. Relations are kept as stems, so only properties are named."""
    if one.is_change:
        return (
            f"{one.subject}: from “{one.previous}” to “{one.value}”"
            if one.value
            else f"{one.subject}: no “{one.previous}” any more"
        )
    named = f" ({one.attribute})" if one.single else ""
    return f"{one.subject}{named}: {'not ' if one.denied else ''}“{one.value}”"


def claim_row(namespace: str, hit: Found) -> dict[str, Any]:
    """A conflict between two texts, as drafts and packets keep it."""
    return {
        "id": content_hash([namespace, *hit.key], 16),
        "kind": hit.kind,
        "form": hit.form,
        "with": hit.right,
        "detail": hit.detail,
        "supersedes": hit.supersedes,
        "stands": hit.left if hit.kind == "supersession" else "",
    }


def against_row(namespace: str, ref: str, family: str, one: Against) -> dict[str, Any]:
    """A claim's conflict with the counter-episodes of one task."""
    other = one.ref(family)
    return {
        "id": content_hash([namespace, "counter-evidence", ref, other], 16),
        "kind": one.kind,
        "form": "counter-evidence",
        "with": other,
        "detail": f"in task {one.task}, more of the runs that show this speak against it than for it",
        "supersedes": False,
    }


def stated_row(namespace: str, hit: Disagreement) -> dict[str, Any]:
    """A conflict between two stated facts; ``with`` is the side that would stand."""
    left, right = hit.refs
    return {
        "id": content_hash([namespace, *hit.identity], 16),
        "kind": hit.kind,
        "form": hit.form,
        "with": right,
        "stands": right if hit.kind == "supersession" else "",
        "detail": hit.detail,
        "subject": hit.subject,
        "sides": {left: stated_side(hit.left), right: stated_side(hit.right)},
    }


def mixed_row(namespace: str, one: Mixed, failed: list[Cited], succeeded: list[Cited]) -> dict[str, Any]:
    """A task in which the same calls had both outcomes."""
    left, right = one.refs
    title = f"task {one.task}, the same calls in the same order"
    return {
        "id": content_hash([namespace, left, right], 16),
        "kind": "contradiction",
        "form": "mixed-outcome",
        "with": right,
        "detail": f"{title}: failed in {one.failure}, succeeded in {one.success} independent groups, so something that "
        "the calls do not show decides",
        "sides": {
            left: runs_side(f"{title}: failed", one.failure, failed),
            right: runs_side(f"{title}: succeeded", one.success, succeeded),
        },
    }


def settled(row: Mapping[str, Any], resolution: str | None, *, is_left: bool) -> dict[str, Any]:
    """A conflict row with what a person decided about it; who keeps both lets neither put the other aside."""
    if resolution is None:
        return dict(row)
    stands = resolution == "both" or resolution == ("left" if is_left else "right")
    decided = {"keep": resolution, "this": "stands" if stands else "was put aside"}
    return {**row, "supersedes": bool(row["supersedes"]) and resolution != "both", "resolution": decided}


def _episodes(cited: Iterable[Cited]) -> list[dict[str, str]]:
    found = dict.fromkeys(cited)
    return [{"episode": episode, "step": step} for episode, step in list(found)[:MOST_EPISODES]]
