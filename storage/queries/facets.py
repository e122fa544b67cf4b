"""How many candidates each filter of the queue would show: exact counts, from passes over the narrowest indexes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

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
from storage.tables import Candidate
from storage.tables.review import CLOSED


@dataclass(frozen=True)
class Facets:
    """How many candidates each value of each filter would show while the other filters stay as they are.

    Values that would show none are absent. ``total`` is what the filters show now.
    """

    total: int
    standing: Mapping[str, int]
    namespace: Mapping[str, int]
    tier: Mapping[str, int]
    kind: Mapping[str, int]
    checks: Mapping[str, int]
    age: Mapping[str, int]
    conflicts: Mapping[str, int]


class Cell(NamedTuple):
    """What candidates that are counted together have in common."""

    namespace: str
    tier: str
    kind: str
    checks: str


def queue_facets(session: Session, asked: Asked) -> Facets:
    """Exact counts for every filter.

    What is in conflict is counted by itself, since it is little; what is in none is the rest.
    """
    everything, disputed_by_age = _cells(session, asked), _disputed_cells(session, asked)
    in_conflict: Counter[Cell] = Counter()
    for (cell, age), count in disputed_by_age.items():
        if asked.age is None or age in _within_age(asked.age):
            in_conflict[cell] += count
    split = {None: everything, True: in_conflict, False: everything - in_conflict}
    total, counted = _counted(split[asked.conflicts], asked)
    ages = _ages_of(disputed_by_age, asked)
    if asked.conflicts is not True:
        ages = _ages(session, asked, _counted(everything, asked)[0]) - (Counter() if asked.conflicts is None else ages)
    answers = {"yes": split[True], "no": split[False]}
    return Facets(
        total=total,
        standing=_nonzero({**_standings(session, asked), asked.standing: total}),
        **counted,
        age=_nonzero(ages),
        conflicts=_nonzero({name: _counted(part, asked)[0] for name, part in answers.items()}),
    )


def _cells(session: Session, asked: Asked) -> Counter[Cell]:
    """Counts of what has the age that is asked for, whatever namespace, tier, kind and checks are."""
    statement = sa.select(*_by(), sa.func.count()).where(*_whatever(asked), *age_filter(asked)).group_by(*_by())
    counts: Counter[Cell] = Counter()
    for namespace, tier, kind, failing, warning, count in session.execute(statement):
        counts[Cell(namespace, tier, kind, checks_of(failing, warning))] += count
    return counts


def _disputed_cells(session: Session, asked: Asked) -> Counter[tuple[Cell, str]]:
    """The same of what is in conflict, by age: each is counted in the narrowest age that holds it."""
    young = [sa.func.count().filter(time_of(asked) >= asked.now - span) for span in AGES.values()]
    found = disputed().subquery()
    same = (col(Candidate.namespace) == found.c.namespace) & (col(Candidate.id) == found.c.id)
    statement = sa.select(*_by(), *young, sa.func.count()).join(found, same).where(*_whatever(asked)).group_by(*_by())
    counts: Counter[tuple[Cell, str]] = Counter()
    for namespace, tier, kind, failing, warning, *upto in session.execute(statement):
        cell = Cell(namespace, tier, kind, checks_of(failing, warning))
        for age, before, now in zip((*AGES, "older"), [0, *upto], upto, strict=False):
            counts[cell, age] += now - before
    return counts


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


def _ages_of(disputed_by_age: Mapping[tuple[Cell, str], int], asked: Asked) -> Counter[str]:
    """What is in conflict by age, under the other filters."""
    wanted, exact = _wanted(asked), Counter[str]()
    for (cell, age), count in disputed_by_age.items():
        if all(getattr(cell, name) == value for name, value in wanted.items()):
            exact[age] += count
    return Counter({age: sum(exact[each] for each in _within_age(age)) for age in (*AGES, "older")})


def _within_age(age: str) -> Collection[str]:
    """The narrowest ages that an age takes in: the last week holds the last day."""
    return ("older",) if age == "older" else tuple(AGES)[: tuple(AGES).index(cast(Age, age)) + 1]


def _ages(session: Session, asked: Asked, total: int) -> Counter[str]:
    """Counts by age, in conflict or not: ranges of the index by age. The month is the longest, and is what is left."""
    every = replace(asked, conflicts=None)
    ranges: tuple[Age, ...] = ("day", "week", "older")
    found = Counter({str(age): _total(session, replace(every, age=age)) for age in ranges})
    found["month"] = (total if asked.age is None else _total(session, replace(every, age=None))) - found["older"]
    return found


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
    return {name: count for name, count in counts.items() if count}
