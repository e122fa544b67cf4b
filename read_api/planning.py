"""From an epoch read in the database to what an answer will hold, on an index that is no older."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlmodel import Session

from read_api.auth import known
from read_api.disagreements import Conflicts, Pair, pairs_on_shelf, told
from read_api.indexes import Index, Indexes
from read_api.schemas import WithheldOut
from read_api.selection import Asker, Choice, choose, with_other_sides
from read_api.shelf import Shelf
from read_api.site import Site
from read_api.sources import Source
from storage.queries.answering import Servable, servable

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """What may be served, best first, as far as each is still active when its exposure is written.

    ``rows`` are as the store has them, whatever the index was made of.
    """

    epoch: int
    choice: Choice
    shelf: Shelf
    rows: list[Servable]
    conflicts: Conflicts


def on_index(site: Site, indexes: Indexes, source: Source, read: Callable[[Session, int, float, Index], T]) -> T:
    """``read(session, epoch, holdout, index)``: the epoch first, so that nothing read after it is older than it says.

    One transaction where the index is there; none is held while it is built or moved forward.
    """
    with site.database.read() as session:
        epoch, holdout = known(session, source.namespace)
        index = indexes.ready(source.namespace, epoch)
        if index is not None:
            return read(session, epoch, holdout, index)
    index = indexes.get(source, epoch)
    with site.database.read() as session:
        return read(session, epoch, holdout, index)


def plan_search(
    site: Site, session: Session, epoch: int, index: Index, namespace: str, task: str, asker: Asker
) -> Plan:
    """Choose, bring in the other sides of conflicts, and read what is to be served from the store."""
    shelf = index.shelf
    choice = choose(shelf, index.ranking.scores(task), asker, site.count_tokens)
    pairs = pairs_on_shelf(session, namespace, shelf, choice.served)
    if pairs:
        whole = with_other_sides(choice, _sides(pairs, shelf), shelf, asker, site.count_tokens)
        if whole.served != choice.served:
            pairs = pairs_on_shelf(session, namespace, shelf, whole.served)
        choice = whole
    return planned(session, epoch, index, namespace, choice, pairs)


def planned(
    session: Session, epoch: int, index: Index, namespace: str, choice: Choice, pairs: Iterable[Pair] = ()
) -> Plan:
    """A choice with what the store says of it."""
    keys = [(index.shelf[at].id, index.shelf[at].version) for at in choice.served]
    rows = servable(session, namespace, keys)
    return Plan(epoch, choice, index.shelf, [rows[key] for key in keys if key in rows], told(pairs, set(keys)))


def withheld_of(shelf: Shelf, withheld: Sequence[tuple[int, str]]) -> list[WithheldOut]:
    """What was left out, as agents are told."""
    return [WithheldOut(id=shelf[at].id, version=shelf[at].version, reason=reason) for at, reason in withheld]


def _sides(pairs: Iterable[Pair], shelf: Shelf) -> dict[int, set[int]]:
    sides: defaultdict[int, set[int]] = defaultdict(set)
    for pair in pairs:
        left, right = shelf.number_of(pair.left[0]), shelf.number_of(pair.right[0])
        if left is not None and right is not None:
            sides[left].add(right)
            sides[right].add(left)
    return dict(sides)
