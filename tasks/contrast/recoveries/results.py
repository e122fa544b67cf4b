"""Whether a call worked: from its exit code, its error flag, or what the tool itself says; never from prose.

Where none of these speaks, nobody knows, and the call counts for nothing.
"""

from __future__ import annotations

import re
from typing import Literal

from tasks.contrast.recoveries.shell import Script

Result = Literal["worked", "failed"]

ANSWERS_WITH_ONE = frozenset({"grep", "egrep", "rg", "ag", "diff", "cmp", "which", "test", "pgrep", "git diff", "expr"})
"""Programs whose exit code 1 is an answer: nothing found, or a difference."""

REFUSED = re.compile(
    r"^(?:<tool_use_error>)?\s*(?:The user doesn't want to (?:proceed|take this action)|\[Request interrupted by user|"
    r"Permission to use \S+ (?:with|has been) |User rejected|Claude requested permissions? )"
)
"""A person stopped the call: it neither worked nor failed."""

FAILED_SAYS = re.compile(
    r"^\s*(?:<tool_use_error>|Your proposed edit has introduced new syntax error|EXECUTION TIMED OUT|"
    r"No replacement was performed|Invalid context \d|"
    r"(?:/bin/)?(?:ba|z|da)?sh: (?:line \d+: |\d+: )?\S+: (?:command not found|not found|Permission denied))"
)
WORKED_SAYS = re.compile(
    r"^\s*(?:Your command ran successfully and did not produce any output|"
    r"The file \S+ has been (?:edited|updated|created) successfully|File created successfully at|"
    r"Text replaced\. Please review|File updated\. Please review|\[File: \S+ \(\d+ lines total\)\])"
)
"""Heads that an agent's own tools write, not the programs they run."""

PYTEST_ENDED = re.compile(r"^=+ .*?\b(\d+ (?:passed|failed|errors?)\b.*) in [\d.:]+s?.* =+\s*$", re.M)


def result_of(exit_code: int | None, is_error: bool | None, text: str, script: Script | None) -> Result | None:
    """What became of a call; None where the record does not say.

    Args:
        script: the programs of a shell command, of which the exit code is the last one's.
    """
    if REFUSED.match(text):
        return None
    if script is not None and script.acts:
        return _of_shell(exit_code, is_error, text, script)
    if is_error is not None:
        return "failed" if is_error else "worked"
    if exit_code is not None:
        return "failed" if exit_code else "worked"
    return _told(text)


def _of_shell(exit_code: int | None, is_error: bool | None, text: str, script: Script) -> Result | None:
    subject = script.acts[-1].key
    if subject == "pytest" and (ended := PYTEST_ENDED.findall(text)):
        return "failed" if re.search(r"\b[1-9]\d* (?:failed|error)", ended[-1]) else "worked"
    if not script.certain:
        return None
    if exit_code is not None:
        if exit_code == 1 and subject.split(" ")[0] in ANSWERS_WITH_ONE | {subject} & ANSWERS_WITH_ONE:
            return None
        return "failed" if exit_code else "worked"
    if is_error is not None:
        return ("failed" if subject not in ANSWERS_WITH_ONE else None) if is_error else "worked"
    return _told(text)


def _told(text: str) -> Result | None:
    if FAILED_SAYS.match(text):
        return "failed"
    return "worked" if WORKED_SAYS.match(text) else None
