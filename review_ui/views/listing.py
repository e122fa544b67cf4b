"""A page that is a list: heading, filters, rows, pages, and what to say where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from review_ui.paging import Pager


@dataclass(frozen=True)
class Select:
    """A filter that chooses one value; ``options`` are (value, words). ``empty`` are the words for no choice."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    chosen: str = ""
    empty: str = ""


@dataclass(frozen=True)
class Box:
    """A filter that is typed. ``kind`` is that of the input: text, search or date."""

    name: str
    label: str
    value: str = ""
    kind: str = "search"


@dataclass(frozen=True)
class Nothing:
    """What to say where the list is empty, and where to go."""

    title: str
    words: str
    link: str = ""
    link_words: str = ""


@dataclass(frozen=True)
class Listing:
    """Everything that ``list.html`` says. ``row`` is the partial that shows one of ``rows`` as ``row``.

    ``head`` are the column headings where the rows are table rows. ``above`` and ``below`` are partials around the
    list, which find what they show in ``extra``. ``live`` asks the browser to look again.
    """

    title: str
    lead: str
    path: str
    row: str
    rows: Sequence[Any]
    pager: Pager
    empty: Nothing
    filters: Sequence[Select | Box] = ()
    head: Sequence[str] = ()
    crumbs: Sequence[tuple[str, str]] = ()
    above: str = ""
    below: str = ""
    live: bool = False
    ordered: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


def values(options: Sequence[str]) -> list[tuple[str, str]]:
    """Options whose words are their values, such as namespaces."""
    return [(each, each) for each in options]
