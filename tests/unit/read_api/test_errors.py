"""What an agent is told when the store fails: what is wrong, not merely that something is."""

from __future__ import annotations

import json

import pytest
from psycopg import errors as postgres
from sqlalchemy.exc import OperationalError
from starlette.requests import Request

from read_api.errors import _database


def answer(cause: Exception) -> tuple[int, str, str]:
    request = Request({"type": "http", "path": "/v1/episodes", "headers": [], "method": "POST"})
    given = _database(request, OperationalError("INSERT", {}, cause))
    told = json.loads(bytes(given.body))["error"]
    return given.status_code, told["what"], told["what_now"]


def test_a_full_disk_is_not_called_a_database_that_does_not_answer() -> None:
    status, what, now = answer(postgres.DiskFull())
    assert (status, "has no room left" in what, "does not answer" in what) == (503, True, False)
    assert "needs room" in now


@pytest.mark.parametrize("cause", [postgres.AdminShutdown(), Exception("connection refused")])
def test_a_database_that_is_gone_does_not_answer(cause: Exception) -> None:
    status, what, now = answer(cause)
    assert (status, "does not answer" in what, "in a moment" in now) == (503, True, True)
