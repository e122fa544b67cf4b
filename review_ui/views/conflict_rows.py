"""The conflicts of one candidate, each with its other side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from review_ui import links
from review_ui.text import shortened
from review_ui.views.packet import Content, conflict_title, packet_conflicts_of
from review_ui.words import _
from storage.tables import Candidate, Conflict


@dataclass(frozen=True)
class Side:
    """What one side says, and how many independent groups speak for it; ``link`` may be empty.

    ``lines`` is its advice; empty where only its title is known.
    """

    heading: str
    title: str
    lines: tuple[str, ...]
    link: str
    support: int


@dataclass(frozen=True)
class ConflictView:
    """Two texts that cannot both be followed. ``standing`` and ``outcome`` tell what a person decided about them.

    Where a night alone speaks of it, there are no sides and there is no page.
    """

    title: str
    detail: str
    sides: tuple[Side, ...] = ()
    page: str = ""
    standing: str = ""
    outcome: str = ""


def conflicts_of(
    candidate: Candidate, rows: Sequence[Conflict], packet: dict[str, Any], texts: Mapping[str, Content]
) -> tuple[ConflictView, ...]:
    """What is open or was decided by a person; the packet's own words where nothing is stored.

    Args:
        texts: what the two sides say, by ref, as far as it could be read.
    """
    known = tuple(_stored(row, candidate, texts) for row in rows if row.state == "open" or row.resolution)
    return known or tuple(ConflictView(found.name, found.value) for found in packet_conflicts_of(packet))


def _stored(row: Conflict, candidate: Candidate, texts: Mapping[str, Content]) -> ConflictView:
    mine = "left" if row.left_ref == f"candidate:{candidate.id}" else "right"
    theirs = "right" if mine == "left" else "left"
    refs = {"left": row.left_ref, "right": row.right_ref}
    other = refs[theirs]
    title = str((row.sides.get(theirs) or {}).get("title") or other)
    stands = row.resolution in ("both", mine)
    return ConflictView(
        title=conflict_title(row.kind, shortened(title, 200)),
        detail=row.detail,
        sides=(
            _side(_("This one"), refs[mine], row.sides.get(mine), "", texts),
            _side(_("The other"), other, row.sides.get(theirs), ref_link(candidate.namespace, other), texts),
        ),
        page=links.conflict(candidate.namespace, row.id),
        standing=(_("This side stands.") if stands else _("This side was put aside.")) if row.resolution else "",
        outcome=(row.reason or "") if row.resolution else "",
    )


def _side(heading: str, ref: str, kept: object, link: str, texts: Mapping[str, Content]) -> Side:
    said = kept if isinstance(kept, dict) else {}
    support, text = said.get("support"), texts.get(ref)
    return Side(
        heading=heading,
        title=text.when_to_use if text else str(said.get("title") or ref),
        lines=text.guidance if text else (),
        link=link,
        support=support if isinstance(support, int) else 0,
    )


def ref_link(namespace: str, ref: str) -> str:
    """Where ``candidate:<id>`` or ``rule:<id>@<version>`` is shown; empty for anything else."""
    kind, _colon, name = ref.partition(":")
    if kind == "candidate":
        return links.candidate(namespace, name)
    if kind == "rule":
        return links.rule(namespace, name.rpartition("@")[0] or name)
    return ""
