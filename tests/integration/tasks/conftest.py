"""A desk with three reviewers on each database."""

from __future__ import annotations

from datetime import datetime

import pytest

from storage.engine import Database
from support.reviewing import Desk


@pytest.fixture
def desk(database: Database, now: datetime, secret: bytes) -> Desk:
    return Desk(database, now, secret).open("ana", "bo", "cy")
