"""The grants put in place, in one transaction of the tables' owner; or compared with what is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import sqlalchemy as sa

from storage.engine import Database
from storage.grants.quoting import name
from storage.grants.reader import SCHEMA, drop_statement, schema_statements
from storage.grants.roles import LOGINS, public_statements, roles_statements, table_statements

LOCK_TIMEOUT_MS = 10_000
_PLAIN = {"no_parameters": True}
"""What is run is complete as it stands: a percent sign in it is one."""


class NotPostgres(ValueError):
    """Roles are PostgreSQL's; a SQLite file has none."""


def statements(database: Database) -> list[str]:
    """All that is run, in order, without passwords.

    Raises:
        NotPostgres: for another database.
    """
    if database.dialect != "postgresql":
        raise NotPostgres("roles and grants are PostgreSQL's; on SQLite the agents' side reads by query-only sessions")
    named = sa.make_url(database.url).database or ""
    return [*roles_statements(), *public_statements(named), *schema_statements(), *table_statements()]


def apply(database: Database, passwords: Mapping[str, str] | None = None) -> None:
    """Put everything in place: again, it changes nothing. Passwords by role; a role without one keeps what it has.

    Raises:
        NotPostgres: for another database.
        DBAPIError: if the connection's role owns neither the tables nor the right to make roles; nothing was changed.
    """
    wanted = statements(database)
    with database.engine.begin() as connection:
        _run(connection, wanted)
        for role, password in (passwords or {}).items():
            # Hashed here: the server's log may hold what is run, and no password is in it.
            _set_password(connection, role, password)


def applied(database: Database) -> bool:
    """Whether grants were ever put in place here."""
    if database.dialect != "postgresql":
        return False
    with database.engine.connect() as connection:
        return bool(connection.exec_driver_sql(f"SELECT to_regnamespace('{SCHEMA}') IS NOT NULL").scalar_one())


def drop_reader(database: Database) -> None:
    """Take the agents' views away, which would stand in the way of a change of their tables."""
    with database.engine.begin() as connection:
        connection.exec_driver_sql(drop_statement())


def check(database: Database) -> list[str]:
    """What differs from what should be, one line each; empty if nothing does.

    All is put in place and rolled back: what is compared is the database with itself.

    Raises:
        NotPostgres: for another database.
        DBAPIError: as ``apply``.
    """
    wanted = statements(database)
    with database.engine.connect() as connection, connection.begin() as trial:
        before = _facts(connection)
        _run(connection, wanted)
        after = _facts(connection)
        trial.rollback()
    missing = [f"missing: {each}" for each in sorted(after - before)]
    return missing + [f"too much: {each}" for each in sorted(before - after)]


def _run(connection: sa.Connection, wanted: list[str]) -> None:
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}")
    for statement in wanted:
        connection.exec_driver_sql(statement, execution_options=_PLAIN)


def _set_password(connection: sa.Connection, role: str, password: str) -> None:
    raw = connection.connection.dbapi_connection
    hashed = raw.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()  # type: ignore[union-attr]
    connection.exec_driver_sql(f"ALTER ROLE {name(role)} PASSWORD '{hashed}'")


def _facts(connection: sa.Connection) -> set[str]:
    return {fact for query in _facts_asked() for (fact,) in connection.exec_driver_sql(query, execution_options=_PLAIN)}


def _facts_asked() -> Iterator[str]:
    roles = ", ".join(f"'{login.role}'" for login in LOGINS)
    ours = f"nspname IN ('public', '{SCHEMA}')"
    who = f"(grantee = 0 OR grantee::regrole::text IN ({roles}))"
    by = "CASE WHEN grantee = 0 THEN 'everybody' ELSE grantee::regrole::text END"
    yield f"""SELECT {by} || ' may ' || privilege_type || ' on ' || nspname || '.' || relname
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace, aclexplode(relacl) WHERE {ours} AND {who}"""
    yield f"""SELECT {by} || ' may ' || privilege_type || ' column ' || attname || ' of ' || nspname || '.' || relname
        FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace,
        aclexplode(attacl) WHERE {ours} AND {who}"""
    yield f"""SELECT {by} || ' may ' || privilege_type || ' on schema ' || nspname
        FROM pg_namespace n, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) WHERE {ours} AND {who}"""
    yield f"""SELECT {by} || ' may ' || privilege_type || ' on function ' || nspname || '.' || proname
        FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace,
        aclexplode(coalesce(proacl, acldefault('f', proowner))) WHERE {ours} AND {who}"""
    yield f"""SELECT {by} || ' may ' || privilege_type || ' in the database'
        FROM pg_database d, aclexplode(coalesce(datacl, acldefault('d', datdba)))
        WHERE datname = current_database() AND {who}"""
    yield f"""SELECT 'view ' || viewname || ' of ' || viewowner || ' ' || md5(definition)
        FROM pg_views WHERE schemaname = '{SCHEMA}'"""
    yield f"""SELECT 'view ' || relname || ' has ' || coalesce(reloptions::text, 'no options')
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = '{SCHEMA}' AND relkind = 'v'"""
    yield f"""SELECT 'function ' || proname || ' of ' || proowner::regrole::text || ' '
        || md5(pg_get_functiondef(p.oid))
        FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = '{SCHEMA}'"""
    yield f"""SELECT 'trigger ' || tgname || ' on ' || tgrelid::regclass::text || ' ' || tgenabled::text || ' '
        || md5(pg_get_triggerdef(oid)) FROM pg_trigger WHERE tgname LIKE '{SCHEMA}%'"""
    yield """SELECT 'policy ' || policyname || ' on ' || tablename || ' for ' || cmd || ' ' || permissive || ' '
        || md5(concat_ws('|', roles::text, qual, with_check)) FROM pg_policies WHERE schemaname = 'public'"""
    yield """SELECT 'row-level security of ' || relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
        WHERE nspname = 'public' AND relrowsecurity"""
    yield f"""SELECT 'role ' || rolname || concat_ws(' ', ':', CASE WHEN rolsuper THEN 'superuser' END,
        CASE WHEN rolcreatedb THEN 'createdb' END, CASE WHEN rolcreaterole THEN 'createrole' END,
        CASE WHEN rolreplication THEN 'replication' END, CASE WHEN rolbypassrls THEN 'bypassrls' END,
        CASE WHEN rolinherit THEN 'inherit' END, CASE WHEN rolcanlogin THEN 'login' END)
        FROM pg_roles WHERE rolname IN ({roles})"""
    yield f"""SELECT 'role ' || member::regrole::text || ' is a member of ' || roleid::regrole::text
        FROM pg_auth_members WHERE member::regrole::text IN ({roles})"""
    yield f"""SELECT 'search path of ' || rolname || ' ' || setconfig::text
        FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = setrole JOIN pg_database d ON d.oid = setdatabase
        WHERE datname = current_database() AND rolname IN ({roles})"""
