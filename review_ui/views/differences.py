"""What a text changes against another one: the version it replaces, or what the night had written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from review_ui.diff import LONGEST, Line, lines_of, runs_of, words_changed
from review_ui.views.packet import Content
from review_ui.words import _, ngettext


@dataclass(frozen=True)
class ScopeChange:
    """One part of the scope that differs."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Difference:
    """A text beside the one it is held against. ``summary`` says in words how much changed.

    Where the texts are too long to be compared word by word, ``too_long`` says so and there are no lines.
    """

    id: str
    title: str
    link: str
    summary: str
    when: Line | None
    steps: tuple[Line, ...]
    scope: tuple[ScopeChange, ...]
    too_long: str


def difference(ident: str, title: str, link: str, before: Content, after: Content) -> Difference:
    """The differences from ``before`` to ``after``. ``ident`` names it within a page."""
    scope = _scope_changes(before, after)
    if before.length + after.length > LONGEST:
        too_long = _("Too long to compare word by word (characters before: {before}, now: {after}).").format(
            before=f"{before.length:,}", after=f"{after.length:,}"
        )
        return Difference(ident, title, link, _scope_words(scope), None, (), scope, too_long)
    runs = runs_of(before.when_to_use, after.when_to_use)
    when = Line("same" if before.when_to_use == after.when_to_use else "changed", 1, 1, runs)
    steps = lines_of(before.guidance, after.guidance)
    return Difference(ident, title, link, _summary(when, steps, scope), when, steps, scope, "")


def _scope_changes(before: Content, after: Content) -> tuple[ScopeChange, ...]:
    old, new = ({line.name: line.value for line in content.scope} for content in (before, after))
    names = list(dict.fromkeys([*old, *new]))
    return tuple(
        ScopeChange(name, old.get(name, "–"), new.get(name, "–")) for name in names if old.get(name) != new.get(name)
    )


def _summary(when: Line, steps: Sequence[Line], scope: Sequence[ScopeChange]) -> str:
    lines = [when, *steps]
    gone, come = (sum(counts) for counts in zip(*(words_changed(line.runs) for line in lines), strict=True))
    said = []
    if gone or come:
        new = ngettext("{n} word is new", "{n} words are new", come).format(n=come)
        old = ngettext("{n} word is gone", "{n} words are gone", gone).format(n=gone)
        said.append(_("{new}, {old}.").format(new=new, old=old))
    said += [_("Step {n} is new.").format(n=line.after) for line in steps if line.state == "added"][:3]
    said += [_("Step {n} of before is gone.").format(n=line.before) for line in steps if line.state == "removed"][:3]
    if not said and any(line.state != "same" for line in lines):
        said.append(_("Only spaces or marks differ."))
    said.append(_scope_words(scope))
    return " ".join(part for part in said if part) or _("The two are the same, word for word.")


def _scope_words(scope: Sequence[ScopeChange]) -> str:
    if not scope:
        return ""
    return _("The scope differs in: {parts}.").format(parts=", ".join(change.name for change in scope))


def nights_text(packet: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the night had written, where a person wrote the text that stands now."""
    edited = packet.get("edited")
    text = edited.get("text") if isinstance(edited, dict) else None
    return text if isinstance(text, dict) else None


def newer_text(packet: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the night would write by now, where that is not what it wrote when a person edited it."""
    edited = packet.get("edited")
    newer = edited.get("newer") if isinstance(edited, dict) else None
    text = newer.get("text") if isinstance(newer, dict) else None
    return text if isinstance(text, dict) else None
