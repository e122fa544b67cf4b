"""What is wrong with a database is told apart by its own codes, never by its words."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import sqlalchemy as sa
from psycopg import errors as postgres
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError

from storage.trouble import is_full, trouble_of


def raised(engine: sa.Engine, *statements: str) -> BaseException:
    with pytest.raises(DBAPIError) as caught, engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    return caught.value


def test_a_full_sqlite_file_is_full_and_not_silent() -> None:
    error = raised(
        sa.create_engine("sqlite://"),
        "CREATE TABLE t (x)",
        "PRAGMA max_page_count = 4",
        "INSERT INTO t VALUES (zeroblob(200000))",
    )
    assert trouble_of(error).kind == "full"
    assert "no room left" in trouble_of(error).what


def test_a_statement_that_makes_no_sense_is_a_refusal() -> None:
    assert trouble_of(raised(sa.create_engine("sqlite://"), "SELECT * FROM nowhere")).kind == "failed"


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is a letter to my aunt, and no database at all" * 100)
    assert trouble_of(raised(sa.create_engine(f"sqlite:///{tmp_path}/x.db"), "SELECT * FROM t")).kind == "damaged"


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (postgres.DiskFull(), "full"),
        (postgres.LockNotAvailable(), "busy"),
        (postgres.DeadlockDetected(), "busy"),
        (postgres.ReadOnlySqlTransaction(), "read-only"),
        (postgres.ConnectionTimeout(), "lost"),
        (postgres.AdminShutdown(), "lost"),
    ],
)
def test_what_postgresql_says_by_its_code(cause: Exception, kind: str) -> None:
    assert trouble_of(OperationalError("x", {}, cause)).kind == kind


def test_a_missing_table_of_postgresql_is_a_refusal() -> None:
    assert trouble_of(ProgrammingError("x", {}, postgres.UndefinedTable())).kind == "failed"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_full_whoever_says_so(number: int) -> None:
    assert is_full(OSError(number, "No space left on device"))
    assert not is_full(OSError(errno.EACCES, "Permission denied"))
