"""Secrets are taken out at the door: replaced by their kind, counted, never logged and never stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from tasks.ingest.jsontext import JsonFault, canonical_bytes, parse
from tasks.ingest.linear import SHORTEST, AnyOf, as_bytes
from tasks.ingest.secret_rules import LEAST_SECRET_NUMBER, SECRET_NAME, SECRET_NUMBER_NAME, Finder, policy_rule, rules

VERSION = 2
_MARK = "[redacted:{}]"
_NAMED = "secret-by-name"
_POLICY = "policy-pattern"
_LONGEST_NAME = 100
# Between the texts of a record: no letter, digit or space, so that no pattern sees less than in each text alone.
_BETWEEN = "\x1f"
# A pattern that says where a text begins or ends cannot be asked of many texts put together.
_ANCHORS = re.compile(r"[\^$]|\\[AZB]")
_ESCAPED = re.compile(r"(\\[nrtbf])")


class Redactor:
    """Redacts strings anywhere inside a JSON value. Reusable; holds nothing between calls."""

    version = VERSION

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        """``patterns`` are regular expressions of the policy; group 1, where there is one, is what is secret.

        Raises:
            BadPattern: if one does not compile, or not for an engine that runs in linear time.
        """
        self._patterns = tuple(patterns)
        self._policy = [policy_rule(pattern) for pattern in self._patterns]
        self._anchored = any(_ANCHORS.search(pattern) for pattern in self._patterns)

    def __reduce__(self) -> tuple[type[Redactor], tuple[tuple[str, ...]]]:
        """In another process the patterns are compiled anew."""
        return Redactor, (self._patterns,)

    def redact(self, value: Any) -> tuple[Any, dict[str, int]]:
        """``value`` without secrets, and how many of each kind were taken out. What holds none comes back as it is."""
        texts: list[str] = []
        if not _gather(value, texts) and not self._may_hold_one(texts):
            return value, {}
        counts: Counter[str] = Counter()
        return self._walk(value, counts), dict(counts)

    def redact_text(self, text: str) -> tuple[str, dict[str, int]]:
        """The same for one string."""
        counts: Counter[str] = Counter()
        return self._apply(text, counts), dict(counts)

    def redact_bytes(self, data: bytes) -> bytes:
        """The same for a record that was refused: by its keys where it is JSON, and by its text in any case.

        Without a secret it comes back to the byte.
        """
        try:
            clean, counts = self.redact(parse(data).value)
        except JsonFault:
            counts = {}
        text = (canonical_bytes(clean) if counts else data).decode("utf-8", "replace")
        whole, _ = self.redact_text(text)
        # In a text as it is written a line ends in a backslash and a letter, which hides where words begin.
        parts = "".join(self.redact_text(part)[0] for part in _ESCAPED.split(whole))
        return parts.encode("utf-8", "replace") if counts or parts != text else data

    def _may_hold_one(self, texts: list[str]) -> bool:
        """Whether any pattern may match: one search over everything spares nearly all records all of the rest."""
        if self._anchored or _gates().always:
            return True
        data = as_bytes(_BETWEEN.join(texts))
        return _gates().any.is_in(data) or any(pattern.is_in(data) for pattern in self._policy)

    def _walk(self, value: Any, counts: Counter[str], name: str = "") -> Any:
        if isinstance(value, str):
            if name and value and _names_a_secret(name) and not value.startswith("[redacted:"):
                counts[_NAMED] += 1
                return _MARK.format(_NAMED)
            return self._apply(value, counts)
        if isinstance(value, dict):
            return {self._apply(key, counts): self._walk(child, counts, key) for key, child in value.items()}
        if isinstance(value, list):
            return [self._walk(child, counts, name) for child in value]
        if name and _is_secret_number(value, name):
            counts[_NAMED] += 1
            return _MARK.format(_NAMED)
        return value

    def _apply(self, text: str, counts: Counter[str]) -> str:
        if len(text) < SHORTEST:
            return text
        text = _apply_built_in(text, counts)
        for pattern in self._policy:
            text = _apply_one(text, _POLICY, pattern, counts)
        return text


class _Gates:
    """The built-in rules and what tells which of them to try."""

    def __init__(self) -> None:
        self.rules = rules()
        self.always = {number for number, rule in enumerate(self.rules) if rule.gate is None}
        self._gated = [number for number, rule in enumerate(self.rules) if rule.gate is not None]
        self.any = AnyOf([rule.gate for rule in self.rules if rule.gate is not None])

    def likely(self, text: str) -> set[int]:
        """The numbers of the rules that may match."""
        data = as_bytes(text)
        if not self.any.is_in(data):
            return self.always
        return self.always | {self._gated[found] for found in self.any.which(data)}


@lru_cache(maxsize=1)
def _gates() -> _Gates:
    return _Gates()


def _apply_built_in(text: str, counts: Counter[str]) -> str:
    gates = _gates()
    likely = gates.likely(text)
    if not likely:
        return text
    for number, rule in enumerate(gates.rules):
        if number in likely:
            before, text = text, _apply_one(text, rule.kind, rule.finder, counts)
            if text is not before:
                likely = gates.likely(text)  # a mark ends a word: what it leaves may be a secret of another kind
    return text


def _apply_one(text: str, kind: str, finder: Finder, counts: Counter[str]) -> str:
    pieces, last = [], 0
    for start, end in finder.spans(text):
        if start == end or text.startswith("[redacted:", start):
            continue
        pieces += [text[last:start], _MARK.format(kind)]
        last = end
        counts[kind] += 1
    return "".join([*pieces, text[last:]]) if pieces else text


def _gather(value: Any, texts: list[str]) -> bool:
    """Add every string within to ``texts``; whether a key names a secret."""
    named = False
    if isinstance(value, dict):
        texts += value
        named = any(map(_names_a_secret, value))
        value = value.values()
    elif not isinstance(value, list):
        value = (value,)
    for child in value:
        if isinstance(child, str):
            texts.append(child)
        elif isinstance(child, dict | list):
            named = _gather(child, texts) or named
    return named


def _names_a_secret(name: str) -> bool:
    return _named(name) if len(name) <= _LONGEST_NAME else SECRET_NAME.match(name) is not None


def _is_secret_number(value: Any, name: str) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) < LEAST_SECRET_NUMBER:
        return False
    return SECRET_NUMBER_NAME.match(name) is not None


@lru_cache(maxsize=4096)
def _named(name: str) -> bool:
    return SECRET_NAME.match(name) is not None
