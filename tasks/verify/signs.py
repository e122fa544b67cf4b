"""Signs of hidden text and of orders to the reader. Signs mark; they decide nothing, and nothing is stripped.

Filters of this kind miss most attacks: the gate is the person. What is caught here is shown to that person.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""C0 and C1 controls but tab and line feed: a terminal or a model may obey what no page shows."""

HIDDEN = re.compile(
    "[\U000e0000-\U000e007f\U000e0100-\U000e01ef\ufe00-\ufe0e\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u00ad\u034f\u3164]"
)
"""Tag characters, variation selectors but the emoji one, bidi controls, zero-width and filler characters."""

JOINERS = re.compile("[\u200c\u200d\ufe0f]")
"""Ordinary in emoji and in several scripts; a sign only between Latin letters."""

ORDERS = (
    (
        "asks to ignore instructions",
        r"\b(ignore|disregard|forget|override)\b.{0,40}\b(previous|prior|above|earlier|all|your|system)\b.{0,20}"
        r"\b(instruction|prompt|rule|guideline|polic)",
    ),
    (
        "forges a delimiter",
        r"(</?(system|assistant|user|instructions?|information|important|tool_result)>|<\|im_(start|end)\|>|\[/?INST\]"
        r"|^\s*#{2,}\s*(system|instruction))",
    ),
    (
        "claims authority",
        r"\b(security|compliance|legal|admin\w*|it|safety)\b (team|department|policy|office)\b.{0,60}"
        r"\b(require|mandate|instruct|order|demand)",
    ),
    (
        "gives new instructions",
        r"\b(new|updated|real|actual)\b (system )?(instructions?|directive|task)\b\s*(:|are|is)",
    ),
    ("speaks to the model", r"\b(as an ai|you are now|from now on,? you|you must now|do anything now)\b"),
    (
        "asks for secrecy",
        r"\b(do not|don't|never|without)\b.{0,20}\b(tell|mention|reveal|inform|telling|mentioning)\b.{0,30}"
        r"\b(user|customer|anyone|human|operator)",
    ),
    (
        "asks to be remembered",
        r"\b(remember|memori[sz]e|store|save|add)\b.{0,40}\b(as|in|to|into)\b.{0,15}"
        r"\b(memory|a rule|your rules|long.term)",
    ),
    (
        "asks to send data out",
        r"\b(send|forward|post|upload|transfer|email)\b.{0,60}\b(password|credential|secret|api.?key|token|account)",
    ),
)
PARTS = re.compile(
    r"\b(ignore|disregard|forget|override|previous|prior|instructions?|prompt|guidelines?|remember|memori[sz]e|memory"
    r"|password|credential|secret|api.?key)\b",
    re.IGNORECASE,
)
"""Words that most orders to a reader have one of."""
LONGEST_HINT = 400
_COMPILED = tuple((name, re.compile(pattern, re.IGNORECASE | re.MULTILINE | re.DOTALL)) for name, pattern in ORDERS)
_SHOWN_BREAK = re.compile("[\u240a-\u240d\u241e]")
"""How names show the line breaks in them; an order may start behind one."""
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK")


@dataclass(frozen=True)
class Sign:
    """What was found: its kind, and a few words for the reviewer that name code points, never the hidden text."""

    kind: str
    what: str


def hidden_signs(text: str) -> list[Sign]:
    """Characters that a reader would not see, and words whose letters come from scripts that look alike."""
    found: dict[str, int] = {}
    for match in HIDDEN.finditer(text):
        found[_name(match.group())] = found.get(_name(match.group()), 0) + 1
    for match in CONTROLS.finditer(text.replace("\r\n", "\n")):
        found[_name(match.group())] = found.get(_name(match.group()), 0) + 1
    for match in JOINERS.finditer(text):
        if _between_latin(text, match.start()):
            found[_name(match.group())] = found.get(_name(match.group()), 0) + 1
    signs = [Sign("hidden", f"{name} ({count} times)") for name, count in sorted(found.items())]
    return signs + [Sign("mixed-script", f"a word mixes {' and '.join(scripts)} letters") for scripts in _mixed(text)]


def order_signs(text: str) -> list[Sign]:
    """Phrases that address the reader as instructions do, hidden characters taken out and shown line ends put back."""
    text = _SHOWN_BREAK.sub("\n", text)
    if text.isascii():
        plain = text
    else:
        untagged = "".join(chr(ord(c) - 0xE0000) if 0xE0020 <= ord(c) <= 0xE007E else c for c in text)
        plain = unicodedata.normalize("NFKC", JOINERS.sub("", HIDDEN.sub("", untagged)))
    return [Sign("order", name) for name, pattern in _COMPILED if pattern.search(plain)]


def signs(texts: Iterable[str]) -> list[Sign]:
    """Every distinct sign in some texts, in a fixed order; the texts are joined too, for what is split over them."""
    listed = [text for text in texts if text]
    found = {sign for text in listed for sign in (*hidden_signs(text), *order_signs(text))}
    if len(listed) > 1:
        found |= set(order_signs(" ".join(listed)))
    return sorted(found, key=lambda sign: (sign.kind, sign.what))


def is_hint(text: str) -> bool:
    """Whether a short text has a word of an order in it: several such texts may be one order, split over runs."""
    return len(text) <= LONGEST_HINT and PARTS.search(text) is not None


def split_signs(hints: Sequence[str]) -> list[Sign]:
    """Orders that only show once the hints of several runs are read one after the other."""
    alone = {sign for hint in hints for sign in order_signs(hint)}
    return [sign for sign in order_signs(" ".join(hints)) if sign not in alone]


def _between_latin(text: str, at: int) -> bool:
    sides = text[at - 1 : at] + text[at + 1 : at + 2]
    return len(sides) == 2 and all(_script(char) == "LATIN" for char in sides)


def _mixed(text: str) -> list[tuple[str, ...]]:
    if text.isascii():
        return []
    scripts = {tuple(sorted(set(_scripts_of(word)))) for word in re.findall(r"\w+", text) if not word.isascii()}
    return sorted(found for found in scripts if len(found) > 1)


def _scripts_of(word: str) -> Iterator[str]:
    return (script for char in word if (script := _script(char)) in _SCRIPTS)


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0] if char.isalpha() else ""


def _name(char: str) -> str:
    code = ord(char)
    if 0xE0000 <= code <= 0xE007F:
        return "tag characters"
    unnamed = "control" if CONTROLS.fullmatch(char) else "unnamed"
    return f"U+{code:04X} {unicodedata.name(char, unnamed).lower()}"
