"""Secrets are taken out at the door: replaced by their kind, counted, never logged and never stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tasks.ingest.secret_rules import SECRET_NAME, SecretRule, rules

VERSION = 1
_MARK = "[redacted:{}]"
_NAMED = "secret-by-name"


class Redactor:
    """Redacts strings anywhere inside a JSON value. Reusable; holds nothing between calls."""

    version = VERSION

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        """``patterns`` are regular expressions of the policy; group 1, where there is one, is what is secret.

        Raises:
            BadPattern: if one does not compile.
        """
        self._rules = rules(patterns)
        self._hints = sorted({hint for rule in self._rules for hint in rule.hints})

    def redact(self, value: Any) -> tuple[Any, dict[str, int]]:
        """``value`` without secrets, and how many of each kind were taken out."""
        counts: Counter[str] = Counter()
        likely = self._likely("\x1f".join(_strings(value)))
        return self._walk(value, likely, counts), dict(counts)

    def redact_text(self, text: str) -> tuple[str, dict[str, int]]:
        """The same for one string."""
        counts: Counter[str] = Counter()
        return _apply(text, self._likely(text), counts), dict(counts)

    def _likely(self, text: str) -> list[SecretRule]:
        """The rules whose hints appear: one search over everything spares the patterns nearly all of the work."""
        lowered = text.lower()
        present = {hint for hint in self._hints if hint in lowered}
        return [rule for rule in self._rules if not rule.hints or not present.isdisjoint(rule.hints)]

    def _walk(self, value: Any, likely: list[SecretRule], counts: Counter[str], name: str = "") -> Any:
        if isinstance(value, str):
            if name and value and SECRET_NAME.match(name) and not value.startswith("[redacted:"):
                counts[_NAMED] += 1
                return _MARK.format(_NAMED)
            return _apply(value, likely, counts)
        if isinstance(value, dict):
            return {_apply(key, likely, counts): self._walk(child, likely, counts, key) for key, child in value.items()}
        if isinstance(value, list):
            return [self._walk(child, likely, counts, name) for child in value]
        return value


def _apply(text: str, likely: list[SecretRule], counts: Counter[str]) -> str:
    if len(text) < 6:
        return text
    lowered = text.lower()
    for rule in likely:
        if rule.hints and not any(hint in lowered for hint in rule.hints):
            continue
        text = _apply_one(text, rule, counts)
    return text


def _apply_one(text: str, rule: SecretRule, counts: Counter[str]) -> str:
    pieces, last = [], 0
    for match in rule.pattern.finditer(text):
        start, end = _secret_span(match)
        if start == end or text.startswith("[redacted:", start):
            continue
        pieces += [text[last:start], _MARK.format(rule.kind)]
        last = end
        counts[rule.kind] += 1
    return "".join([*pieces, text[last:]]) if pieces else text


def _secret_span(match: Any) -> tuple[int, int]:
    """The first group's span where a pattern has one that took part and is the secret, else the whole match."""
    if match.re.groups == 1 and match.group(1) and len(match.group(1)) >= 6:
        return int(match.start(1)), int(match.end(1))
    return int(match.start()), int(match.end())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield key
            yield from _strings(child)
    elif isinstance(value, list):
        for child in value:
            yield from _strings(child)
