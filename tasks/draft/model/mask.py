"""Hides the words of rules and drafts wherever an episode repeats them: in a prompt, an answer, a tool's reply.

An agent that was served a rule often has its text in its log. Shown to a drafter it would come back as a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN_WORDS = "[memory read]"
FEWEST_LETTERS = 20
"""A line shorter than this is ordinary speech, not a rule's own words: to hide it would hide what happened."""

_SPACE = r"(?:\s|\\[nrt])+"
"""White space, also as it is escaped inside JSON."""


class Mask:
    """Replaces known lines, whatever their case and spacing."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        kept = {_plain(line).rstrip(".") for line in lines}
        long = [line for line in kept if len(line) >= FEWEST_LETTERS]
        self._lines = sorted(long, key=lambda line: (-len(line), line))

    def over(self, text: str) -> str:
        """``text`` with every known line in it hidden."""
        plain = _plain(text)
        for line in self._lines:
            if line in plain:
                text = re.sub(_SPACE.join(map(re.escape, line.split())), HIDDEN_WORDS, text, flags=re.IGNORECASE)
        return text


def _plain(text: str) -> str:
    return re.sub(_SPACE, " ", text).strip().lower()
