"""Alembic, driven from code: one way to bring a database to the newest schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from storage.engine import Database

SCRIPTS = Path(__file__).parent / "migrations"


def config(database: Database) -> Config:
    """An Alembic configuration bound to this database; no ini file is needed."""
    made = Config()
    made.set_main_option("script_location", str(SCRIPTS))
    made.attributes["engine"] = database.engine
    return made


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the schema to ``revision``."""
    command.upgrade(config(database), revision)


def downgrade(database: Database, revision: str) -> None:
    """Take the schema back to ``revision`` (``base`` for none)."""
    command.downgrade(config(database), revision)


def check(database: Database) -> None:
    """Raise if tables and migrations differ (``alembic check``)."""
    command.check(config(database))


def current(database: Database) -> str | None:
    """The revision this database is at; None for an empty one."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head(database: Database) -> str | None:
    """The newest revision there is."""
    return ScriptDirectory.from_config(config(database)).get_current_head()
