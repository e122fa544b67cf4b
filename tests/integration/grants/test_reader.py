"""The agents' role: it sees what the token covers, in whole segments, and by no statement anything else."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql

from storage.grants.reader import VIEWS
from storage.grants.roles import TABLES
from storage.ids import token_hash
from storage.namespaces import namespace_allows

from .conftest import BELOW, MINE, SPACES, STRANGER, Store, connected, mark

Connection = psycopg.Connection[Any]
READABLE = sorted(str(table.__tablename__) for table in VIEWS if table.__tablename__ != "search_miss")
EVERY_TABLE = sorted(str(table.__tablename__) for table in TABLES)
SECRETS = ("staged", "withdrawn", "hidden", "asked", "refused", "side", "error")


def everything(connection: Connection) -> str:
    """All rows of all views, as text."""
    found = []
    for name in READABLE:
        rows = connection.execute(sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier(name))).fetchall()
        found += [f"{name} {row[0]}" for row in rows]
    return "\n".join(found)


def spaces(connection: Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT path FROM namespace")}


def test_the_owner_sees_all_that_is_hidden_from_the_reader(store: Store) -> None:
    with connected(store, "postgres") as owner:
        said = "\n".join(str(row) for name in EVERY_TABLE for row in owner.execute(f'SELECT t::text FROM "{name}" t'))
    for space in SPACES:
        assert all(f"{mark(space)} {word}" in said for word in SECRETS if word != "hidden")
    assert "waiting" in said


def test_a_token_shows_its_namespaces_and_what_is_below_them(reader: Connection) -> None:
    assert spaces(reader) == {MINE, BELOW}
    said = everything(reader)
    assert f"{mark(MINE)} active" in said
    assert f"{mark(BELOW)} active" in said


def test_nothing_of_a_stranger_of_a_like_name_is_seen(store: Store, reader: Connection) -> None:
    assert mark(STRANGER) not in everything(reader)
    with connected(store, "slowwave_reader", token=token_hash(store.tokens[STRANGER])) as other:
        assert spaces(other) == {STRANGER}
        assert mark(MINE) not in everything(other)


def test_no_candidate_no_withdrawn_text_and_no_unpromoted_run_is_seen(reader: Connection) -> None:
    said = everything(reader)
    assert "waiting" not in said
    assert [word for word in SECRETS if f" {word}" in said.replace("episode hidden", "")] == []
    for name in ("episode", "episode_key", "episode_body"):
        found = reader.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name))).fetchall()
        assert {row[1] for row in found} == {"shown"}, name


def test_a_conflict_with_what_is_not_active_is_not_seen(reader: Connection) -> None:
    assert {row[0] for row in reader.execute("SELECT id FROM conflict")} == {"c0"}


@pytest.mark.parametrize("kind", ["revoked", "expired", "disabled", "ingest", "", "garbage", "%", "{}", "','"])
def test_a_token_that_may_not_read_shows_nothing(store: Store, kind: str) -> None:
    said = token_hash(store.tokens[kind]) if kind in store.tokens else kind
    with connected(store, "slowwave_reader", token=said) as connection:
        assert spaces(connection) == set()
        assert "mark-of" not in everything(connection)


def test_without_a_token_nothing_is_seen(store: Store) -> None:
    with connected(store, "slowwave_reader") as connection:
        assert everything(connection) == ""


def test_the_roles_that_may_see_history_see_it(store: Store) -> None:
    with connected(store, "slowwave_reader", token=token_hash(store.tokens["everywhere"])) as connection:
        assert spaces(connection) == set(SPACES)
        assert f"{mark(MINE)} withdrawn" in everything(connection)


def test_several_tokens_show_together_what_each_shows(store: Store) -> None:
    both = ",".join(token_hash(store.tokens[each]) for each in (BELOW, STRANGER))
    with connected(store, "slowwave_reader", token=both) as connection:
        assert spaces(connection) == {BELOW, STRANGER}


def test_one_token_without_history_hides_it_from_all(store: Store) -> None:
    both = ",".join(token_hash(store.tokens[each]) for each in ("everywhere", MINE))
    with connected(store, "slowwave_reader", token=both) as connection:
        assert "withdrawn" not in everything(connection)


@pytest.mark.parametrize(
    "attack", ["SELECT * FROM {}", "COPY {} TO STDOUT", "DELETE FROM {}", "LOCK {}", "TRUNCATE {}"]
)
def test_no_table_may_be_touched(reader: Connection, attack: str) -> None:
    for table in EVERY_TABLE:
        with pytest.raises(errors.InsufficientPrivilege):
            reader.execute(sql.SQL(attack).format(sql.Identifier("public", table)))  # type: ignore[arg-type]
        reader.rollback()


ATTACKS = [
    "SET ROLE postgres",
    "SET SESSION AUTHORIZATION postgres",
    "SET ROLE slowwave_worker",
    "SELECT lo_import('/etc/passwd')",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "COPY (SELECT 1) TO '/tmp/slowwave-attack'",
    "COPY (SELECT 1) TO PROGRAM 'id'",
    "CREATE TEMPORARY TABLE namespace (path text)",
    "CREATE TABLE slowwave_reader.taken (path text)",
    "CREATE TABLE public.taken (path text)",
    "CREATE SCHEMA taken",
    "CREATE FUNCTION pg_temp.leak(text) RETURNS bool LANGUAGE sql AS 'SELECT true'",
    "CREATE OR REPLACE FUNCTION slowwave_reader.granted() RETURNS text[] LANGUAGE sql AS $$ SELECT ARRAY[''] $$",
    "CREATE OR REPLACE VIEW slowwave_reader.namespace AS SELECT 1",
    "ALTER VIEW slowwave_reader.namespace SET (security_barrier = false)",
    "DROP VIEW slowwave_reader.namespace",
    "GRANT SELECT ON public.candidate TO slowwave_reader",
    "ALTER ROLE slowwave_reader SUPERUSER",
    "ALTER ROLE slowwave_reader BYPASSRLS",
    "ALTER TABLE public.candidate DISABLE ROW LEVEL SECURITY",
    "DO $$ DECLARE n int; BEGIN SELECT count(*) INTO n FROM public.candidate; RAISE NOTICE '%', n; END $$",
    "PREPARE p AS SELECT * FROM public.candidate; EXECUTE p",
    "SET search_path = public; SELECT * FROM public.candidate",
    "SELECT slowwave_reader.signs()",
    "SELECT stavalues1 FROM pg_statistic",
    "CREATE EXTENSION dblink",
    "SELECT rolpassword FROM pg_authid",
    "UPDATE namespace SET epoch = 99",
    "UPDATE rule_version SET state = 'active'",
    "UPDATE api_token SET role = 'admin'",
    "UPDATE api_token SET namespaces = '[]'",
    "INSERT INTO outbox_event (namespace, epoch, changes, created_at, attempts) VALUES ('ann', 9, '[]', now(), 0)",
    "INSERT INTO api_token SELECT * FROM api_token",
    "SELECT task FROM search_miss",
    "TABLE public.audit_entry",
    "SELECT query_to_xml('SELECT * FROM public.candidate', true, false, '')",
    "SELECT table_to_xml('public.episode', true, false, '')",
    "SELECT nextval('public.anything')",
]


def test_every_attack_is_refused(reader: Connection) -> None:
    went_through = []
    for attack in ATTACKS:
        try:
            reader.execute(attack)  # type: ignore[call-overload]
            went_through.append(attack)
        except (errors.InsufficientPrivilege, errors.FeatureNotSupported):
            pass
        except psycopg.Error as other:
            went_through.append(f"{attack}: {type(other).__name__} {other}")
        reader.rollback()
    assert went_through == []


LOOKS = (
    "SELECT * FROM pg_stats WHERE schemaname = 'public'",
    "SELECT * FROM pg_largeobject_metadata",
    "SELECT * FROM information_schema.tables WHERE table_schema = 'public'",
    "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%mark-of' || '-ann%'",
    "SELECT * FROM pg_prepared_xacts",
)


def test_what_the_server_tells_of_itself_holds_nothing(store: Store, reader: Connection) -> None:
    with connected(store, "postgres") as owner:
        owner.execute("ANALYZE")
        assert owner.execute("SELECT * FROM pg_stats WHERE schemaname = 'public'").fetchone() is not None
    for look in LOOKS:
        assert reader.execute(look).fetchall() == [], look  # type: ignore[call-overload]


def test_a_condition_is_never_tried_on_a_row_that_is_not_shown(reader: Connection) -> None:
    """An error names the value that it failed on: what a barrier must keep from happening on others' rows."""
    with pytest.raises(errors.InvalidTextRepresentation) as failed:
        reader.execute("SELECT * FROM rule_version WHERE (content ->> 'when_to_use')::int = 1")
    assert mark(STRANGER) not in str(failed.value)
    reader.rollback()
    asked = "SELECT count(*) FROM rule_version WHERE namespace = %s AND (content ->> 'when_to_use')::int = 1"
    assert reader.execute(asked, (STRANGER,)).fetchone() == (0,)
    plan = reader.execute("EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM rule_version").fetchall()
    assert "mark-of" not in str(plan)


