"""Two candidates that say one thing become one: what its packet then holds, and which pairs are likely. Pure.

The text and the figures stay those of the one that is kept, for a comparison is of one claim. The evidence is both's. A
packet names how many groups there are, of which it cites some, so that of two packets together no more is known than
this: there are at least as many groups as in either, and as many as both cite by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from tasks.cluster.kin import Worded, reworded
from tasks.cluster.kin import overlap as overlap_of
from tasks.conflict.claims import compare
from tasks.conflict.scopes import overlap
from tasks.conflict.sides import as_claim
from tasks.contrast.predicate import Predicate

MOST_OFFERED = 8
LIKENESS = ("duplicate", "overlap", "same-calls", "shared-calls", "alike-words")
"""Why a candidate may be a duplicate, the best reason first; the first two are open conflicts that a night found."""
COUNTS = "of all that were merged here, a group counted once; there may be more, as not every run is cited"
CARRIED = ("support", "counter", "independent_groups", "principals", "read", "tainted", "stale")
"""What of another packet's evidence is kept, so that a night can put the two together again."""


class Link(NamedTuple):
    """One cited run: it counts once for a stance."""

    episode_id: str
    stance: str
    group: str


@dataclass(frozen=True)
class Likely:
    """A candidate that may be a duplicate, and why: one of ``LIKENESS``."""

    id: str
    title: str
    content_hash: str
    why: str


def entry(
    candidate_id: str,
    title: str,
    content_hash: str,
    content: Mapping[str, Any],
    packet: Mapping[str, Any],
    *,
    by: str,
    reason: str,
    at: datetime,
) -> list[dict[str, Any]]:
    """What a packet keeps of a candidate that was merged into it, and of those merged into that one before."""
    evidence = packet.get("evidence") or {}
    mine = {
        "id": candidate_id,
        "title": title,
        "content_hash": content_hash,
        "predicate": content.get("predicate"),
        "also_worded": list(packet.get("also_worded") or []),
        "evidence": {name: evidence.get(name) for name in CARRIED if evidence.get(name)},
        "by": by,
        "reason": reason,
        "at": at.isoformat(timespec="seconds"),
    }
    return [mine, *(packet.get("merged") or [])]


def united(mine: Iterable[Link], theirs: Iterable[Link]) -> list[Link]:
    """Those of the others that are not among mine by episode and stance."""
    known = {(one.episode_id, one.stance) for one in mine}
    found: dict[tuple[str, str], Link] = {}
    for one in theirs:
        if (one.episode_id, one.stance) not in known:
            found.setdefault((one.episode_id, one.stance), one)
    return list(found.values())


def merged_packet(
    packet: Mapping[str, Any], merged: Sequence[Mapping[str, Any]], links: Iterable[Link]
) -> dict[str, Any]:
    """The packet of the one that is kept, with what was merged into it. Its effect is not touched.

    Args:
        packet: with the evidence of its own claim alone.
        merged: one entry for each that was merged.
        links: what is cited by all of them together.
    """
    if not merged:
        return {name: value for name, value in packet.items() if name != "merged"}
    gone = {f"candidate:{one['id']}" for one in merged}
    return {
        **packet,
        "also_worded": _worded(packet, merged),
        "conflicts": [row for row in packet.get("conflicts") or [] if row.get("with") not in gone],
        "evidence": _evidence(packet.get("evidence") or {}, [one.get("evidence") or {} for one in merged], links),
        "merged": [dict(one) for one in merged],
    }


def _worded(packet: Mapping[str, Any], merged: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = list(packet.get("also_worded") or [])
    for one in merged:
        for predicate in (one.get("predicate"), *(one.get("also_worded") or ())):
            if predicate and predicate not in found:
                found.append(dict(predicate))
    return found


def _evidence(mine: Mapping[str, Any], theirs: Sequence[Mapping[str, Any]], links: Iterable[Link]) -> dict[str, Any]:
    cited = list(links)
    against = {one.group for one in cited if one.stance == "counter"}
    support = {one.group for one in cited} - against
    known = {"support": len(support), "counter": len(against), "independent_groups": len(support | against)}
    every = [mine, *theirs]
    counts = {
        name: max([known.get(name, 0), *(int(one.get(name) or 0) for one in every)])
        for name in ("support", "counter", "independent_groups", "principals")
    }
    read = sorted({(str(rule), int(number)) for one in every for rule, number in one.get("read") or ()})
    return {
        **mine,
        **counts,
        "groups": {"support": sorted(support), "counter": sorted(against)},
        "read": [list(key) for key in read],
        "tainted": sorted({name for one in every for name in one.get("tainted") or ()}),
        "stale": sorted({name for one in every for name in one.get("stale") or ()}),
        "counts": COUNTS,
    }


def why_not(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Why two contents cannot be one; empty where they may be."""
    if not overlap(one.get("scope") or {}, other.get("scope") or {}):
        return "no run could fall under the scope of both, so that they are no duplicates"
    found = compare(as_claim("candidate:left", one), as_claim("candidate:right", other))
    if found is not None and found.kind in ("contradiction", "supersession"):
        return "they ask for opposite things: that is a conflict to resolve, and no duplicate"
    return ""


@dataclass(frozen=True)
class Said:
    """What a candidate claims and says, as it is compared with others."""

    predicate: Predicate | None
    worded: Worded

    def likeness(self, other: Said) -> str:
        """Why the other may be a duplicate, by what it speaks of or by its words; empty where nothing says so."""
        mine, theirs = (set(one.predicate.calls) if one.predicate else set() for one in (self, other))
        if mine and mine == theirs:
            return "same-calls"
        if self.predicate and other.predicate and overlap_of(self.predicate, other.predicate):
            return "shared-calls"
        has_words = self.worded.grams and other.worded.grams
        return "alike-words" if has_words and reworded(self.worded, other.worded) else ""
