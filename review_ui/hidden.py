"""Characters that hide, reorder or impersonate text, and where they are innocent.

Nothing is stripped: what an agent would receive is shown as it is, with the invisible part written out. Emoji, flags
and the joiners of Arabic or Indic writing are ordinary text; the same characters elsewhere are not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from review_ui.words import N_, _

_HIDDEN_RANGES = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F),                      # controls other than tab and line feed
    (0xAD, 0xAD), (0x034F, 0x034F), (0x061C, 0x061C),              # soft hyphen, grapheme joiner, Arabic letter mark
    (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),          # fillers and selectors that show nothing
    (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F),          # zero width, bidi, invisible operators
    (0x3164, 0x3164), (0xD800, 0xDFFF), (0xFE00, 0xFE0F),          # filler, lone surrogates, variation selectors
    (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB),          # byte order mark, filler, annotations
    (0xE0000, 0xE007F), (0xE0100, 0xE01EF),                        # tags, more variation selectors
)  # fmt: skip
_CLASS = "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in _HIDDEN_RANGES)
_TAGS = re.compile("[\U000e0000-\U000e007f]+")
_HIDDEN = re.compile(f"\r\n|[\U000e0000-\U000e007f]+|[{_CLASS}]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FLAGS = ("gbeng", "gbsct", "gbwls")
_BLACK_FLAG = "\U0001f3f4"
_JOINING = ("ARABIC", "SYRIAC", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "ORIYA", "TAMIL", "TELUGU", "KANNADA",
            "MALAYALAM", "SINHALA", "KHMER", "MYANMAR", "MONGOLIAN")  # fmt: skip
_LOOKALIKE_SCRIPTS = {
    "LATIN": N_("Latin"), "CYRILLIC": N_("Cyrillic"), "GREEK": N_("Greek"), "ARMENIAN": N_("Armenian"),
    "CHEROKEE": N_("Cherokee"), "COPTIC": N_("Coptic"), "FULLWIDTH": N_("Fullwidth"),
    "MATHEMATICAL": N_("Mathematical"),
}  # fmt: skip
_GREEK_LOOKALIKES = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορτυχω")  # δ, λ, μ, Ω beside Latin letters are ordinary notation

_NAMES = {0x00AD: "SOFT HYPHEN", 0x034F: "COMBINING GRAPHEME JOINER", 0x3164: "HANGUL FILLER"}


@dataclass(frozen=True)
class Piece:
    """A run of text: as it is, a hidden character (or run of tags) written out, or a word of mixed scripts."""

    kind: Literal["text", "hidden", "mixed"]
    text: str
    label: str = ""
    why: str = ""


def pieces(text: str) -> Iterator[Piece]:
    """``text`` cut at everything that a reader could not see or would misread; joined, the texts give it back."""
    if text.isascii() and text.isprintable():
        yield Piece("text", text)
        return
    at = 0
    for match in _HIDDEN.finditer(text):
        if _innocent(text, match.start(), match.end()):
            continue
        yield from _words(text[at : match.start()])
        yield _hidden(match.group())
        at = match.end()
    yield from _words(text[at:])


def signs(text: str) -> tuple[int, int]:
    """How many hidden places and how many mixed-script words ``text`` holds."""
    found = [piece.kind for piece in pieces(text)]
    return found.count("hidden"), found.count("mixed")


def _hidden(found: str) -> Piece:
    if len(found) > 1:
        spelled = "".join(chr(ord(char) - 0xE0000) if 0xE0020 <= ord(char) < 0xE007F else "·" for char in found)
        why = _("{n} invisible tag characters").format(n=len(found))
        return Piece("hidden", found, _("tags: {spelled}").format(spelled=spelled), why)
    return Piece("hidden", found, f"U+{ord(found):04X}", f"U+{ord(found):04X} {_name(found)}")


def _name(char: str) -> str:
    return _NAMES.get(ord(char), "") or str(unicodedata.name(char, "CONTROL OR UNASSIGNED CHARACTER"))


def _innocent(text: str, start: int, end: int) -> bool:
    found = text[start:end]
    before, after = text[start - 1 : start], text[end : end + 1]
    if found == "\r\n":
        return True
    if _TAGS.fullmatch(found):
        spelled = "".join(chr(ord(char) - 0xE0000) for char in found[:-1])
        return before == _BLACK_FLAG and found[-1] == "\U000e007f" and spelled in _FLAGS
    if found in "\ufe0e\ufe0f":
        return _takes_style(before, after)
    if found == "\u200d" and _is_emoji(before) and _is_emoji(after):
        return True
    return found in "\u200c\u200d" and _joins(before) and _joins(after)


def _is_emoji(char: str) -> bool:
    """Pictographs, their skin tones and the emoji selector: what a joiner may stand between."""
    return char == "\ufe0f" or (ord(char or " ") > 0x2000 and unicodedata.category(char) in ("So", "Sk"))


def _takes_style(before: str, after: str) -> bool:
    """Pictographs and a few symbols take an emoji or text selector; digits only on their way to a keycap."""
    if before and before in "0123456789#*":
        return after == "\u20e3"
    pictograph = ord(before or " ") > 0x2000 and unicodedata.category(before) in ("So", "Sm")
    return pictograph or (bool(before) and before in "©®‼⁉")


def _joins(char: str) -> bool:
    """Letters and signs of scripts that need joiners to be written."""
    return bool(char) and unicodedata.name(char, "").startswith(_JOINING)


def _words(text: str) -> Iterator[Piece]:
    if not text:
        return
    if text.isascii():
        yield Piece("text", text)
        return
    at = 0
    for match in _WORD.finditer(text):
        scripts = _scripts(match.group())
        if len(scripts) > 1:
            if match.start() > at:
                yield Piece("text", text[at : match.start()])
            yield Piece("mixed", match.group(), " + ".join(map(_, scripts)), _odd_letters(match.group()))
            at = match.end()
    if at < len(text):
        yield Piece("text", text[at:])


def _scripts(word: str) -> list[str]:
    if word.isascii():
        return []
    return sorted({script for char in word if (script := _script(char))})


def _script(char: str) -> str:
    """The script of a letter that could pass for one of another script; empty for all others."""
    if char.isascii():
        return "Latin"
    script = unicodedata.name(char, "").partition(" ")[0]
    if script == "GREEK" and char not in _GREEK_LOOKALIKES:
        return ""
    return _LOOKALIKE_SCRIPTS.get(script, "")


def _odd_letters(word: str) -> str:
    odd = [f"U+{ord(char):04X} {_name(char)}" for char in dict.fromkeys(word) if not char.isascii() and _script(char)]
    return "; ".join(odd[:6])
