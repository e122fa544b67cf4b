"""Patterns in time that grows with the text and not with its shape: Python's syntax, RE2's engine.

RE2 has no backtracking, so no text can make a pattern slow. It also has no back-references and no look-around, and
its ``\\d``, ``\\w`` and ``\\s`` know ASCII only: they are written out here for every alphabet, as Python reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2

SHORTEST = 6
"""No secret is shorter."""
_MEMORY = 64 << 20
_SPACE = r"\s\v\x1c-\x1f\x{85}\p{Z}"
SPACE = f"[{_SPACE}]"
"""What Python's ``\\s`` is, in RE2's words."""
_CLASSES = {"d": r"\p{Nd}", "w": r"\p{L}\p{N}_", "s": _SPACE}
_SURROGATE = re.compile("[\ud800-\udfff]")
_UP_TO = re.compile(r"\{,([0-9]+)\}")
_SCOPED_LINES = re.compile(r"\(\?[a-z]*m")
_WHY = {
    "invalid perl operator": "of what begins with (? there are only (?:…), (?P<name>…) and the flags i, m and s, so no "
    "look-ahead or look-behind: match the whole, and put what is secret into group 1",
    "invalid escape sequence": "back-references such as \\1 are not there: write out what may follow",
    "invalid repetition size": "a repetition may count to 1000 at most: write + or * instead",
    "bad repetition operator": "possessive repetition is not there, and not needed: leave the second + out",
    "pattern too large": "it grows too large: count less in {…}",
}


class NotLinear(ValueError):
    """A regular expression that cannot run in linear time; says why and what to do."""


class Linear:
    """One compiled pattern. Texts may hold anything that Python's do, NUL and lone surrogates too."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        """
        Raises:
            NotLinear: if RE2 cannot run it.
        """
        self.source = translated(pattern, flags)
        self._compiled = _compiled(self.source)

    def is_in(self, data: bytes) -> bool:
        """Whether it matches anywhere in a text's bytes (see ``as_bytes``)."""
        return self._compiled.search(data) is not None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it matches, from left to right: of ``text``, that is, in characters. See ``span_of``."""
        whole = text if text.isascii() else without_surrogates(text)
        return map(span_of, self._compiled.finditer(whole))


class Backtracking:
    """The same on Python's engine: only for patterns of our own choice, whose every repetition is bounded."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """See ``Linear.spans``."""
        return map(span_of, self._pattern.finditer(text))


def span_of(match: re.Match[str]) -> tuple[int, int]:
    """The first group's span where a pattern has one that took part and is long enough, else the whole match."""
    if match.re.groups == 1 and match.end(1) - match.start(1) >= SHORTEST:
        return match.start(1), match.end(1)
    return match.start(), match.end()


class AnyOf:
    """Many patterns in one pass. They are asked for presence only, never for a place."""

    def __init__(self, patterns: list[str]) -> None:
        """``patterns`` are in RE2's own syntax (``Linear.source``)."""
        options = _options()
        self._one = re2.compile("|".join(f"(?:{pattern})" for pattern in patterns), options)
        self._set = re2.Set.SearchSet(options)
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def is_in(self, data: bytes) -> bool:
        """Whether any of them matches."""
        return self._one.search(data) is not None

    def which(self, data: bytes) -> set[int]:
        """The numbers of those that match."""
        return set(self._set.Match(data))


def as_bytes(text: str) -> bytes:
    """UTF-8, which RE2 reads. A lone surrogate has none: the sign for what is unreadable stands in for it."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return without_surrogates(text).encode()


def without_surrogates(text: str) -> str:
    """``text`` with U+FFFD for each lone surrogate, every character in its place."""
    return _SURROGATE.sub("\ufffd", text)


def translated(pattern: str, flags: int = 0) -> str:
    """A pattern of Python's in RE2's words, matching no less.

    Raises:
        NotLinear: if it asks inside of ``[^…]`` for what RE2 would read more narrowly.
    """
    by_line = bool(flags & re.MULTILINE or _SCOPED_LINES.search(pattern))
    marks = "".join(mark for mark, flag in (("i", re.I), ("m", re.M), ("s", re.S)) if flags & flag)
    return (f"(?{marks})" if marks else "") + "".join(_pieces(pattern, by_line))


def _pieces(pattern: str, by_line: bool) -> Iterator[str]:
    at, inside, negated = 0, False, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            yield _escape(pattern[at + 1 : at + 2], pattern[at + 2 : at + 10], inside, negated)
            at += 2 + {"u": 4, "U": 8}.get(pattern[at + 1 : at + 2], 0)
            continue
        if inside:
            inside = char != "]"
            yield "\\[" if char == "[" else char
        elif char == "[":
            negated = pattern.startswith("^", at + 1)
            first = at + 1 + negated
            # A bracket that closes nothing stands for itself.
            literal = pattern.startswith("]", first)
            yield pattern[at:first] + ("\\]" if literal else "")
            at, inside = first + literal - 1, True
        elif char == "{" and (counted := _UP_TO.match(pattern, at)):
            yield f"{{0,{counted[1]}}}"
            at = counted.end() - 1
        else:
            # Python's $ also stands before a last line's end.
            yield r"\n?\z" if char == "$" and not by_line else char
        at += 1


def _escape(char: str, following: str, inside: bool, negated: bool) -> str:
    if char in _CLASSES:
        return _CLASSES[char] if inside else f"[{_CLASSES[char]}]"
    if char.lower() in _CLASSES and char:
        if inside and negated:
            raise NotLinear(f"\\{char} inside of [^…] is not there: write \\{char.lower()} outside of it")
        return f"\\{char}" if inside else f"[^{_CLASSES[char.lower()]}]"
    if char in "uU" and char:
        return f"\\x{{{following[: 4 if char == 'u' else 8]}}}"
    return r"\z" if char == "Z" and not inside else f"\\{char}"


def _compiled(source: str) -> re2._Regexp:
    try:
        return re2.compile(source, _options())
    except re2.error as error:
        said = error.args[0] if error.args else ""
        words = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        why = next((text for start, text in _WHY.items() if words.startswith(start)), words)
        raise NotLinear(why) from None


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    return options
