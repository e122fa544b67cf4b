"""One history out of many that repeat it: each span of a model tells the whole conversation again, and a little more.

What a span tells is laid along what is known, in order; what matches is the same item, and the rest is new. Order
decides, so the same words said twice stay two.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from tasks.ingest.importers.parts.otel_align import align, same_call
from tasks.ingest.importers.parts.otel_items import Item
from tasks.ingest.importers.parts.otel_tools import ToolUse


@dataclass
class History:
    """What is known of a conversation. ``kin`` gives the other spans, by number, that tell of a span's operation."""

    kin: Callable[[int], frozenset[int]]
    items: list[Item] = field(default_factory=list)
    _marks: set[Hashable] = field(default_factory=set)
    _said_by: dict[int, list[Item]] = field(default_factory=dict)
    _unclaimed: dict[int, Item] = field(default_factory=dict)
    _waiting: dict[int, Item] = field(default_factory=dict)
    _calls: dict[str, list[Item]] = field(default_factory=dict)
    _call_of: dict[int, Item] = field(default_factory=dict)
    _result_of: dict[int, Item] = field(default_factory=dict)
    _budget: list[int] = field(default_factory=lambda: [0])

    def hear(self, told: list[Item], at: int | None, fresh: bool = False) -> Item | None:
        """What a span was told, and the item that was its last. All of it may be known already.

        A ``fresh`` one, the first of a later trace, brings a turn of its own: a last word of the user that was said
        before was said again.
        """
        maybe = [any(mark in self._marks for mark in _marks_wanted(item)) for item in told]
        known = align(told, self.items, maybe, self._budget)
        if fresh and told and told[-1].kind == "user" and len(known) == len(told):
            del known[len(told) - 1]
        placed = self._lay(told, known, at, self._elsewhere(told, known))
        return placed[-1] if placed else None

    def answer(self, said: list[Item], after: Item | None, at: int | None, by: int, agent: str | None) -> None:
        """What a span said ``after`` what it was told.

        Its words are known only where a span around it or within it said them, or where nobody is known to have said
        them: two operations that say the same said it twice.
        """
        told = 1 + max((place for place, item in enumerate(said) if item.kind in ("user", "system")), default=-1)
        if told:
            # An agent's output may be the whole conversation: what comes before its last question was not said now.
            after, said = self.hear(said[:told], at), said[told:]
        theirs = {id(item) for other in self.kin(by) for item in self._said_by.get(other, ())}
        open_to = theirs | self._unclaimed.keys()
        known: dict[int, Item] = {}
        if said and open_to:
            place = next((at for at in range(len(self.items) - 1, -1, -1) if self.items[at] is after), -1)
            eligible = [item for item in self.items[place + 1 :] if id(item) in open_to]
            known = align(said, eligible, [True] * len(said), self._budget)
        mine = self._lay(said, known, at, self._elsewhere(said, known, unclaimed=True))
        self._said_by.setdefault(by, []).extend(mine)
        for item in mine:
            self._unclaimed.pop(id(item), None)
            item.agent = item.agent or agent

    def begin(self, use: ToolUse, at: int | None, by: int, agent: str | None) -> Item:
        """The call that an execution belongs to; one that no message told of is new."""
        told = Item("call", name=use.name, call_id=use.call_id, arguments=use.arguments, at=at, agent=agent)
        call = self._own_call(told, by) or self._waiting_call(told)
        if call is None:
            call = told
            self.items.append(told)
            self._note(told)
        self._call_of[by] = call
        self._waiting.pop(id(call), None)
        self._fill(call, told)
        return call

    def finish(self, call: Item, use: ToolUse, at: int | None, agent: str | None) -> None:
        """What an execution returned; where a message told of it already the fuller text stays."""
        told = Item("result", use.result or "", call_id=call.call_id, name=use.name, is_error=use.is_error, at=at)
        known = self._result_of.get(id(call))
        if known is not None:
            self._fill(known, told)
        elif use.result is not None or use.is_error is not None:
            told.call, told.agent = call, agent
            self.items.append(told)
            self._note(told)

    def _own_call(self, told: Item, by: int) -> Item | None:
        """The call of another telling of this execution: a span around it or within it, of the same tool."""
        calls = (self._call_of.get(other) for other in sorted(self.kin(by), reverse=True))
        return next((call for call in calls if call is not None and same_call(call, told)), None)

    def _waiting_call(self, told: Item) -> Item | None:
        """A call that no execution belongs to yet: of the same id, else the oldest that asks the same."""
        waiting = self._waiting.values()
        named = [item for item in waiting if told.call_id is not None and item.call_id == told.call_id]
        same = next((item for item in named if same_call(item, told)), None)
        # An id says more than arguments, which a library may write with its defaults filled in.
        same = same or next((item for item in named if None in (item.name, told.name) or item.name == told.name), None)
        return same or next((item for item in waiting if same_call(item, told)), None)

    def _elsewhere(self, told: list[Item], known: dict[int, Item], unclaimed: bool = False) -> dict[int, Item]:
        """What is known at another place of the history than its order says.

        A call may have begun before it was asked for, by the clocks: its id tells. Calls side by side are told in one
        order and end in another: their results are known by their calls.
        """
        taken = {id(item) for item in known.values()}
        stands = {id(told[position]): item for position, item in known.items()}
        found: dict[int, Item] = {}
        for position, item in enumerate(told):
            if position in known or item.kind not in ("call", "result"):
                continue
            if item.kind == "call":
                calls = reversed(self._calls.get(item.call_id or "", []))
                able = (call for call in calls if not unclaimed or id(call) in self._unclaimed)
                match = next((call for call in able if id(call) not in taken and same_call(call, item)), None)
            else:
                match = self._result_of.get(id(stands.get(id(item.call))))
            if match is not None and id(match) not in taken:
                found[position] = stands[id(item)] = match
                taken.add(id(match))
        return found

    def _lay(
        self, told: list[Item], known: dict[int, Item], at: int | None, elsewhere: dict[int, Item] | None = None
    ) -> list[Item]:
        """Add what is new of ``told`` at its place; the items of the history that stand for it, in its order."""
        elsewhere = elsewhere or {}
        had_system = "system" in self._marks
        placed: list[Item] = []
        held_back: list[Item] = []
        pending: list[Item] = []
        inserts: list[tuple[Item, list[Item]]] = []
        for position, item in enumerate(told):
            match = known.get(position) or elsewhere.get(position)
            if match is None:
                item.at = at
                # Instructions that changed count from here on, not from the beginning.
                (held_back if item.kind == "system" and had_system else pending).append(item)
            else:
                self._fill(match, item)
                if pending and position in known:
                    inserts.append((match, pending))
                    pending = []
            placed.append(item if match is None else match)
        self._insert(inserts)
        self.items += [*held_back, *pending]
        self._relink(told, placed)
        for item, held in zip(told, placed, strict=True):
            if item is held:
                self._note(item)
        return placed

    def _insert(self, inserts: list[tuple[Item, list[Item]]]) -> None:
        if inserts:
            where = {id(item): position for position, item in enumerate(self.items)}
            for before, items in reversed(inserts):
                self.items[where[id(before)] : where[id(before)]] = items

    def _relink(self, told: list[Item], placed: list[Item]) -> None:
        """Results of this telling belong to the calls that stand for its calls."""
        stands = {id(item): held for item, held in zip(told, placed, strict=True)}
        for item, held in zip(told, placed, strict=True):
            if item.call is not None and (held is item or held.call is None):
                held.call = stands.get(id(item.call), item.call)
                self._result_of.setdefault(id(held.call), held)

    def _note(self, item: Item) -> None:
        """A new item, and all that it may be found by."""
        self._marks.update(_marks_given(item))
        if item.kind == "call":
            self._waiting[id(item)] = item
            if item.call_id is not None:
                self._calls.setdefault(item.call_id, []).append(item)
        if item.kind not in ("user", "system"):
            self._unclaimed[id(item)] = item
        if item.kind == "result" and item.call is not None:
            self._result_of.setdefault(id(item.call), item)

    def _fill(self, known: Item, told: Item) -> None:
        """What another telling adds to a known item."""
        known.with_calls = known.with_calls or told.with_calls
        known.call_id = known.call_id or told.call_id
        known.name = known.name or told.name
        if known.kind == "result":
            if len(told.words) > len(known.words):
                known.rewrite(text=told.text)
            known.is_error = known.is_error if told.is_error is None or known.is_error else told.is_error
        elif known.kind == "call" and (known.asked is None or (told.is_object and not known.is_object)):
            known.rewrite(arguments=told.arguments)
        self._marks.update(_marks_given(known))


def _marks_given(item: Item) -> Iterable[Hashable]:
    """What an item may be found by."""
    if item.kind == "call":
        yield "call", "id", item.call_id
        yield "call", "name", item.name
        if item.call_id is None or item.name is None:
            yield "call", "any", item.name if item.call_id is None else None
    elif item.kind == "result":
        yield "result", "id", item.call_id
        yield "result", "words", item.words
        yield "result"
    else:
        yield item.kind
        yield item.kind, item.words


def _marks_wanted(item: Item) -> Iterator[Hashable]:
    """What an item is looked for by: where nothing bears such a mark, nothing can be the same."""
    if item.kind == "call":
        yield "call", "any", item.name
        yield "call", "any", None
        if item.call_id is None:
            yield "call", "name", item.name
        else:
            yield "call", "id", item.call_id
    elif item.kind == "result":
        yield "result", "words", item.words
        if item.call_id is None:
            yield "result"
        else:
            yield "result", "id", item.call_id
            yield "result", "id", None
    else:
        yield item.kind, item.words
