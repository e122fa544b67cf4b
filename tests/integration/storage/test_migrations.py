"""Migrations: head equals the models, and each revision goes up and down with data in the tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.script import ScriptDirectory
from sqlmodel import SQLModel

from storage import audit, migrate
from storage.engine import Database
from storage.queries import episodes as queries
from storage.tables import Candidate
from support import rows
from tasks.stage.columns import glance_of

REVISIONS = [script.revision for script in reversed(list(ScriptDirectory(str(migrate.SCRIPTS)).walk_revisions()))]


def tables(database: Database) -> set[str]:
    return set(sa.inspect(database.engine).get_table_names()) - {"alembic_version"}


def columns(database: Database) -> set[str]:
    found = sa.inspect(database.engine)
    return {f"{table}.{column['name']}" for table in tables(database) for column in found.get_columns(table)}


def test_the_newest_revision_is_what_the_models_say(database: Database) -> None:
    migrate.check(database)
    assert tables(database) == set(SQLModel.metadata.tables)


def test_a_migrated_store_is_at_the_newest_revision(database: Database) -> None:
    assert migrate.current(database) == migrate.head(database) == REVISIONS[-1]


def test_an_empty_store_has_no_revision(empty_database: Database) -> None:
    assert migrate.current(empty_database) is None


def test_upgrading_twice_changes_nothing(empty_database: Database) -> None:
    migrate.upgrade(empty_database)
    before = tables(empty_database)
    migrate.upgrade(empty_database)
    assert tables(empty_database) == before


def test_each_revision_goes_up_down_and_up_again(empty_database: Database) -> None:
    before = columns(empty_database)
    for revision in REVISIONS:
        migrate.upgrade(empty_database, revision)
        at = columns(empty_database)
        migrate.downgrade(empty_database, "-1")
        assert columns(empty_database) == before < at, revision
        migrate.upgrade(empty_database, revision)
        assert columns(empty_database) == at, revision
        before = at


def test_data_of_earlier_revisions_survives_the_way_down_and_up(empty_database: Database) -> None:
    migrate.upgrade(empty_database)
    with empty_database.write() as session:
        rows.promoted(session)
        rows.add(session, rows.user(), rows.run())
        rows.with_body(session, "ep-1", {"id": "ep-1", "steps": []})
        audit.record(session, actor="rosa", action="test", now=rows.AT)
    for revision in reversed(REVISIONS[1:]):
        migrate.downgrade(empty_database, "-1")
        assert migrate.current(empty_database) != revision
        assert _count(empty_database, "namespace") == 1
    migrate.upgrade(empty_database)
    assert _count(empty_database, "namespace") == 1
    with empty_database.read() as session:
        assert audit.verify(session).ok  # the head row is there again


def test_letters_from_before_know_where_they_came_from(empty_database: Database) -> None:
    migrate.upgrade(empty_database, "0005")
    with empty_database.write() as session:
        connection = session.connection()
        connection.exec_driver_sql(
            "INSERT INTO namespace (path, epoch, policy, created_at) VALUES ('lab', 0, '{}', '2026-11-30 01:00:00')"
        )
        for number, file in enumerate(("/runs/a.jsonl.gz", "/runs/b.jsonl", "c.jsonl", "request")):
            connection.exec_driver_sql(
                "INSERT INTO dead_letter (id, namespace, record_hash, file, reason, principal, at) VALUES "
                f"('l{number}', 'lab', 'h{number}', '{file}', 'bad', 'ops', '2026-11-30 01:00:00')"
            )
    migrate.upgrade(empty_database)
    with empty_database.read() as session:
        letters = sorted(queries.dead_letters(session, "lab"), key=lambda each: each.id)
    assert [each.source_scope for each in letters] == ["/runs/a.jsonl", "/runs/b.jsonl", "", ""]
    assert [each.principal_capped for each in letters] == [False, False, False, True]
    assert {(each.attempts, each.tried_at == each.at, each.resolution) for each in letters} == {(1, True, None)}


def test_the_way_down_ends_with_nothing(empty_database: Database) -> None:
    migrate.upgrade(empty_database)
    migrate.downgrade(empty_database, "base")
    assert tables(empty_database) == set()


def test_migrations_import_nothing_of_ours() -> None:
    """A landed migration stays readable and runnable when the code moves on."""
    for file in (migrate.SCRIPTS / "versions").glob("*.py"):
        assert "storage" not in file.read_text(), file.name


def _count(database: Database, table: str) -> int:
    with database.read() as session:
        return int(session.connection().exec_driver_sql(f'SELECT count(*) FROM "{table}"').scalar_one())


def test_what_waited_before_shows_what_is_wrong_with_it_at_once_and_claims_no_reach(empty_database: Database) -> None:
    migrate.upgrade(empty_database, "0007")
    checks = '{"checks": [{"verdict": "fail"}, {"verdict": "warn"}, {"verdict": "warn"}, {"verdict": "pass"}]}'
    kept = {"a": checks, "b": "{}", "c": '{"checks": null}'}
    with empty_database.write() as session:
        connection = session.connection()
        connection.exec_driver_sql(
            "INSERT INTO namespace (path, epoch, policy, created_at) VALUES ('lab', 0, '{}', '2026-11-30 01:00:00')"
        )
        for name, packet in kept.items():
            connection.exec_driver_sql(
                "INSERT INTO candidate (namespace, id, kind, state, tier, tier_why, number, content_hash, packet_hash, "
                "title, predicate_id, revoked_before, rank, created_at, updated_at) VALUES ('lab', "
                f"'{name}', 'rule', 'staged', 'standard', '', 2, 'h', 'p', 't', '{name}', false, 1, "
                "'2026-11-30 01:00:00', '2026-11-30 01:00:00')"
            )
            for number, held in ((1, checks), (2, packet)):
                connection.exec_driver_sql(
                    "INSERT INTO candidate_revision (namespace, candidate_id, number, content, content_hash, packet, "
                    "packet_hash, author, drafter, mode, inputs, prompt_hash, cost, created_at) VALUES ('lab', "
                    f"'{name}', {number}, '{{}}', 'h', '{held}', 'p', 'd', 'd', 'none', '[]', 'n', '{{}}', "
                    "'2026-11-30 01:00:00')"
                )
    migrate.upgrade(empty_database)
    with empty_database.read() as session:
        rows = session.execute(sa.text("SELECT id, failing, warning, reach, why_now FROM candidate ORDER BY id")).all()
    assert [tuple(row) for row in rows] == [("a", 1, 2, -1, ""), ("b", 0, 0, -1, ""), ("c", 0, 0, -1, "")]


def test_what_a_row_of_the_queue_shows_is_filled_in_for_what_waits_already(empty_database: Database) -> None:
    packet = {"effect": {"odds_ratio": 0.1, "low": 0.05, "high": None, "strata": 4}, "forced": True}
    migrate.upgrade(empty_database)
    with empty_database.write() as session:
        rows.add(session, rows.namespace(), rows.candidate(number=2))
        rows.add(session, rows.revision(number=1), rows.revision(number=2, packet=packet))
    migrate.downgrade(empty_database, "0009")
    migrate.upgrade(empty_database)
    with empty_database.read() as session:
        (kept,) = session.exec(sa.select(Candidate.__table__.c.glance)).one()  # type: ignore[attr-defined]
    assert kept == glance_of(packet) == {"effect": {"odds_ratio": 0.1, "low": 0.05, "high": None}, "forced": True}
