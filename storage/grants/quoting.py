"""Names as PostgreSQL reads them."""

from __future__ import annotations

from sqlmodel import SQLModel


def name(word: str) -> str:
    """An identifier."""
    return '"' + word.replace('"', '""') + '"'


def table_name(table: type[SQLModel]) -> str:
    """What the table is called."""
    return str(table.__table__.name)  # type: ignore[attr-defined]


def columns_of(table: type[SQLModel]) -> list[str]:
    """The table's columns, in order."""
    return [str(column.name) for column in table.__table__.columns]  # type: ignore[attr-defined]
