"""A tool call as acts, whoever's tool it is: shells by the programs they run, other tools by name and file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from tasks.contrast.predicate import agent_call
from tasks.contrast.recoveries.shell import LONGEST_ACT, Act, Script, parse_command
from tasks.ingest.episode import Step

SHELL_TOOLS = frozenset({
    "bash", "shell", "sh", "zsh", "shell_command", "exec_command", "container.exec", "local_shell", "run_terminal_cmd",
    "run_command", "execute_bash", "execute_command", "terminal", "run_shell_command", "powershell",
    "user_shell_command",
})  # fmt: skip
EDITOR_WORDS = frozenset({
    "edit", "open", "create", "goto", "scroll_down", "scroll_up", "submit", "insert", "append", "search_dir",
    "search_file", "find_file", "str_replace", "undo_edit",
})  # fmt: skip
"""Commands of an agent's own editor, written like a shell's."""
COMMAND_ARGUMENTS = ("command", "cmd", "script")
PLACE_ARGUMENTS = (
    "file_path", "path", "filename", "file", "notebook_path", "absolute_path", "target_file", "url", "uri",
)  # fmt: skip
PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.M)

EDITS = frozenset({
    "edit", "multiedit", "write", "notebookedit", "apply_patch", "create", "insert", "append", "str_replace",
    "str_replace_editor", "str_replace_based_edit_tool", "edit_file", "write_file", "replace", "sed", "tee", "cat",
})  # fmt: skip
"""Acts that may change any text: what they did is in their arguments, so their name alone says nothing."""


def script_of(step: Step) -> Script:
    """The acts of one call, in order. A tool that is no shell is one act, and sure of its result."""
    command = _command(step)
    if command is not None:
        return parse_command(command)
    act = _tool_act(step)
    return Script((act,), certain=True, alone=True)


def is_shell(step: Step) -> bool:
    """Whether the call is a command line."""
    return _command(step) is not None


def changes_text(key: str) -> bool:
    """Whether an act of this name edits files at will."""
    return re.split(r"[ :.]", key.casefold())[0] in EDITS


def _command(step: Step) -> str | list[str] | None:
    arguments = step.arguments or {}
    name = (step.name or "").casefold()
    given = next((arguments[key] for key in COMMAND_ARGUMENTS if arguments.get(key)), None)
    if given is None and step.raw_arguments and name in SHELL_TOOLS:
        given = step.raw_arguments
    if isinstance(given, list):
        given = [str(word) for word in given]
    elif not isinstance(given, str):
        return None
    if name in SHELL_TOOLS:
        return given
    first = given.split(maxsplit=1)[:1] if isinstance(given, str) else given[:1]
    # Some logs name a call by the first word of its command line.
    return given if first == [step.name] and name not in EDITOR_WORDS else None


def _tool_act(step: Step) -> Act:
    arguments = step.arguments or {}
    name, given = str(step.name), arguments.get("command")
    key = agent_call(name)
    if isinstance(given, str):
        if re.fullmatch(r"[a-z][a-z_]{1,30}", given):
            key = agent_call(f"{name}:{given}")
        elif given.split(maxsplit=1)[:1] == [name]:
            words = given.splitlines()[0].split()
            place = words[1].strip("\"'") if name in ("open", "create") and len(words) > 1 else ""
            return _named(name, {_base(place)} if place else set())
    places = {_base(str(arguments[key])) for key in PLACE_ARGUMENTS if isinstance(arguments.get(key), str)}
    places |= {_base(place) for place in PATCHED.findall(_patch(step, arguments))}
    return _named(key, places - {""})


def _patch(step: Step, arguments: Mapping[str, Any]) -> str:
    for text in (arguments.get("input"), arguments.get("patch"), step.raw_arguments):
        if isinstance(text, str) and "*** " in text:
            return text
    return ""


def _named(key: str, places: set[str]) -> Act:
    fine = f"{key} {min(places)}" if len(places) == 1 else None
    return Act(key, fine if fine and len(fine) <= LONGEST_ACT else None, frozenset(places), frozenset())


def _base(place: str) -> str:
    return PurePosixPath(place.strip().split("?")[0]).name
