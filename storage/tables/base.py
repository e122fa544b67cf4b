"""Column kinds shared by all tables."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
SQLModel.metadata.naming_convention = NAMING

JSON = sa.JSON().with_variant(JSONB(), "postgresql")


class UtcDateTime(sa.types.TypeDecorator[datetime]):
    """Aware UTC datetimes on both databases; a naive one is a programming error and is refused."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"naive datetime {value!r}: pass an aware one")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Row(SQLModel):
    """Base of every table."""


def json_field(default_factory: Any = dict, **kwargs: Any) -> Any:
    """A JSON column (JSONB on PostgreSQL)."""
    return Field(default_factory=default_factory, sa_type=JSON, **kwargs)


def time_field(*, nullable: bool = False, index: bool = False) -> Any:
    """A UTC time column."""
    if nullable:
        return Field(default=None, sa_type=UtcDateTime, nullable=True, index=index)
    return Field(sa_type=UtcDateTime, index=index)


def one_of(column: str, values: tuple[str, ...], name: str) -> sa.CheckConstraint:
    """A CHECK that ``column`` holds one of ``values``."""
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=name)


def episode_fk(column: str = "episode_id") -> sa.ForeignKeyConstraint:
    """The composite key to an episode: nothing can cite one of another namespace."""
    return sa.ForeignKeyConstraint(["namespace", column], ["episode.namespace", "episode.id"])
