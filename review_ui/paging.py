"""Pages of lists: fifty at a time, with the filters kept in the addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from review_ui.links import with_query

SIZE = 50
FARTHEST = 100_000
Item = TypeVar("Item")


@dataclass(frozen=True)
class Pager:
    """Where a list stands; a link is empty where there is no such page. Page 0 is one without a number."""

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


def edged(
    path: str,
    found: Sequence[Item],
    edge: Callable[[Item], str],
    *,
    older: str = "",
    newer: str = "",
    size: int = SIZE,
    **filters: str | None,
) -> tuple[list[Item], Pager]:
    """The rows of a page that goes on from a row, and its neighbours: however long the list is, no page is farther.

    ``found`` are the rows, newest first, of a query that asked for one row more than ``size`` past ``older``, or before
    ``newer``; ``edge`` is how an address names a row.
    """
    more = len(found) > size
    rows = list(found[-size:] if newer else found[:size])
    up = bool(rows) and (more if newer else bool(older))
    down = bool(rows) and (bool(newer) or more)
    return rows, Pager(
        page=0,
        previous_link=with_query(path, **filters, newer=edge(rows[0])) if up else "",
        next_link=with_query(path, **filters, older=edge(rows[-1])) if down else "",
    )
