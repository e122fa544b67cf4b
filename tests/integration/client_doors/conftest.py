"""A real server of the agents' side with a promoted rule, as beside this; the doors of other frameworks lead to it."""

from __future__ import annotations

import pytest

from storage.engine import Database

from ..read_api.conftest import (
    SPACE,
    Connected,
    TokenMaker,
    address,
    connected,
    desk,
    found,
    make_token,
    now,
    rows,
    rule_id,
    serving,
    settings,
)

__all__ = ["SPACE", "Connected", "TokenMaker", "address", "connected", "desk", "found", "make_token", "now", "rows",
           "rule_id", "serving", "settings"]  # fmt: skip


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """These doors see no database; what the server does on each of them is tested where it is."""
    return sqlite_database
