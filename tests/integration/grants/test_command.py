"""``slowwave db grants``: puts in place, compares, prints; no password by default, and none in what it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from storage import grants, migrate
from storage.engine import Database
from support.servers import PostgresServer
from worker.cli.root import run

NAME = "granting"
PASSWORD = "a-password-of-tests-0123456789"


@pytest.fixture
def own(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Database]:
    """A database of this test's own, which the command is pointed at."""
    database = Database(postgres_server.create(NAME))
    migrate.upgrade(database)
    monkeypatch.setenv("SLOWWAVE_DATABASE_URL", database.url)
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    yield database
    database.dispose()
    postgres_server.drop(NAME)


def say(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    ended = run(["db", "grants", *arguments])
    out, err = capsys.readouterr()
    assert ended == code, out + err
    return out + err


def execute(database: Database, *statements: str) -> None:
    with database.engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_what_was_put_in_place_is_as_it_should_be_however_often(
    own: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "missing: view namespace" in say(capsys, "--check", code=1)
    assert not grants.applied(own)
    for _ in range(2):
        assert "slowwave_reader: the agents' side" in say(capsys)
        assert "as they should be" in say(capsys, "--check")
    assert grants.applied(own)


DRIFT = [
    ("GRANT SELECT ON public.candidate TO slowwave_reader", "too much: slowwave_reader may SELECT on public.candidate"),
    ("GRANT SELECT (task) ON public.episode TO slowwave_reader", "too much: slowwave_reader may SELECT column task"),
    ("GRANT SELECT ON public.episode TO PUBLIC", "too much: everybody may SELECT on public.episode"),
    ("ALTER VIEW slowwave_reader.episode SET (security_barrier = false)", "missing: view episode has {security"),
    ("DROP TRIGGER slowwave_reader_signs ON public.exposure", "missing: trigger slowwave_reader_signs"),
    ("ALTER TABLE public.episode DISABLE ROW LEVEL SECURITY", "missing: row-level security of episode"),
    ("DROP POLICY slowwave_here ON public.candidate", "missing: policy slowwave_here on candidate"),
    ("ALTER ROLE slowwave_worker BYPASSRLS", "too much: role slowwave_worker: bypassrls"),
    ("GRANT pg_read_all_data TO slowwave_reader", "slowwave_reader is a member of pg_read_all_data"),
    ("REVOKE INSERT ON public.episode FROM slowwave_ingest", "missing: slowwave_ingest may INSERT on public.episode"),
]


def test_what_was_changed_by_hand_is_told_and_put_right(own: Database, capsys: pytest.CaptureFixture[str]) -> None:
    grants.apply(own)
    for statement, told in DRIFT:
        execute(own, statement)
        found = grants.check(own)
        assert any(told in line for line in found), (statement, found)
        assert grants.check(own) == found, "a comparison changes nothing"
        grants.apply(own)
        assert grants.check(own) == [], statement


def test_a_dry_run_prints_what_would_be_run_and_does_nothing(own: Database, capsys: pytest.CaptureFixture[str]) -> None:
    printed = say(capsys, "--dry-run")
    assert printed.startswith("BEGIN;")
    assert "PASSWORD" not in printed
    assert not grants.applied(own)
    assert json.loads(say(capsys, "--dry-run", "--json"))["statements"] == grants.statements(own)


def test_a_password_is_given_by_file_or_environment_and_never_said(
    own: Database, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "roles.txt"
    file.write_text(f"# ours\nslowwave_reader={PASSWORD}\n")
    file.chmod(0o644)
    assert "chmod 600" in say(capsys, "--password-file", str(file), code=2)
    file.chmod(0o600)
    monkeypatch.setenv("SLOWWAVE_WORKER_PASSWORD", PASSWORD)
    told = say(capsys, "--password-file", str(file), "--json")
    assert json.loads(told)["passwords_set"] == ["slowwave_reader", "slowwave_worker"]
    assert PASSWORD not in told
    with own.engine.connect() as connection:
        kept = "SELECT rolname, rolpassword FROM pg_authid WHERE rolname LIKE 'slowwave%%'"
        found = dict(connection.execute(sa.text(kept.replace("%%", "%"))).all())  # type: ignore[arg-type]
    assert found["slowwave_reader"].startswith("SCRAM-SHA-256$")
    assert found["slowwave_ingest"] is None


@pytest.mark.parametrize("line", ["postgres=" + PASSWORD, "nothing", "slowwave_reader=short"])
def test_a_password_file_that_is_wrong_is_refused_without_repeating_it(
    own: Database, capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str
) -> None:
    file = tmp_path / "roles.txt"
    file.write_text(line)
    file.chmod(0o600)
    told = say(capsys, "--password-file", str(file), code=2)
    assert PASSWORD not in told
    assert "=short" not in told


def test_an_upgrade_takes_the_views_out_of_its_way_and_makes_them_anew(
    own: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    grants.apply(own)
    grants.drop_reader(own)
    migrate.downgrade(own, "0008")
    grants_again = grants.applied(own)
    assert not grants_again
    execute(own, "CREATE SCHEMA slowwave_reader", 'CREATE VIEW slowwave_reader.namespace AS TABLE "namespace"')
    capsys.readouterr()
    assert run(["db", "upgrade"]) == 0
    assert "put in place again" in "".join(capsys.readouterr())
    assert grants.check(own) == []


def test_another_role_than_the_owner_changes_nothing(own: Database, capsys: pytest.CaptureFixture[str]) -> None:
    grants.apply(own)
    where = str(sa.make_url(own.url).query["host"])
    with (
        psycopg.connect(host=where, dbname=NAME, user="slowwave_ingest") as stranger,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        stranger.execute("DROP SCHEMA slowwave_reader CASCADE")


def test_a_file_of_sqlite_has_no_roles(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
                                       tmp_path: Path) -> None:  # fmt: skip
    monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
    assert "PostgreSQL" in say(capsys, "--check", code=2)
