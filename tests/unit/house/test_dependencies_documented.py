"""Every dependency of both distributions has its line of why."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

OURS = {"slowwave", "slowwave-client"}


def test_each_dependency_has_one_line_of_why(root: Path) -> None:
    asked = _asked(root / "pyproject.toml") | _asked(root / "client" / "pyproject.toml")
    lines = re.findall(r"^\| `([^`]+)` \|", (root / "docs" / "dependencies.md").read_text(), re.MULTILINE)
    assert sorted(set(lines)) == sorted(asked - OURS)


def _asked(file: Path) -> set[str]:
    project = tomllib.loads(file.read_text())["project"]
    groups = [project["dependencies"], *project.get("optional-dependencies", {}).values()]
    return {re.split(r"[\[<>=~;! ]", line)[0].lower() for group in groups for line in group}
