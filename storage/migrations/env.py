"""Alembic's entry: the engine comes from the caller, or from SLOWWAVE_DATABASE_URL on the command line."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from sqlmodel import SQLModel

from storage import tables
from storage.engine import Database
from storage.settings import Settings


def render_item(kind: str, item: Any, _autogen: Any) -> str | Literal[False]:
    """Migrations must not import our types: a landed one stays readable when the code moves on."""
    if kind == "type" and isinstance(item, tables.UtcDateTime):
        return "sa.DateTime(timezone=True)"
    return False


def run() -> None:
    """Run migrations on the given engine, under a lock timeout where the database knows one."""
    engine = context.config.attributes.get("engine") or Database(Settings().resolved_database_url).engine
    with engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SET lock_timeout = '5s'")
            connection.commit()
        context.configure(
            connection=connection,
            target_metadata=SQLModel.metadata,
            render_as_batch=connection.dialect.name == "sqlite",
            render_item=render_item,
            compare_type=True,
        )
        with context.begin_transaction():
            context.run_migrations()
        if connection.in_transaction():
            connection.commit()


run()
