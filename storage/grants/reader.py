"""What the agents' side is given: a schema of views named like the tables, and nothing of the tables themselves.

Each view shows what the live tokens of the transaction cover, named by the setting ``slowwave.token``: their hashes,
joined by commas. Without it every view is empty. The views are barriers: no condition of a query is tried on a row that
the view does not show, unless it cannot tell anything of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlmodel import SQLModel

from storage import tables as t
from storage.grants.quoting import columns_of, name, table_name

SCHEMA = "slowwave_reader"
READER = "slowwave_reader"
READING = ("agent", "reviewer", "admin", "auditor")
HISTORY = ("reviewer", "admin", "auditor")

_HASHES = "string_to_array(current_setting('slowwave.token', true), ',')"
_LIVE = f"""FROM public.api_token t LEFT JOIN public.user_account u ON u.id = t.user_id
    WHERE t.token_hash = ANY ({_HASHES}) AND t.revoked_at IS NULL
    AND (t.expires_at IS NULL OR t.expires_at > now()) AND u.disabled_at IS NULL"""

_INSIDE = f"(x.namespace || '/') ^@ ANY ((SELECT {SCHEMA}.granted())::text[])"
"""Whole segments: 'ann/' begins 'ann/' and 'ann/shop/', and not 'ann1/'. As a sub-select it is asked once a query."""

_ACTIVE_SIDE = """CASE WHEN {ref} LIKE 'rule:%' THEN EXISTS (
        SELECT FROM public.rule_version v WHERE v.namespace = x.namespace AND v.state = 'active'
        AND v.rule_id = substr(regexp_replace({ref}, '@[0-9]+$', ''), 6)
        AND v.version::text = substring({ref} FROM '@([0-9]+)$'))
    WHEN {ref} LIKE 'candidate:%' THEN EXISTS (
        SELECT FROM public.rule_version v WHERE v.namespace = x.namespace AND v.state = 'active'
        AND v.candidate_id = substr({ref}, 11))
    ELSE false END"""

_PROMOTED = """(x.namespace, x.{id}) IN (SELECT v.namespace, v.content #>> '{{exemplar,episode_id}}'
    FROM public.rule_version v WHERE v.state = 'active' AND v.kind = 'exemplar')"""

_SHOWN = f"x.state = 'active' OR (SELECT {SCHEMA}.may_see_history())"

VIEWS: dict[type[SQLModel], tuple[str, dict[str, str], tuple[str, ...] | None]] = {
    # table: (rows, columns shown as something else, only these columns)
    t.Namespace: (
        _INSIDE.replace("x.namespace", "x.path"),
        {"policy": "jsonb_strip_nulls(jsonb_build_object('holdout_fraction', x.policy -> 'holdout_fraction'))"},
        None,
    ),
    t.ApiToken: (f"x.token_hash = ANY ({_HASHES})", {}, None),
    t.User: (
        f"x.id IN (SELECT k.user_id FROM public.api_token k WHERE k.token_hash = ANY ({_HASHES}))",
        {"password_hash": "NULL::varchar"},
        None,
    ),
    t.RuleVersion: (
        _INSIDE,
        {each: f"CASE WHEN {_SHOWN} THEN x.{each} ELSE '{{}}'::jsonb END" for each in ("content", "evidence")},
        None,
    ),
    t.VersionAncestor: (_INSIDE, {}, None),
    t.OutboxEvent: (_INSIDE, {"last_error": "NULL::varchar"}, None),
    t.Exposure: (_INSIDE, {}, None),
    t.CacheGrant: (_INSIDE, {}, None),
    t.ClientSession: (_INSIDE, {}, None),
    t.SearchMiss: (_INSIDE, {}, None),
    t.Ack: (_INSIDE, {}, None),
    t.AckSpan: (_INSIDE, {}, None),
    t.Conflict: (
        f"{_INSIDE} AND x.state = 'open' AND {_ACTIVE_SIDE.format(ref='x.left_ref')}"
        f" AND {_ACTIVE_SIDE.format(ref='x.right_ref')}",
        {"sides": "'{}'::jsonb", "run_id": "NULL::varchar"},
        None,
    ),
    t.Episode: (
        f"{_INSIDE} AND {_PROMOTED.format(id='id')}",
        {"details": "jsonb_build_object('memory_reads', x.details -> 'memory_reads')"},
        ("namespace", "id", "is_current", "session_id", "details"),
    ),
    t.EpisodeKey: (f"{_INSIDE} AND {_PROMOTED.format(id='episode_id')}", {}, None),
    t.EpisodeBody: (f"{_INSIDE} AND {_PROMOTED.format(id='episode_id')}", {}, None),
}

WRITES: dict[type[SQLModel], str] = {
    t.ApiToken: "UPDATE (last_used_at)",
    t.Exposure: "INSERT",
    t.CacheGrant: "INSERT",
    t.ClientSession: "INSERT, UPDATE (ended_at, reported)",
    t.SearchMiss: "INSERT",
    t.Ack: "INSERT, UPDATE (epoch, token_id, at)",
    t.AckSpan: "INSERT, DELETE",
}
_UNREAD = (t.SearchMiss,)
"""Written and never read back: what was asked of an agent is no other agent's business."""

