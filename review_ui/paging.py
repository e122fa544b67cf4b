"""Pages of lists: fifty at a time, with the filters kept in the addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from review_ui.links import with_query

SIZE = 50
FARTHEST = 100_000
Item = TypeVar("Item")


@dataclass(frozen=True)
class Pager:
    """Where a list stands; a link is empty where there is no such page."""

    page: int
    previous_link: str
    next_link: str
    first: int = 1


def offset_of(page: int, size: int = SIZE) -> int:
    """The first row of a page, numbered from 1."""
    return (min(max(page, 1), FARTHEST) - 1) * size


def paged(
    path: str, page: int, rows: Sequence[Item], size: int = SIZE, **filters: str | None
) -> tuple[list[Item], Pager]:
    """The rows of a page and its neighbours, from a query that asked for one row more than ``size``."""
    page = min(max(page, 1), FARTHEST)
    return list(rows[:size]), Pager(
        page=page,
        previous_link=with_query(path, **filters, page=page - 1 if page > 2 else None) if page > 1 else "",
        next_link=with_query(path, **filters, page=page + 1) if len(rows) > size else "",
        first=offset_of(page, size) + 1,
    )
