"""Fixtures for every test. Servers come from wheels and are real; nothing here needs Docker or a system package."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = [
    "support.full", "support.servers", "support.stores", "support.process_nodes", "support.local", "support.browser",
    "support.model_server", "support.roles",
]  # fmt: skip

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def samples() -> Path:
    """Folder of real sample episodes, which are not part of the project: SLOWWAVE_SAMPLES, or beside the checkout."""
    given = os.environ.get("SLOWWAVE_SAMPLES")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no sample episodes at {folder}: set SLOWWAVE_SAMPLES to a folder that holds them")
    return folder
