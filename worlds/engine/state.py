"""The in-memory database of one task instance: tables of flat rows, small enough to copy for every run."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
State = dict[str, dict[str, Row]]
"""Table name -> row id -> row. Rows are flat: their values are scalars or tuples, so two levels of copy are enough."""


def copy_state(state: State) -> State:
    """A copy that shares nothing a tool could change."""
    return {table: {key: dict(row) for key, row in rows.items()} for table, rows in state.items()}


def unchanged(before: State, after: State, table: str, *keys: str) -> bool:
    """Whether these rows are as the run found them."""
    return all(before[table].get(key) == after[table].get(key) for key in keys)
