"""The commands that the guides tell people to type are there, with the options they are given."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer.main

from worker.cli.root import app

LINE = re.compile(r"^ {4}.*?(?<![\w/-])(?:\.venv/bin/)?slowwave ([a-z].*)$", re.MULTILINE)
INLINE = re.compile(r"`slowwave ([a-z][^`]*)`")
ENDS = ("|", "&&", ">", ">>")
ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def commands(text: str) -> list[list[str]]:
    """Each as words, without comments and what comes after a pipe or a redirection."""
    split = [shlex.split(each, comments=True) for each in (*LINE.findall(text), *INLINE.findall(text))]
    return [list(takewhile(lambda word: word not in ENDS, words)) for words in split]


def fault(words: list[str]) -> str | None:
    """What is wrong with a command line."""
    command: Any = typer.main.get_command(app)
    rest = list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        command = command.commands[rest.pop(0)]
    if command.name == app.info.name or (hasattr(command, "commands") and rest and not rest[0].startswith("-")):
        return f"no such command: {' '.join(words)}"
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    unknown = [each for each in rest if re.match(r"--?[a-z]", each) and each.split("=")[0] not in {*known, "--help"}]
    return f"{' '.join(words)}: no option {unknown}" if unknown else None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_guide_is_there(page: Path) -> None:
    assert [wrong for each in commands(page.read_text()) if (wrong := fault(each))] == []


def test_a_command_or_option_that_is_not_there_is_noticed() -> None:
    wrong = "    slowwave dream -n a\n    .venv/bin/slowwave runs --nap\n`slowwave policy sat x`\n"
    assert [fault(each) is None for each in commands(wrong)] == [False] * 3
    assert fault(*commands("    slowwave runs -n a | jq --nap  # --nap\n")) is None
    assert sum(len(commands(page.read_text())) for page in PAGES) > 40
