"""What a reviewer looks at first: a few figures that decide most cases, each leading to where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from review_ui.plot import Mini, mini
from review_ui.views.conflict_rows import ConflictView
from review_ui.views.packet import HELD_OUT_WORDS, Check, Effect, HeldOut, groups_of
from review_ui.views.reach import ReachView
from review_ui.words import _, ngettext
from tasks.stage.reach_step import DAYS


@dataclass(frozen=True)
class Glance:
    """One figure. ``tone`` is good, warn, bad or nothing; the words say the same."""

    label: str
    value: str
    note: str
    link: str
    tone: str = ""
    drawing: Mini | None = None


def glances(
    packet: dict[str, Any],
    effect: Effect,
    held: HeldOut,
    checks: Sequence[Check],
    conflicts: Sequence[ConflictView],
    reach: ReachView,
    *,
    is_example: bool,
) -> tuple[Glance, ...]:
    """The figures in the order in which they matter. An example claims nothing, so it has no effect."""
    claimed = [] if is_example else [_effect(effect), _held_out(held), _evidence(packet)]
    return (*claimed, _checks(checks), _conflicts(conflicts), _reach(reach))


def _effect(effect: Effect) -> Glance:
    drawing = mini(effect.estimate)
    tone = "" if drawing is None else "good" if drawing.away else "warn"
    return Glance(_("Odds ratio"), effect.ratio, effect.interval, "#effect", tone, drawing)


def _held_out(held: HeldOut) -> Glance:
    note = ngettext("on {n} held-out group", "on {n} held-out groups", held.groups).format(n=held.groups)
    tone = "good" if held.verdict == "confirmed" else "warn"
    return Glance(_("Seen again"), _(HELD_OUT_WORDS[held.verdict]), note, "#effect", tone)


def _evidence(packet: dict[str, Any]) -> Glance:
    _all, support, counter = groups_of(packet)
    value = _("{support} for, {counter} against").format(support=support, counter=counter)
    return Glance(_("Independent groups"), value, _("some of each cited below"), "#evidence")


def _checks(checks: Sequence[Check]) -> Glance:
    failing = sum(check.verdict == "fail" for check in checks)
    looks = sum(not check.passed for check in checks) - failing
    passed = sum(check.passed and check.badge != "n/a" for check in checks)
    note = ngettext("{n} passes", "{n} pass", passed).format(n=passed)
    if failing:
        value = ngettext("{n} fails", "{n} fail", failing).format(n=failing)
        return Glance(_("Checks"), value, note, "#checks", "bad")
    if looks:
        value = ngettext("{n} to look at", "{n} to look at", looks).format(n=looks)
        return Glance(_("Checks"), value, note, "#checks", "warn")
    if not checks:
        return Glance(_("Checks"), _("none ran"), "", "#checks", "warn")
    return Glance(
        _("Checks"), _("all pass"), ngettext("{n} check", "{n} checks", passed).format(n=passed), "#checks", "good"
    )


def _conflicts(conflicts: Sequence[ConflictView]) -> Glance:
    many = sum(not conflict.standing for conflict in conflicts)
    if not many:
        return Glance(_("Conflicts"), _("none open"), "", "#conflicts", "good")
    return Glance(_("Conflicts"), _("{n} open").format(n=many), "", "#conflicts", "warn")


def _reach(reach: ReachView) -> Glance:
    return Glance(_("Reach"), reach.count, _("sessions in {n} days").format(n=DAYS), "#reach")
