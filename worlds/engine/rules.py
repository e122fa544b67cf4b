"""How a memory-reading scripted agent gets rules and what it makes of them.

It understands a rule by its predicate where there is one, else by the tool names in its guidance. It is a reader for
experiments: it follows what it understands, right or wrong, and judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from worlds.engine.habits import Choice, Predicate

_WORD = re.compile(r"[A-Za-z0-9_-]+")
_NEGATIVE = re.compile(r"\b(avoid|do not|don't|never|not|stop|rather than|instead of|without)\b", re.IGNORECASE)


@runtime_checkable
class Memory(Protocol):
    """Whatever answers with rules: the published client, or a list wrapped in :class:`FixedMemory`."""

    def rules(self, task: str, *, environment: Mapping[str, str], session_id: str) -> Sequence[Any]:
        """Rules for this task, best first, as mappings or objects with the fields of :class:`Rule`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as the agent received it."""

    id: str
    version: int
    when_to_use: str
    guidance: tuple[str, ...]
    predicate: Predicate | None = None

    @property
    def text(self) -> str:
        return "\n".join((self.when_to_use, *self.guidance))


@dataclass(frozen=True, slots=True)
class Advice:
    """Take or leave one choice, and the position of the rule that said so."""

    take: bool
    rule: int


class FixedMemory:
    """The same rules for every task."""

    def __init__(self, rules: Iterable[Any]) -> None:
        self._rules = tuple(as_rule(rule) for rule in rules)

    def rules(self, task: str, *, environment: Mapping[str, str], session_id: str) -> Sequence[Rule]:
        del task, environment, session_id
        return self._rules


def as_rule(value: Any) -> Rule:
    """``value`` (a mapping, or an object with the same field names) as a rule.

    Raises:
        ValueError: it has no id.
    """
    if isinstance(value, Rule):
        return value
    fields = value if isinstance(value, Mapping) else {name: getattr(value, name, None) for name in _FIELDS}
    if not fields.get("id"):
        raise ValueError(f"a rule needs an id, and this one has none: {value!r}")
    return Rule(
        id=str(fields["id"]),
        version=int(fields.get("version") or 1),
        when_to_use=str(fields.get("when_to_use") or ""),
        guidance=tuple(str(line) for line in fields.get("guidance") or ()),
        predicate=fields.get("predicate"),
    )


_FIELDS = ("id", "version", "when_to_use", "guidance", "predicate")


def understand(rules: Sequence[Rule], choices: Iterable[Choice]) -> dict[str, Advice]:
    """What the rules say about each choice. Rules come best first, so the first that speaks is followed."""
    advice: dict[str, Advice] = {}
    for choice in choices:
        for position, rule in enumerate(rules):
            take = _verdict(rule, choice)
            if take is not None:
                advice[choice.id] = Advice(take, position)
                break
    return advice


def _verdict(rule: Rule, choice: Choice) -> bool | None:
    if rule.predicate is not None and rule.predicate.get("direction") in ("do", "avoid"):
        side = choice.side(rule.predicate)
        return None if side is None else side == (rule.predicate["direction"] == "do")
    for line in rule.guidance:
        heard = _heard(line, choice)
        if heard is not None:
            return heard
    return None


def _heard(line: str, choice: Choice) -> bool | None:
    """Take or leave, from the most specific predicate of ``choice`` whose every name stands in ``line``."""
    words = _WORD.findall(line)
    best: tuple[int, bool] | None = None
    for side, predicates in ((True, choice.taken), (False, choice.untaken)):
        for predicate in predicates:
            wanted = _wants(line, words, predicate)
            names = len(predicate)
            if wanted is not None and (best is None or names > best[0]):
                best = (names, side == wanted)
    return None if best is None else best[1]


def _wants(line: str, words: list[str], predicate: Predicate) -> bool | None:
    """Whether ``line`` wants ``predicate`` to hold; None if the line is not about it."""
    names = [value for key, value in predicate.items() if key not in ("kind", "argument", "error")]
    if not all(name in words for name in names):
        return None
    negative = _NEGATIVE.search(line) is not None
    kind = predicate["kind"]
    if kind == "order":
        return _in_order(line, predicate["first"], predicate["then"]) != negative
    if kind == "missing-check":
        return not _in_order(line, predicate["check"], predicate["before"])
    if kind == "loop":
        return None if "repeat" not in line.lower() else not negative
    return not negative


def _in_order(line: str, first: str, then: str) -> bool:
    """Whether the sentence puts ``first`` first. "Before B, call A" says so as much as "call A before B" does."""
    as_written = line.index(first) < line.index(then)
    opens_with_before = line.lstrip(" -*").lower().startswith("before")
    return as_written != opens_with_before