def test_another_tokens_row_is_neither_written_nor_changed(reader: Connection) -> None:
    exposure = (
        "INSERT INTO exposure (namespace, id, session_id, token_id, rule_id, version, epoch, position, request_id, at)"
        " VALUES (%s, 'new', 's', %s, 'one', 1, 1, 0, 'r', now())"
    )
    own = reader.execute("SELECT id FROM api_token").fetchone()
    assert own is not None
    with pytest.raises(errors.InsufficientPrivilege, match="another token"):
        reader.execute(exposure, (MINE, "t"))
    reader.rollback()
    with pytest.raises(errors.WithCheckOptionViolation):
        reader.execute(exposure, (STRANGER, own[0]))
    reader.rollback()
    with pytest.raises(errors.InsufficientPrivilege, match="another token"):
        reader.execute("UPDATE client_session SET ended_at = now()")
    reader.rollback()
    reader.execute(exposure, (MINE, own[0]))
    reader.rollback()


def test_only_its_own_token_is_seen_and_no_password(reader: Connection) -> None:
    assert len(reader.execute("SELECT * FROM api_token").fetchall()) == 1
    assert reader.execute("SELECT * FROM user_account").fetchall() == []


def test_a_grant_covers_in_the_database_what_it_covers_in_the_code(store: Store) -> None:
    seed = random.SystemRandom().randrange(2**32)
    chance = random.Random(seed)
    print(f"seed {seed}")
    words = ("a", "a1", "a_", "ab", "b", "b.c", "b-", "0", "a.")

    def path() -> str:
        return "/".join(chance.choice(words) for _ in range(chance.randint(1, 3)))

    for _ in range(60):
        grant, asked = [path() for _ in range(chance.randint(0, 3))], [path() for _ in range(40)]
        with connected(store, "postgres") as owner:
            owner.execute("DELETE FROM namespace WHERE path NOT IN ('ann', 'ann/shop', 'ann1')")
            owner.execute(
                "INSERT INTO namespace (path, epoch, policy, created_at)"
                " SELECT DISTINCT unnest(%s::text[]), 0, '{}'::jsonb, now()",
                (asked,),
            )
            owner.execute(
                "UPDATE api_token SET namespaces = to_jsonb(%s::text[]) WHERE token_hash = %s",
                (grant, token_hash(store.tokens[MINE])),
            )
        with connected(store, "slowwave_reader", token=token_hash(store.tokens[MINE])) as connection:
            wanted = {each for each in {*asked, *SPACES} if namespace_allows(grant, each)}
            assert spaces(connection) == wanted, (seed, grant)
