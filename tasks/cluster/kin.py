"""Kin of a claim: the rules whose readers are its echoes. Pure.

A run that was exposed to a rule is never support for the rule's kin: the same rule, its ancestors and descendants in
lineage, a rewording, an overlapping predicate. Exposure is what the server wrote, what the run itself claims, or the
rule's text found in the run; each can only take support away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from tasks.contrast.predicate import Predicate, shown_name, tool_of

VersionKey = tuple[str, int]
"""Rule id and version number."""

REWORDED = 0.5
"""Shared part (Jaccard) of two texts' letter 3-grams from which one is a rewording of the other."""
FOUND = 0.6
"""Part of a line's word 3-shingles that must be there, in their order, for the line to be found."""
SHORTEST = 5
"""Words below which a line may be met by chance; one less where the line names two things: "Call `a` before `b`"."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af"
_TOKENS = re.compile(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")
_HIDDEN = re.compile("[\U000e0100-\U000e01ef\ufe00-\ufe0f\u202a-\u202e\u2066-\u2069\u200b-\u200f\u00ad\u034f\u3164]")
_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_BREAKS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
_CODE = re.compile(r"`([^`\n]{1,200})`|\b(\w*[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|\w+(?:[.:/-]\w+)*\d[\w.]*)")


@dataclass(frozen=True)
class Worded:
    """A text as it is compared: what it names, and its letter 3-grams."""

    names: frozenset[str]
    grams: frozenset[str]

    @staticmethod
    def of(lines: Sequence[str]) -> Worded:
        """Prepare a text."""
        text = "".join(tokens(" ".join(lines)))
        return Worded(names_in(lines), frozenset(text[at : at + 3] for at in range(max(0, len(text) - 2))))


@dataclass(frozen=True)
class Told:
    """What one promoted version tells: its predicate (None if a machine cannot check it) and the lines agents read.

    ``promoted_at`` says from when on a run may have met its text; None for always.
    """

    key: VersionKey
    predicate: Predicate | None
    lines: tuple[str, ...]
    promoted_at: datetime | None = None

    @cached_property
    def worded(self) -> Worded:
        """Its text, prepared for comparing."""
        return Worded.of(self.lines)

    @cached_property
    def calls(self) -> frozenset[str]:
        """The calls its predicate speaks of."""
        return frozenset(self.predicate.calls) if self.predicate else frozenset()


@dataclass(frozen=True)
class Promoted:
    """Every version ever promoted in a namespace, with the closure of its lineage: version to ancestors."""

    told: tuple[Told, ...] = ()
    ancestors: Mapping[VersionKey, Collection[VersionKey]] = field(default_factory=dict)

    def near(self, predicate: Predicate) -> Iterable[Told]:
        """The versions that share a call or a name with a predicate, or predicate the very same."""
        keys: set[Any] = {predicate.undirected(), *predicate.calls, *map(_plain, predicate.calls)}
        return {id(one): one for key in keys for one in self._by_what.get(key, ())}.values()

    @cached_property
    def _by_what(self) -> Mapping[Any, list[Told]]:
        found: dict[Any, list[Told]] = {}
        for one in self.told:
            same = {one.predicate.undirected()} if one.predicate else set()
            for key in {*same, *one.calls, *one.worded.names}:
                found.setdefault(key, []).append(one)
        return found


def kin_of(predicate: Predicate | None, rules: Promoted, lines: Sequence[str] = ()) -> frozenset[VersionKey]:
    """The versions whose readers are echoes of a claim.

    Args:
        lines: the claim's own text, where it has one already: a rewording is found by it, whatever it predicates.
    """
    direct: set[VersionKey] = set()
    if predicate is not None:
        direct |= {one.key for one in rules.near(predicate) if _is_kin(predicate, one)}
    if lines:
        mine = Worded.of(lines)
        direct |= {one.key for one in rules.told if reworded(mine, one.worded)}
    if not direct:
        return frozenset()
    # Another version of the same rule is the same rule.
    named = {rule_id for rule_id, _ in direct}
    direct |= {one.key for one in rules.told if one.key[0] in named}
    above = {ancestor for key in direct for ancestor in rules.ancestors.get(key, ())}
    below = {key for key, found in rules.ancestors.items() if not direct.isdisjoint(found)}
    return frozenset(direct | above | below)


def overlap(one: Predicate, two: Predicate) -> bool:
    """Whether two predicates may be one rule in other words, or one follows from the other being obeyed.

    The calls of the one are among the other's, or both ask for the same call to come first.
    """
    if one.undirected() == two.undirected() or _asked_first(one) & _asked_first(two):
        return True
    left, right = set(one.calls), set(two.calls)
    return bool(left and right) and (left <= right or right <= left)


def _asked_first(predicate: Predicate) -> frozenset[str]:
    """The call that a claim about an order wants first; either, as long as it has no direction."""
    match predicate.kind:
        case "missing-check":
            return frozenset(predicate.parts[:1])
        case "order":
            wanted = {"do": predicate.parts[:1], "avoid": predicate.parts[1:], None: predicate.parts}
            return frozenset(wanted[predicate.direction])
        case _:
            return frozenset()


def _is_kin(predicate: Predicate, told: Told) -> bool:
    """By predicate, or since the rule's text names every call that the predicate speaks of."""
    if told.predicate is not None and overlap(predicate, told.predicate):
        return True
    return bool(predicate.calls) and {_plain(call) for call in predicate.calls} <= told.worded.names


