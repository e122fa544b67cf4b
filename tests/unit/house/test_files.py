"""Files stay small enough to be read in one go."""

from __future__ import annotations

from pathlib import Path

import pytest

LONGEST = 500
FOLDERS = ("worker", "tasks", "storage", "review_ui", "read_api", "client", "worlds", "benchmarks", "docs", "tests")
KINDS = {".py", ".html", ".css", ".js", ".md", ".sh", ".mako"}


def test_no_file_is_longer_than_500_lines(root: Path) -> None:
    files = [file for folder in FOLDERS for file in (root / folder).rglob("*") if file.suffix in KINDS]
    assert len(files) > 100
    lines = {str(file.relative_to(root)): file.read_text().count("\n") for file in files}
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_folder_that_the_readme_names_is_there(root: Path, folder: str) -> None:
    assert (root / folder).is_dir()
    assert f"{folder}/" in (root / "README.md").read_text()
