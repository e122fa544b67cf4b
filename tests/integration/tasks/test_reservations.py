"""Who reads a candidate: one at a time, for ten minutes, and never at the cost of reading."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Barrier

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from storage.engine import Database
from storage.queries.queue import Asked
from storage.tables import Reservation
from support import factories
from tasks.promote.people import Reviewer
from tasks.stage.reserve_step import HELD_FOR, Holder, holders, release, reserve, take_next

SPACE = "acme/support"
People = Callable[..., Reviewer]


@pytest.fixture
def people(database: Database, now: datetime) -> People:
    """Makes people, and a candidate for them."""
    factories.make_namespace(database, SPACE, now)
    factories.make_candidate(database, SPACE, "a", now)

    def person(name: str, role: str = "reviewer", namespaces: tuple[str, ...] = ()) -> Reviewer:
        return factories.make_person(database, name, now, role=role, namespaces=namespaces)[0]

    return person


def held_in(database: Database, now: datetime) -> dict[tuple[str, str], Holder]:
    """Who holds the candidate ``a``."""
    with database.read() as session:
        return holders(session, [(SPACE, "a")], now)


def test_the_first_one_holds_it_and_goes_on_holding_it(database: Database, now: datetime, people: People) -> None:
    rosa, otto = people("rosa"), people("otto")
    held = reserve(database, SPACE, "a", reviewer=rosa, now=now)
    assert held == Holder(rosa.user_id, "rosa", now, now + HELD_FOR)
    assert reserve(database, SPACE, "a", reviewer=otto, now=now + timedelta(minutes=9)) == held
    soon, later = now + timedelta(minutes=1), now + timedelta(minutes=8)
    assert reserve(database, SPACE, "a", reviewer=rosa, now=soon) == held, "nothing is written while there is time"
    assert reserve(database, SPACE, "a", reviewer=rosa, now=later) == Holder(
        rosa.user_id, "rosa", now, later + HELD_FOR
    )


def test_what_ran_out_is_free_for_the_next_and_begins_anew(database: Database, now: datetime, people: People) -> None:
    rosa, otto = people("rosa"), people("otto")
    reserve(database, SPACE, "a", reviewer=rosa, now=now)
    later = now + HELD_FOR
    assert held_in(database, later) == {}
    assert reserve(database, SPACE, "a", reviewer=otto, now=later) == Holder(
        otto.user_id, "otto", later, later + HELD_FOR
    )
    much_later = later + timedelta(hours=1)
    again = reserve(database, SPACE, "a", reviewer=otto, now=much_later)
    assert again is not None
    assert again.since == much_later, "they had stopped reading"


def test_letting_go_is_of_ones_own_alone(database: Database, now: datetime, people: People) -> None:
    rosa, otto = people("rosa"), people("otto")
    reserve(database, SPACE, "a", reviewer=rosa, now=now)
    assert not release(database, SPACE, "a", reviewer=otto)
    assert release(database, SPACE, "a", reviewer=rosa)
    assert not release(database, SPACE, "a", reviewer=rosa)
    assert held_in(database, now) == {}


def test_who_may_not_decide_here_holds_nothing(database: Database, now: datetime, people: People) -> None:
    for one in (people("ada", "auditor"), people("elsewhere", namespaces=("lab",))):
        assert reserve(database, SPACE, "a", reviewer=one, now=now) is None
        assert take_next(database, Asked(now), "worth", reviewer=one) is None


def test_of_many_who_take_the_next_one_at_once_each_gets_another(
    database: Database, now: datetime, people: People
) -> None:
    for name in "bcdef":
        factories.make_candidate(database, SPACE, name, now)
    all_of_them = [people(f"person-{number}") for number in range(6)]
    together = Barrier(len(all_of_them))

    def take(one: Reviewer) -> tuple[str, str] | None:
        together.wait()
        return take_next(database, Asked(now), "worth", reviewer=one)

    with ThreadPoolExecutor(len(all_of_them)) as pool:
        taken = list(pool.map(take, all_of_them))
    assert sorted(key for key in taken if key) == [(SPACE, name) for name in "abcdef"]


def test_the_next_one_is_found_behind_many_that_others_read(database: Database, now: datetime, people: People) -> None:
    rosa, otto = people("rosa"), people("otto")
    for place in range(120):
        factories.make_candidate(database, SPACE, f"c{place:03}", now, rank=9.0)
    with database.write() as session:
        session.execute(
            sa.insert(Reservation),
            [{"namespace": SPACE, "candidate_id": f"c{place:03}", "user_id": rosa.user_id, "since": now,
              "until": now + HELD_FOR} for place in range(120)],
        )  # fmt: skip
    assert take_next(database, Asked(now), "worth", reviewer=otto) == (SPACE, "a")


def test_a_store_that_takes_no_write_is_given_up_on_soon(database: Database, now: datetime, people: People) -> None:
    rosa = people("rosa")
    reserve(database, SPACE, "a", reviewer=rosa, now=now - timedelta(hours=1))
    with database.write() as other:
        other.execute(sa.update(Reservation).values(until=now))  # holds the row, or the one writer's place
        with pytest.raises(OperationalError):
            reserve(database, SPACE, "a", reviewer=rosa, now=now)
    assert reserve(database, SPACE, "a", reviewer=rosa, now=now), "and the next time it is taken"
