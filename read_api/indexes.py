"""The active rules of each namespace in memory: built once, then moved forward by what the events say has changed.

A search reads the epoch in the database first, and asks for an index that is no older. Moving forward reads the outbox
from the index's epoch on, and each version that is named there as the store has it *now*; so a change that is read
twice, or early, does no harm. Where an event is missing, or too many came, the index is built anew. After the last of
what was read the token behind it still has to see the namespace: one that ended sees nothing, which is no index.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from read_api.errors import Busy
from read_api.ranking import Ranking, build
from read_api.shelf import Option, Shelf
from read_api.sources import Source, VersionKey

log = logging.getLogger("slowwave.read_api")

MAX_NAMESPACES = 256
MAX_OPTIONS = 500_000
"""In all namespaces together; the one that was made first goes first."""
MAX_WAITING = 8
"""So many requests may wait for one namespace's index; more would keep other namespaces' from a thread."""
EVENTS = 500
"""Read at once."""
AT_ONCE = 4_000
"""An index of so many is built anew within the request; a larger one behind it."""


@dataclass(frozen=True)
class Index:
    """The active rules of a namespace as of ``epoch`` or newer. A snapshot: it never changes."""

    epoch: int
    shelf: Shelf
    ranking: Ranking
    erased: bool = False

    @property
    def is_worn(self) -> bool:
        """Whether so much was added or is out that building it anew pays, or something of it was erased."""
        return self.erased or self.ranking.moved > 1_000 + len(self.ranking.postings.lengths) // 4


@dataclass
class _Place:
    """What belongs to one namespace. Under ``lock`` its index is made and moved; searches only read ``index``."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0
    index: Index | None = None
    is_rebuilding: bool = False


class Indexes:
    """By namespace. Namespaces do not wait for each other."""

    def __init__(self) -> None:
        self._places: defaultdict[str, _Place] = defaultdict(_Place)
        self._lock = threading.Lock()

    def ready(self, namespace: str, epoch: int) -> Index | None:
        """The index, if there is one that is no older than ``epoch``. Reads nothing, waits for nobody."""
        place = self._places.get(namespace)
        index = place.index if place is not None else None
        return index if index is not None and index.epoch >= epoch else None

    def get(self, source: Source, epoch: int) -> Index:
        """An index that is no older than ``epoch``, which was read in the database before.

        Raises:
            Busy: it is being built, and enough requests wait for it already.
        """
        found = self.ready(source.namespace, epoch)
        if found is not None:
            return found
        with self._lock:
            place = self._places[source.namespace]
            if place.waiting >= MAX_WAITING and place.index is None:
                raise Busy("the rules of this namespace are being read for the first time", "namespace", "ask again")
            place.waiting += 1
        try:
            with place.lock:
                found = self.ready(source.namespace, epoch)
                if found is None:
                    found = (place.index and forward(place.index, source, epoch)) or made(source)
                    place.index = found
        finally:
            with self._lock:
                place.waiting -= 1
                self._make_room(source.namespace)
        self._freshen(place, source, found)
        return found

    def _make_room(self, namespace: str) -> None:
        held = [(name, place) for name, place in self._places.items() if name != namespace and not place.waiting]
        sizes = {name: place.index.shelf.size if place.index else 0 for name, place in self._places.items()}
        for name, _ in held:
            if len(sizes) <= MAX_NAMESPACES and sum(sizes.values()) <= MAX_OPTIONS:
                break
            del self._places[name], sizes[name]

    def _freshen(self, place: _Place, source: Source, index: Index) -> None:
        """Build a worn index anew: at once if that is short, else behind the searches, which use what there is."""
        if not index.is_worn:
            return
        with self._lock:
            if place.is_rebuilding:
                return
            place.is_rebuilding = True
        if index.shelf.size <= AT_ONCE:
            self._rebuild(place, source)
        else:
            threading.Thread(target=self._rebuild, args=(place, source), name="index", daemon=True).start()

    def _rebuild(self, place: _Place, source: Source) -> None:
        try:
            fresh = made(source)
            with place.lock:
                kept = place.index
                if kept is not None and fresh.epoch < kept.epoch:
                    fresh = forward(fresh, source, kept.epoch) or kept
                place.index = fresh
        except Exception as problem:
            log.warning("index.not_rebuilt kind=%s", type(problem).__name__)
        finally:
            place.is_rebuilding = False


def made(source: Source) -> Index:
    """An index of what is active now. Its epoch is read before anything else, so that nothing it lacks is older."""
    epoch = source.epoch()
    shelf, options = Shelf(), []
    for page in source.pages():
        options += page
    shelf = shelf.with_changes((), options)
    source.epoch()
    return Index(epoch, shelf, build(indexed(option.text) for option in options))


def forward(index: Index, source: Source, epoch: int) -> Index | None:
    """The index with everything that happened since; None if the events do not say all of it, or say too much."""
    reached, named, erased = index.epoch, set[VersionKey](), index.erased
    while reached < epoch:
        events = source.events(reached, EVENTS)
        if [event.epoch for event in events] != list(range(reached + 1, reached + 1 + len(events))) or not events:
            return None
        reached = events[-1].epoch
        named.update(key for event in events for key in event.keys)
        erased |= any(event.erases for event in events)
        if len(named) > 1_000 + index.shelf.size // 4:
            return None
    active = source.active(named)
    source.epoch()
    return Index(reached, *_changed(index, named, active), erased)


def _changed(index: Index, named: Iterable[VersionKey], active: Iterable[Option]) -> tuple[Shelf, Ranking]:
    shelf = index.shelf
    now = {(option.id, option.version): option for option in active}
    held = {}
    for rule_id, version in named:
        number = shelf.number_of(rule_id)
        if number is not None and shelf[number].version == version:
            held[rule_id, version] = number
    # What is named and still active comes in anew: an erasure changes a text.
    gone = list(held.values())
    added = sorted(now.values(), key=lambda option: option.id)
    for option in added:  # a rule has one active version: what the store names now takes the place of what is here
        number = shelf.number_of(option.id)
        if number is not None and number not in gone:
            gone.append(number)
    texts = {number: indexed(shelf[number].text) for number in gone}
    ranking = index.ranking.without(texts, [indexed(option.text) for option in added])
    return shelf.with_changes(gone, added), ranking


def indexed(text: str) -> str:
    """The text as it is ranked. Its first line, the condition, counts twice: it says when a rule is wanted."""
    return f"{text.partition(chr(10))[0]}\n{text}"