_SIGNED = (t.Exposure, t.CacheGrant, t.ClientSession, t.Ack)
"""Rows that name the token they are of: the agents' side may write none in another's name."""

_DEFINER = "STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp"


def schema_statements() -> Iterator[str]:
    """The schema made anew, whole, in the transaction of the caller."""
    yield drop_statement()
    yield f"CREATE SCHEMA {SCHEMA}"
    yield f"REVOKE ALL ON SCHEMA {SCHEMA} FROM PUBLIC"
    yield from _functions()
    yield f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {SCHEMA} FROM PUBLIC"
    for table, (rows, shown, only) in VIEWS.items():
        yield _view(table, rows, shown, only)
    yield f"CREATE VIEW {SCHEMA}.alembic_version AS SELECT version_num FROM public.alembic_version"
    for table in _SIGNED:
        yield (
            f"CREATE TRIGGER {SCHEMA}_signs BEFORE INSERT OR UPDATE ON public.{name(table_name(table))} FOR EACH ROW"
            f" WHEN (current_user = '{READER}') EXECUTE FUNCTION {SCHEMA}.signs()"
        )
    yield f"GRANT USAGE ON SCHEMA {SCHEMA} TO {READER}"
    for function in ("granted", "mine", "may_see_history"):
        yield f"GRANT EXECUTE ON FUNCTION {SCHEMA}.{function}() TO {READER}"
    yield f"GRANT SELECT ON {SCHEMA}.alembic_version TO {READER}"
    for table in VIEWS:
        rights = [*(() if table in _UNREAD else ("SELECT",)), *((WRITES[table],) if table in WRITES else ())]
        yield f"GRANT {', '.join(rights)} ON {SCHEMA}.{name(table_name(table))} TO {READER}"


def drop_statement() -> str:
    """Take the schema away, with what hangs on it: the agents' side sees nothing until it is made again."""
    return f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"


def _functions() -> Iterator[str]:
    reading = ", ".join(f"'{role}'" for role in READING)
    history = ", ".join(f"'{role}'" for role in HISTORY)
    yield f"""CREATE FUNCTION {SCHEMA}.granted() RETURNS text[] LANGUAGE sql {_DEFINER} AS $$
    SELECT coalesce(array_agg(DISTINCT granted.beginning), '{{}}') FROM (
        SELECT CASE WHEN live.namespaces = '[]'::jsonb THEN '' ELSE path.value || '/' END AS beginning
        FROM (SELECT t.namespaces {_LIVE} AND t.role IN ({reading})) AS live
        LEFT JOIN LATERAL jsonb_array_elements_text(live.namespaces) AS path ON true
    ) AS granted WHERE granted.beginning IS NOT NULL
$$"""
    yield f"""CREATE FUNCTION {SCHEMA}.mine() RETURNS text[] LANGUAGE sql {_DEFINER} AS $$
    SELECT coalesce(array_agg(t.id), '{{}}') {_LIVE}
$$"""
    yield f"""CREATE FUNCTION {SCHEMA}.may_see_history() RETURNS boolean LANGUAGE sql {_DEFINER} AS $$
    SELECT coalesce(bool_and(t.role IN ({history})), false) {_LIVE}
$$"""
    yield f"""CREATE FUNCTION {SCHEMA}.signs() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.token_id = ANY ({SCHEMA}.mine()) THEN
        RETURN NEW;
    END IF;
    RAISE insufficient_privilege USING MESSAGE = 'a row in the name of another token';
END
$$"""


def _view(table: type[SQLModel], rows: str, shown: dict[str, str], only: tuple[str, ...] | None) -> str:
    columns = ", ".join(
        f"{shown[each]} AS {name(each)}" if each in shown else f"x.{name(each)}"
        for each in columns_of(table)
        if only is None or each in only
    )
    checked = " WITH CASCADED CHECK OPTION" if table in WRITES else ""
    named = name(table_name(table))
    return (
        f"CREATE VIEW {SCHEMA}.{named} WITH (security_barrier) AS SELECT {columns}"
        f" FROM public.{named} AS x WHERE {rows}{checked}"
    )
