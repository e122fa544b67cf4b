"""What a reviewer may do to a candidate besides deciding: split it by scope, merge a duplicate into it.

What a candidate can be split by is known only once its runs were weighed; the form says so until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from review_ui import links
from review_ui.plot import Estimate, interval_words
from review_ui.text import shortened
from review_ui.views.scope import component_words
from review_ui.words import N_, _, ngettext
from storage.tables import Candidate
from tasks.stage.merge import Likely
from tasks.stage.split_step import Choice, Choices, Tally
from tasks.verify.support import Remaining

STANDS = N_("The effect is seen here.")
TOO_FEW = N_("Too few runs to compare.")
NOT_SEEN = N_("No effect can be told from none here.")
WHY = {
    "duplicate": N_("A night found that both ask for the same."),
    "overlap": N_("A night found that one asks for a part of the other."),
    "same-calls": N_("It speaks of the same calls."),
    "shared-calls": N_("It speaks of some of the same calls."),
    "alike-words": N_("Its words are alike."),
    "named": N_("You named it."),
}
LONGEST_TITLE = 200


@dataclass(frozen=True)
class SideView:
    """One part that a split would make."""

    title: str
    counts: str
    verdict: str
    figures: str
    good: bool


@dataclass(frozen=True)
class ChoiceView:
    """A way to split. ``neither`` tells of runs that would be in no part; empty where there are none."""

    mark: str
    title: str
    sides: tuple[SideView, ...]
    neither: str


@dataclass(frozen=True)
class Splitting:
    """What a candidate can be split by; ``why`` says why not, where there is no choice."""

    choices: tuple[ChoiceView, ...]
    why: str


@dataclass(frozen=True)
class Pick:
    """A candidate that may be merged into this one. ``value`` carries its id and the hash that is shown."""

    value: str
    title: str
    link: str
    why: str
    short_hash: str
    chosen: bool = False


@dataclass(frozen=True)
class Parts:
    """The forms that make several candidates of one, or one of several. ``splitting`` is None until it was asked for.

    Neither is ``picks``: to look for duplicates is to read what else waits. ``nobody`` says that a candidate that was
    named is not there.
    """

    title: str
    link: str
    split_link: str
    merge_link: str
    content_hash: str
    splitting: Splitting | None
    picks: tuple[Pick, ...] | None
    nobody: str = ""
    merge_open: bool = False


def parts_view(candidate: Candidate) -> Parts | None:
    """The forms on a candidate's page; None for what can be neither split nor merged."""
    if candidate.kind != "rule":
        return None
    link = links.candidate(candidate.namespace, candidate.id)
    return Parts(
        title=shortened(candidate.title, LONGEST_TITLE),
        link=link,
        split_link=f"{link}/split",
        merge_link=f"{link}/merge",
        content_hash=candidate.content_hash,
        splitting=None,
        picks=None,
    )


def with_duplicates(parts: Parts, namespace: str, likely: Sequence[Likely]) -> Parts:
    """The forms, with the candidates that look like duplicates of this one."""
    return replace(parts, picks=tuple(_pick(namespace, one) for one in likely))


def with_choices(parts: Parts, found: Choices) -> Parts:
    """The forms, with what the candidate can be split by. Its hash is that of the content that was weighed."""
    choices = tuple(_choice(one) for one in found.choices)
    return replace(parts, splitting=Splitting(choices, found.why), content_hash=found.content_hash)


def with_named(parts: Parts, namespace: str, named: str, found: Likely | None) -> Parts:
    """The forms, with a candidate that the reviewer named by its id; None where there is no such one to merge."""
    if found is None:
        nobody = _("No candidate {id} waits in this namespace.").format(id=shortened(named, 80))
        return replace(parts, nobody=nobody)
    others = tuple(one for one in parts.picks or () if one.link != links.candidate(namespace, found.id))
    return replace(parts, picks=(replace(_pick(namespace, found), chosen=True), *others))


def picked(value: str) -> tuple[str, str]:
    """The id and the hash that the form of a merge sends as one value; empty ones where it sends none."""
    candidate_id, _sep, content_hash = value.rpartition(":")
    return candidate_id, content_hash


def side_title(within: Mapping[str, Any]) -> str:
    """One condition of a split, in the reader's language."""
    if "agents" in within:
        return _("agent {names}").format(names=_names(within["agents"]))
    if "agents_but" in within:
        return _("agents other than {names}").format(names=_names(within["agents_but"]))
    return component_words(str(within["component"]), within["versions"])


def _names(names: Sequence[str]) -> str:
    return shortened(", ".join(names), 120)


def _choice(choice: Choice) -> ChoiceView:
    sides = tuple(_side(one) for one in choice.sides)
    n = choice.neither
    neither = ngettext(
        "{n} independent group does not say which side it is of, and would be in no part.",
        "{n} independent groups do not say which side they are of, and would be in no part.",
        n,
    ).format(n=n)
    return ChoiceView(choice.mark, " | ".join(side.title for side in sides), sides, neither if n else "")


def _side(tally: Tally) -> SideView:
    left = tally.left
    groups = ngettext("{n} independent group", "{n} independent groups", tally.groups).format(n=tally.groups)
    runs = ngettext("{n} run", "{n} runs", tally.runs).format(n=tally.runs)
    counts = _("{groups} of {runs}: {support} for it, {counter} against it").format(
        groups=groups, runs=runs, support=left.support, counter=left.counter
    )
    verdict = STANDS if left.stands else NOT_SEEN if left.enough else TOO_FEW
    return SideView(side_title(tally.within), counts, _(verdict), _figures(left), left.stands)


def _figures(left: Remaining) -> str:
    if not left.strata:
        return ""
    infinite, none = float("inf"), 0.0
    estimate = Estimate(
        infinite if left.odds_ratio is None else left.odds_ratio,
        none if left.low is None else left.low,
        infinite if left.high is None else left.high,
    )
    return _("odds ratio within tasks {ratio}").format(ratio=interval_words(estimate))


def _pick(namespace: str, one: Likely) -> Pick:
    title, link = shortened(one.title, LONGEST_TITLE), links.candidate(namespace, one.id)
    return Pick(f"{one.id}:{one.content_hash}", title, link, _(WHY[one.why]), one.content_hash[:12])
