"""How a command comes to its settings, its database and the person it acts for."""

from __future__ import annotations

import fcntl
import getpass
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import SettingsError
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from storage import migrate
from storage.engine import Database
from storage.ids import token_hash
from storage.namespaces import namespace_allows, parse_namespace
from storage.outbox import NamespaceUnknown
from storage.queries.people import person_of, token_live
from storage.queries.runs import namespace_exists
from storage.settings import Settings
from storage.trouble import trouble_of
from tasks.promote.people import DECIDING_ROLES, Reviewer
from worker.cli.output import USAGE, CommandFailed
from worker.logs import configure


@dataclass(frozen=True)
class Store:
    """What a command works with."""

    settings: Settings
    database: Database

    @property
    def secret(self) -> bytes:
        """The key behind keyed hashes."""
        return self.settings.secret()

    @property
    def now(self) -> datetime:
        """The wall clock: a command is an entry point."""
        return datetime.now(UTC)

    @property
    def is_local(self) -> bool:
        """Whether the database is the one of the home folder."""
        return self.settings.database_url is None


def load_settings() -> Settings:
    """The settings from the environment.

    Raises:
        CommandFailed: naming each variable that is wrong and what it may be.
    """
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(_wrong(each["loc"], each["msg"]) for each in error.errors())
        raise CommandFailed(f"A setting is wrong: {wrong}.", "Set it right and try again.", USAGE) from None
    except SettingsError as error:
        now = 'A list is written as JSON, such as ["https://review.example.org"].'
        raise CommandFailed(f"A setting cannot be read: {error}.", now, USAGE) from None


def _wrong(place: tuple[int | str, ...], message: str) -> str:
    """One fault; those of several settings together have no place, and name them in their words."""
    said = message.removeprefix("Value error, ")
    return f"SLOWWAVE_{str(place[0]).upper()}: {said}" if place else said


@contextmanager
def open_store(*, quiet: bool = True) -> Iterator[Store]:
    """Settings and a database whose schema is the newest.

    The home folder's own database is upgraded on the way; a server's is not touched unasked.

    Raises:
        CommandFailed: for a wrong setting, and for a database that is not there or of another version.
    """
    settings = load_settings()
    configure(settings, level="WARNING" if quiet and settings.log_level == "INFO" else None)
    database = make_database(settings)
    try:
        store = Store(settings, database)
        ensure_schema(store)
        yield store
    finally:
        database.dispose()


def make_database(settings: Settings) -> Database:
    """The database of these settings, not connected to yet.

    Raises:
        CommandFailed: if its address or its driver is wrong.
    """
    try:
        return Database(settings.resolved_database_url)
    except (ImportError, OSError, ArgumentError, ValueError) as error:
        # A ValueError quotes the part that is no port, which may be the end of a password with an @ in it.
        why = "its port is no number" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        what = f"The database address cannot be used: {why}."
        raise CommandFailed(what, "Look at SLOWWAVE_DATABASE_URL and SLOWWAVE_HOME.", USAGE) from None


def ensure_schema(store: Store) -> None:
    """Bring a home database to the newest schema; refuse a server's that is behind.

    Raises:
        CommandFailed: if it is behind, ahead, or does not answer.
    """
    try:
        current, head = migrate.current(store.database), migrate.head(store.database)
        if current == head:
            return
        if not store.is_local:
            what = f"The database's schema is {current or 'empty'}, this version needs {head}."
            raise CommandFailed(what, "Upgrade it: slowwave db upgrade")
        with home_lock(store.settings, "upgrade"):
            migrate.upgrade(store.database)
    except DBAPIError as error:
        raise lost_database(store.settings, error) from error


def lost_database(settings: Settings, error: Exception) -> CommandFailed:
    """What to say when the database fails: gone, full, busy. The address is told without its password."""
    where = make_url(settings.resolved_database_url).render_as_string(hide_password=True)
    reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
    trouble = trouble_of(error)
    return CommandFailed(f"The database at {where} {trouble.what}: {reason}.", trouble.now)


@contextmanager
def home_lock(settings: Settings, name: str) -> Iterator[None]:
    """Wait for, and hold, a lock of the home folder: one process at a time. Gone with the process."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (Path(settings.home) / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def known_namespace(store: Store, namespace: str) -> str:
    """A namespace that something was ingested into.

    Raises:
        NamespaceMalformed, NamespaceUnknown: otherwise.
    """
    parse_namespace(namespace)
    with store.database.read() as session:
        if not namespace_exists(session, namespace):
            raise NamespaceUnknown(
                f"namespace {namespace!r} is unknown: nothing was ingested into it. Check its spelling, or ingest "
                f"first: slowwave ingest PATH --namespace {namespace}"
            )
    return namespace


def operator() -> str:
    """Who runs an administrative command, for the audit log: whoever owns this process."""
    try:
        return f"operator:{getpass.getuser()}"
    except (KeyError, OSError):
        return "operator"


def person(store: Store) -> Reviewer:
    """The person behind SLOWWAVE_TOKEN: decisions act as them, never as a name given.

    Raises:
        CommandFailed: if there is no token, or it is nobody's.
    """
    if store.settings.token is None:
        now = "Set SLOWWAVE_TOKEN to your personal token; an operator makes one with: slowwave user add NAME"
        raise CommandFailed("A decision needs to know who you are.", now, USAGE)
    with store.database.read() as session:
        token = token_live(session, token_hash(store.settings.token.get_secret_value()), store.now)
        user = person_of(session, token) if token else None
    if token is None:
        raise CommandFailed(
            "The token in SLOWWAVE_TOKEN is unknown, expired or revoked.", "Ask an operator for a new one."
        )
    if user is None:
        now = "Use a personal token, made with: slowwave user add NAME --role reviewer"
        raise CommandFailed("The token in SLOWWAVE_TOKEN belongs to no person, so it cannot decide.", now)
    # The narrower of the two counts: a token never allows more than its person may do by now, nor the reverse.
    role = user.role if token.role in DECIDING_ROLES else token.role
    return Reviewer(user.id, user.name, role, _both(token.namespaces, user.namespaces))


def _both(left: Sequence[str], right: Sequence[str]) -> tuple[str, ...]:
    """What two grants both cover; an empty grant covers everything, a pair with nothing in common nothing."""
    if not left or not right:
        return tuple(left or right)
    inside = {path for path in left if namespace_allows(right, path)}
    inside |= {path for path in right if namespace_allows(left, path)}
    return tuple(sorted(inside)) or ("-",)
