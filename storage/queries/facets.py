"""How many candidates each filter of the queue would show: exact counts, from passes over the narrowest indexes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.queries.pages import within
from storage.queries.queue import (
    AGES,
    Age,
    Asked,
    Checks,
    Standing,
    age_filter,
    disputed,
    filters_of,
    index_of,
    time_of,
)
from storage.tables import AuditHead, Candidate
from storage.tables.review import CLOSED, WAITING


@dataclass(frozen=True)
class Facets:
    """How many candidates each value of each filter would show while the other filters stay as they are.

    Values that would show none are absent. ``total`` is what the filters show now; ``looked_at``, how many candidates
    were gone through for that.
    """

    total: int
    looked_at: int
    standing: Mapping[str, int]
    namespace: Mapping[str, int]
    tier: Mapping[str, int]
    kind: Mapping[str, int]
    checks: Mapping[str, int]
    age: Mapping[str, int]
    conflicts: Mapping[str, int]


_ROW = sa.inspect(Candidate).local_table.alias("row")
SERIES = ("namespace", "tier", "kind")
"""The order of the indexes that candidates are counted from."""


class Cell(NamedTuple):
    """What candidates that are counted together have in common."""

    namespace: str
    tier: str
    kind: str
    checks: str


@dataclass(frozen=True)
class Slow:
    """What takes as long to count as all else together, and changes little: ``ages``, conflicts or not, and what is in
    conflict, by what it has in common and by age. ``ages["all"]`` is there where an age is asked for."""

    ages: Counter[str]
    disputed: Counter[Cell]
    disputed_by_age: Counter[str]


def slow_counts(session: Session, asked: Asked) -> Slow:
    """These counts now. They are the same whatever is asked of conflicts."""
    return Slow(_ages(session, replace(asked, conflicts=None)), *_disputed(session, asked))


@dataclass(frozen=True)
class Fast:
    """What shows at once what somebody does: the cells, and how many the filters would show of every other standing."""

    cells: Counter[Cell]
    standings: Mapping[str, int]


def fast_counts(session: Session, asked: Asked) -> Fast:
    """These counts now."""
    return Fast(_cells(session, asked), _standings(session, asked))


def facets_of(asked: Asked, fast: Fast, slow: Slow) -> Facets:
    """The counts for every filter. What is in conflict is little: it is looked for, and what is in none is the rest."""
    cells, ages = fast.cells, slow.ages.copy()
    total, counted = _counted(cells, asked)
    ages["month"] = (total if asked.age is None else slow.ages["all"]) - ages["older"]
    del ages["all"]
    in_conflict = _counted(slow.disputed, asked)[0]
    answers = {"yes": in_conflict, "no": total - in_conflict}
    if asked.conflicts is not None:
        cells = slow.disputed if asked.conflicts else cells - slow.disputed
        ages = slow.disputed_by_age if asked.conflicts else ages - slow.disputed_by_age
        total, counted = _counted(cells, asked)
    return Facets(
        total=total,
        looked_at=max(fast.cells.total(), slow.ages["all"], *fast.standings.values()),
        standing=_nonzero({**fast.standings, asked.standing: total}),
        **counted,
        age=_nonzero(ages),
        conflicts=_nonzero(answers),
    )


def changes_mark(session: Session) -> tuple[Any, ...]:
    """What is another as soon as somebody did something that is audited, or another candidate waits.

    A night that refreshes a candidate which waits already does not change it.
    """
    newest = sa.select(sa.func.max(col(Candidate.created_at))).where(sa.text(WAITING)).scalar_subquery()
    audited = sa.select(col(AuditHead.seq)).scalar_subquery()
    return tuple(session.execute(sa.select(audited, newest)).one())


def _cells(session: Session, asked: Asked) -> Counter[Cell]:
    """Counts of what has the age that is asked for, whatever namespace, tier, kind and checks are.

    What there is of these is found by steps through the index, from each to the next; then each is one range of it. To
    group all rows takes about twice as long.
    """
    kinds = _each(asked, "kind", _each(asked, "tier", _each(asked, "namespace", None)))
    failing, warning = _ROW.c.failing, _ROW.c.warning
    ranges = {
        "failing": failing > 0, "warning": (failing == 0) & (warning > 0), "clean": (failing == 0) & (warning == 0),
    }  # fmt: skip
    here = (_ROW.c.namespace == kinds.c.namespace, _ROW.c.tier == kinds.c.tier, _ROW.c.kind == kinds.c.kind)
    all_here = sa.select(sa.func.count()).select_from(_ROW).where(sa.text(index_of(asked)), *here)
    counted = [all_here.where(each, *age_filter(asked, _ROW)).scalar_subquery() for each in ranges.values()]
    statement = sa.select(kinds.c.namespace, kinds.c.tier, kinds.c.kind, *counted).where(kinds.c.kind.is_not(None))
    counts: Counter[Cell] = Counter()
    for namespace, tier, kind, *found in session.execute(statement):
        counts.update({Cell(namespace, tier, kind, name): n for name, n in zip(ranges, found, strict=True) if n})
    return counts


def _each(asked: Asked, name: str, given: sa.CTE | None) -> sa.CTE:
    """Each value of a column that there is under each of ``given``; a row without a value ends each series."""
    keys = [] if given is None else list(given.c.keys())

    def first(under: sa.CTE | None, *after: Any) -> Any:
        here = [] if under is None else [_ROW.c[key] == under.c[key] for key in keys]
        found = sa.select(_ROW.c[name]).where(sa.text(index_of(asked)), *here, *after)
        return found.order_by(*(_ROW.c[column] for column in SERIES)).limit(1).scalar_subquery().label(name)

    start = sa.select(first(None))
    if given is not None:
        start = sa.select(*given.c, first(given)).where(
            given.c[keys[-1]].is_not(None), within(given.c.namespace, asked.granted)
        )
    series = start.cte(f"each_{name}", recursive=True)
    after = first(series, _ROW.c[name] > series.c[name])
    return series.union_all(sa.select(*(series.c[key] for key in keys), after).where(series.c[name].is_not(None)))


def _disputed(session: Session, asked: Asked) -> tuple[Counter[Cell], Counter[str]]:
    """The same of what is in conflict; and how many of it each age has, under the other filters."""
    young = [sa.func.count().filter(time_of(asked) >= asked.now - span) for span in AGES.values()]
    found = disputed().subquery()
    same = (col(Candidate.namespace) == found.c.namespace) & (col(Candidate.id) == found.c.id)
    statement = sa.select(*_by(), *young, sa.func.count()).join(found, same).where(*_whatever(asked)).group_by(*_by())
    cells, ages, wanted = Counter[Cell](), Counter[str](), _wanted(asked)
    for namespace, tier, kind, failing, warning, *upto in session.execute(statement):
        cell = Cell(namespace, tier, kind, checks_of(failing, warning))
        counts = dict(zip((*AGES, "all"), upto, strict=True))
        counts["older"] = counts["all"] - counts["month"]
        cells[cell] += counts[asked.age or "all"]
        if all(getattr(cell, name) == value for name, value in wanted.items()):
            ages.update({age: counts[age] for age in (*AGES, "older")})
    return cells, ages


def _by() -> list[Any]:
    columns = (Candidate.namespace, Candidate.tier, Candidate.kind, Candidate.failing, Candidate.warning)
    return [col(column) for column in columns]


def _whatever(asked: Asked) -> list[Any]:
    return [sa.text(index_of(asked)), within(col(Candidate.namespace), asked.granted)]


def checks_of(failing: int, warning: int) -> Checks:
    """The one word for a candidate's checks."""
    return "failing" if failing else "warning" if warning else "clean"


