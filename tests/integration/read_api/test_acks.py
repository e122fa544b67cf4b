"""Each step of a consumer is kept once, in the transaction that takes its word, and not for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from sqlmodel import select
from starlette.testclient import TestClient

from storage.acks import KEPT_EACH, KEPT_FOR, acknowledge
from storage.engine import Database
from storage.tables import Ack, AckSpan
from support import rows
from support.reviewing import Desk

SPACE = "acme/shop"


@pytest.fixture
def space(database: Database) -> Database:
    with database.write() as session:
        rows.add(session, rows.namespace(SPACE))
    return database


def say(database: Database, consumer: str, epoch: int, at: datetime) -> bool:
    with database.write() as session:
        return acknowledge(session, consumer, SPACE, epoch, "token", at)


def steps(database: Database, consumer: str = "a") -> list[tuple[int, int]]:
    with database.read() as session:
        found = session.exec(select(AckSpan).where(AckSpan.consumer == consumer)).all()
    return sorted((one.after_epoch, one.epoch) for one in found)


def test_a_step_says_where_it_began_and_a_repeated_or_older_word_says_nothing(space: Database, now: datetime) -> None:
    said = [say(space, "a", epoch, now) for epoch in (3, 3, 2, 4, 4, 9, 8)]
    assert said == [True, False, False, True, False, True, False]
    assert steps(space) == [(3, 3), (3, 4), (4, 9)]


def test_the_same_word_many_times_at_once_is_one_step(space: Database, now: datetime) -> None:
    say(space, "a", 1, now)
    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(lambda epoch: say(space, "a", epoch, now), [2, 3, 2, 3, 2, 3] * 3))
    taken = steps(space)
    assert sum(said) == len(taken) - 1
    assert [before for before, _ in taken[1:]] == [after for _, after in taken[:-1]]
    assert taken[-1][1] == 3
    with space.read() as session:
        assert session.exec(select(Ack.epoch)).one() == 3


def test_first_words_at_once_are_one_beginning(space: Database, now: datetime) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: say(space, "a", 5, now), range(12)))
    assert steps(space) == [(5, 5)]


def test_old_steps_are_let_go_with_the_next_one(space: Database, now: datetime) -> None:
    say(space, "a", 1, now - KEPT_FOR - timedelta(days=1))
    say(space, "a", 2, now - timedelta(days=1))
    say(space, "a", 3, now)
    assert steps(space) == [(1, 2), (2, 3)]


def test_of_one_consumer_the_newest_steps_are_kept(space: Database, now: datetime) -> None:
    with space.write() as session:
        session.add(Ack(consumer="a", namespace=SPACE, epoch=KEPT_EACH, token_id="t", at=now))
        session.add_all(
            AckSpan(namespace=SPACE, consumer="a", epoch=epoch, after_epoch=epoch - 1, at=now)
            for epoch in range(1, KEPT_EACH + 1)
        )
    say(space, "a", KEPT_EACH + 1, now)
    kept = steps(space)
    assert (len(kept), kept[0], kept[-1]) == (KEPT_EACH, (1, 2), (KEPT_EACH, KEPT_EACH + 1))


def test_what_a_consumer_that_is_gone_left_goes_when_another_comes(space: Database, now: datetime) -> None:
    say(space, "gone", 1, now - KEPT_FOR - timedelta(days=2))
    say(space, "gone", 2, now - KEPT_FOR - timedelta(days=1))
    say(space, "a", 2, now)
    assert steps(space, "gone") == []
    assert steps(space) == [(2, 2)]


def test_the_agents_side_keeps_the_steps(api: TestClient, desk: Desk, rule_id: str, database: Database) -> None:
    for epoch in (1, 1):
        assert api.post("/v1/acks", json={"namespace": SPACE, "consumer": "c", "epoch": epoch}).status_code == 200
    desk.revoke(rule_id)
    assert api.post("/v1/acks", json={"namespace": SPACE, "consumer": "c", "epoch": 2}).status_code == 200
    assert api.post("/v1/acks", json={"namespace": SPACE, "consumer": "c", "epoch": 9}).status_code == 422
    assert steps(database, "c") == [(1, 1), (1, 2)]
