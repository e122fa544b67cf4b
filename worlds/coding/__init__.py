"""Coding sessions with errors, retries and no outcomes: which recoveries are planted in them is known.

The shapes are those of three harnesses (Claude Code, Codex, SWE-agent). Beside real cures there are acts that only go
along with them, habits of single agents that help nothing, errors that pass by themselves when tried again, bugs that
only free editing cures, and one session that was recorded several times.
"""

from worlds.coding.errors import TROUBLES, Cure, Trouble
from worlds.coding.grade import Found, Grade, grade
from worlds.coding.sessions import planted, sessions

__all__ = ["TROUBLES", "Cure", "Found", "Grade", "Trouble", "grade", "planted", "sessions"]