def _counted(cells: Mapping[Cell, int], asked: Asked) -> tuple[int, dict[str, Counter[str]]]:
    """How many fit all filters; and for each filter, how many each of its values has that fit all others."""
    wanted = _wanted(asked)
    total, counts = 0, {name: Counter[str]() for name in Cell._fields}
    for cell, count in cells.items():
        missed = [name for name, value in wanted.items() if getattr(cell, name) != value]
        if not missed:
            total += count
        if len(missed) < 2:
            for name in missed or Cell._fields:
                counts[name][getattr(cell, name)] += count
    return total, counts


def _wanted(asked: Asked) -> dict[str, str]:
    return {name: value for name in Cell._fields if (value := getattr(asked, name)) is not None}


def _ages(session: Session, asked: Asked) -> Counter[str]:
    """Counts by age: ranges of the index by age, but for the month, which is the longest and what is left."""
    ranges: list[Age | None] = ["day", "week", "older", *([None] if asked.age else [])]
    return Counter({age or "all": _total(session, replace(asked, age=age)) for age in ranges})


def _total(session: Session, asked: Asked) -> int:
    return int(session.execute(_count(asked)).scalar_one())


def _standings(session: Session, asked: Asked) -> dict[str, int]:
    """How many the filters would show of every other standing."""
    others: list[Standing] = [each for each in ("waiting", "parked") if each != asked.standing]
    found: dict[str, int] = {each: _total(session, replace(asked, standing=each)) for each in others}
    closed = _count(replace(asked, standing="promoted"), where=CLOSED).add_columns(col(Candidate.state))
    for count, state in session.execute(closed.group_by(col(Candidate.state))):
        found[state] = count
    return found


def _count(asked: Asked, where: str = "") -> sa.Select[Any]:
    return sa.select(sa.func.count()).select_from(Candidate).where(*filters_of(asked, where))


def _nonzero(counts: Mapping[Any, int]) -> dict[Any, int]:
    return {name: count for name, count in counts.items() if count > 0}
