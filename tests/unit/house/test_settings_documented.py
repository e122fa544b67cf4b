"""Every setting is documented, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

from storage.settings import Settings

ROW = re.compile(r"^\| `SLOWWAVE_([A-Z_]+)` \| (?P<default>[^|]*) \| (?P<says>.*) \|$", re.MULTILINE)


def test_settings_and_their_page_name_the_same_things(root: Path) -> None:
    documented = ROW.findall((root / "docs" / "settings.md").read_text())
    assert [name.lower() for name, _, _ in documented] == list(Settings.model_fields)


def test_the_page_says_what_the_code_says(root: Path) -> None:
    for name, _, says in ROW.findall((root / "docs" / "settings.md").read_text()):
        described = Settings.model_fields[name.lower()].description or ""
        assert says == described, f"SLOWWAVE_{name}"