def names_in(lines: Iterable[str]) -> frozenset[str]:
    """What a text names rather than says: what is set as code, and words that only code would spell."""
    found = {a or b for line in lines for a, b in _CODE.findall(line)}
    return frozenset(_plain(name) for name in found)


def _plain(call: str) -> str:
    """A name as it is compared: as texts show it, without the mark of who called."""
    return " ".join(shown_name(tool_of(call)).casefold().split())


def reworded(one: Worded, two: Worded) -> bool:
    """Alike in letters, and not about different things: drafters word unlike claims alike but for the names in them."""
    if one.names and two.names and one.names.isdisjoint(two.names):
        return False
    shared = len(one.grams & two.grams)
    return shared >= REWORDED * max(1, len(one.grams) + len(two.grams) - shared)


def tokens(text: str) -> list[str]:
    """Words, and single letters of scripts without spaces; case, width, punctuation and hidden characters levelled."""
    folded = text.casefold()
    if folded.isascii():
        return folded.translate(_BREAKS).split()
    folded = _HIDDEN.sub("", folded.translate(_TAGS))
    return _TOKENS.findall(unicodedata.normalize("NFKC", folded).casefold())


Shingle = tuple[str, ...]


@dataclass(frozen=True)
class _Line:
    key: VersionKey
    names: frozenset[str]
    shingles: frozenset[Shingle]
    since: datetime | None
    owners: frozenset[str]
    """Ids of the rules that say it in the same words."""


class RuleTexts:
    """The lines of promoted rules, prepared for being looked for in many episodes.

    A line that several rules share is credited to those of them of which a line of their own stands there too, and else
    to all: what may have been read can only take support away. Built once a step; a look costs the words of the
    episode, and some microseconds for every hundred lines.
    """

    def __init__(self, told: Iterable[Told]) -> None:
        self._lines = list(_lines(told))
        words = sorted({word for line in self._lines for shingle in line.shingles for word in shingle})
        self._place = {word: at for at, word in enumerate(words)}
        self._has = np.zeros((len(words), len(self._lines)), np.uint16)
        for column, line in enumerate(self._lines):
            self._has[[self._place[word] for shingle in line.shingles for word in shingle], column] = 1
        self._enough = np.ceil(FOUND * self._has.sum(axis=0))

    def found_in(self, texts: Iterable[str], arrived: datetime | None = None) -> frozenset[VersionKey]:
        """The versions of which a line stands, near-verbatim, in these texts.

        Args:
            arrived: when the run came in. What was promoted later it cannot have read: a rule may be worded like the
                runs that it was made from.
        """
        if not self._lines:
            return frozenset()
        said = tokens(" \n ".join(texts))
        known = [self._place[word] for word in self._place.keys() & set(said)]
        likely = np.flatnonzero(self._has[known].sum(axis=0) >= self._enough)
        if not likely.size:
            return frozenset()
        there, words = _shingles(said), set(said)
        lines = [
            line
            for line in (self._lines[at] for at in likely.tolist())
            if line.names <= words and _stands(line, there) and not (arrived and line.since and line.since > arrived)
        ]
        surely = {line.key[0] for line in lines if len(line.owners) == 1}
        return frozenset(line.key for line in lines if line.key[0] in surely or surely.isdisjoint(line.owners))


def texts_found(body: Mapping[str, Any], rules: RuleTexts, arrived: datetime | None = None) -> frozenset[VersionKey]:
    """The versions whose text stands in the steps of a stored episode body, whoever put it there."""
    return rules.found_in(texts_of(body), arrived)


def texts_of(body: Mapping[str, Any]) -> Iterable[str]:
    """Every text of a body's steps: what was said, what was read from memory, and the arguments of calls."""
    for step in body.get("steps") or ():
        for part in (step.get("text"), step.get("snapshot"), step.get("raw_arguments")):
            if part:
                yield part if isinstance(part, str) else str(part)
        if arguments := step.get("arguments"):
            yield from (value for value in arguments.values() if isinstance(value, str))


def _stands(line: _Line, there: frozenset[Shingle]) -> bool:
    return len(line.shingles & there) >= FOUND * len(line.shingles)


def _shingles(words: Sequence[str]) -> frozenset[Shingle]:
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _lines(told: Iterable[Told]) -> Iterable[_Line]:
    said = [(one, line, tuple(tokens(line))) for one in told for line in one.lines]
    owners: dict[tuple[str, ...], set[str]] = {}
    for one, _, words in said:
        owners.setdefault(words, set()).add(one.key[0])
    for one, line, words in said:
        named = names_in([line])
        if len(words) >= SHORTEST - (len(named) > 1):
            names = frozenset(word for name in named for word in tokens(name))
            yield _Line(one.key, names, _shingles(words), one.promoted_at, frozenset(owners[words]))
