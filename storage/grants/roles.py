"""The login roles of the services, and what each may do with which table. The agents' side has its own (reader.py)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlmodel import SQLModel

from storage import tables as t
from storage.grants.quoting import columns_of, name, table_name
from storage.grants.reader import READER

INGEST, REVIEWER, WORKER = "slowwave_ingest", "slowwave_reviewer", "slowwave_worker"


@dataclass(frozen=True)
class Login:
    """A role that a service connects as, and the environment variable that gives its password."""

    role: str
    variable: str
    what: str


LOGINS = (
    Login(READER, "SLOWWAVE_READER_PASSWORD", "the agents' side: views that show what a token covers, no table"),
    Login(INGEST, "SLOWWAVE_INGEST_PASSWORD", "what takes episodes in: no candidate, no version"),
    Login(REVIEWER, "SLOWWAVE_REVIEWER_PASSWORD", "the review pages: no change of the audit log or of what was told"),
    Login(WORKER, "SLOWWAVE_WORKER_PASSWORD", "worker, beat and relay: row by row, one namespace at a time"),
)

TABLES: tuple[type[SQLModel], ...] = tuple(
    table for each in t.__all__ if isinstance(table := getattr(t, each), type) and issubclass(table, SQLModel)
)
_PEOPLE = (t.User, t.ApiToken, t.WebSession, t.LoginAttempt)
_BOOKS = (t.AuditEntry, t.AuditHead, t.OutboxEvent, t.Namespace)
_LEDGER = (t.Run, t.RunStep, t.OutboxEvent, t.AuditEntry, t.Schedule)
"""Has a namespace, and is open to the worker: it claims over all of them."""

CONTENT = tuple(table for table in TABLES if "namespace" in columns_of(table) and table not in _LEDGER)
"""Under row-level security: the worker sees the rows of the namespace that the transaction is for."""

Rights = dict[type[SQLModel], str]

_CHAINED: Rights = {t.AuditEntry: "SELECT, INSERT", t.AuditHead: "SELECT, UPDATE"}

RIGHTS: dict[str, Rights] = {
    INGEST: {
        t.Namespace: "SELECT, INSERT",
        t.Episode: "SELECT, INSERT, UPDATE",
        t.EpisodeKey: "SELECT, INSERT, DELETE",
        t.EpisodeBody: "SELECT, INSERT, DELETE",
        t.Evidence: "SELECT (namespace, episode_id), UPDATE (is_stale)",
        t.DeadLetter: "SELECT, INSERT, UPDATE",
        t.FollowedFile: "SELECT, INSERT, UPDATE, DELETE",
        **_CHAINED,
    },
    REVIEWER: {
        **{table: "SELECT, INSERT, UPDATE, DELETE" for table in TABLES if table not in _BOOKS},
        # What was promoted, decided or read stays: it changes state, it never goes.
        **dict.fromkeys((t.Rule, t.RuleVersion, t.Decision, t.Exposure, t.CacheGrant), "SELECT, INSERT, UPDATE"),
        **dict.fromkeys((t.Episode, t.User, t.ApiToken, t.Candidate, t.CandidateRevision), "SELECT, INSERT, UPDATE"),
        t.EpisodeKey: "SELECT",
        t.EpisodeBody: "SELECT",
        t.OutboxEvent: "SELECT, INSERT",
        t.Namespace: "SELECT, UPDATE",
        **_CHAINED,
    },
    WORKER: {
        **{table: "SELECT, INSERT, UPDATE, DELETE" for table in TABLES if table not in (*_BOOKS, *_PEOPLE)},
        # A purge erases; nothing else takes a body away, and nobody here writes one.
        t.EpisodeKey: "SELECT, DELETE",
        t.EpisodeBody: "SELECT, DELETE",
        # The changes themselves only for a purge, which blacks words out.
        t.OutboxEvent: "SELECT, INSERT, UPDATE (relayed_at, attempts, last_error, changes)",
        t.Namespace: "SELECT, UPDATE (epoch)",
        **_CHAINED,
    },
}

_HERE = "namespace = (SELECT current_setting('slowwave.namespace', true))"


def roles_statements() -> Iterator[str]:
    """Every role, made where it is absent, able to log in and nothing else; no membership in any other."""
    for login in LOGINS:
        able = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS NOINHERIT"
        # A superuser's attributes are a superuser's to name: only what differs is set.
        yield f"""DO $$
DECLARE membership record;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{login.role}') THEN
        CREATE ROLE {login.role} LOGIN NOINHERIT;
    ELSIF EXISTS (SELECT FROM pg_roles WHERE rolname = '{login.role}' AND (rolsuper OR rolcreatedb OR rolcreaterole
        OR rolreplication OR rolbypassrls OR rolinherit OR NOT rolcanlogin)) THEN
        ALTER ROLE {login.role} {able};
    END IF;
    FOR membership IN SELECT roleid::regrole::text AS held FROM pg_auth_members
        WHERE member = '{login.role}'::regrole LOOP
        EXECUTE format('REVOKE %s FROM {login.role}', membership.held);
    END LOOP;
END
$$"""


def public_statements(database: str) -> Iterator[str]:
    """Nothing for everybody: neither in the schema nor, of temporary tables, in the database."""
    everyone = ", ".join(login.role for login in LOGINS)
    yield "REVOKE ALL ON SCHEMA public FROM PUBLIC"
    yield "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC"
    yield f"REVOKE TEMPORARY, CREATE ON DATABASE {name(database)} FROM PUBLIC"
    yield f"REVOKE ALL ON DATABASE {name(database)} FROM {everyone}"
    yield f"REVOKE ALL ON SCHEMA public FROM {everyone}"
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {everyone}"
    yield f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {everyone}"
    yield f"REVOKE ALL ON ALL ROUTINES IN SCHEMA public FROM {everyone}"
    yield f"GRANT CONNECT ON DATABASE {name(database)} TO {everyone}"
    yield f"ALTER ROLE {READER} IN DATABASE {name(database)} SET search_path = {READER}"
    for role in RIGHTS:
        yield f"ALTER ROLE {role} IN DATABASE {name(database)} SET search_path = public"
        yield f"GRANT USAGE ON SCHEMA public TO {role}"
        yield f"GRANT SELECT ON public.alembic_version TO {role}"


def table_statements() -> Iterator[str]:
    """Each role's rights on each table, and row-level security on what belongs to a namespace."""
    for role, rights in RIGHTS.items():
        for table, allowed in rights.items():
            yield f"GRANT {allowed} ON public.{name(table_name(table))} TO {role}"
    for table in CONTENT:
        named = f"public.{name(table_name(table))}"
        yield f"ALTER TABLE {named} ENABLE ROW LEVEL SECURITY"
        yield f"DROP POLICY IF EXISTS slowwave_here ON {named}"
        yield f"CREATE POLICY slowwave_here ON {named} TO {WORKER} USING ({_HERE}) WITH CHECK ({_HERE})"
        yield f"DROP POLICY IF EXISTS slowwave_all ON {named}"
        yield f"CREATE POLICY slowwave_all ON {named} TO {INGEST}, {REVIEWER} USING (true) WITH CHECK (true)"
