"""Facts are read from a body once, kept, and never outlive what they were read from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import Session, select

from storage.engine import Database
from storage.tables import Episode, FactsBatch, Inference
from tasks.context import PipelineSettings
from tasks.contrast.reading import step as reading
from tasks.contrast.table import unpack

Do = Callable[..., Any]


def kept(database: Database) -> list[str]:
    with database.read() as session:
        bodies = session.exec(select(FactsBatch.body).order_by(FactsBatch.run_id, FactsBatch.part)).all()
    return sorted(one for body in bodies for one in unpack(body).episode_ids)


def current(database: Database) -> list[str]:
    with database.read() as session:
        return sorted(session.exec(select(Episode.id).where(Episode.is_current)).all())


def found(database: Database, run_id: str) -> list[dict[str, Any]]:
    with database.read() as session:
        rows = session.exec(select(Inference).where(Inference.run_id == run_id).order_by(Inference.predicate_id))
        return [row.model_dump(exclude={"id", "run_id"}) for row in rows]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The episodes whose bodies the comparison read for their facts, in order."""
    seen: list[str] = []
    real = reading.reading_of

    def watched(one: Any, *rest: Any) -> Any:
        seen.append(one.id)
        return real(one, *rest)

    monkeypatch.setattr(reading, "reading_of", watched)
    return seen


def test_a_night_reads_the_bodies_of_new_episodes_only(
    database: Database, bring: Do, night: Do, desk: Do, read: list[str]
) -> None:
    bring(desk(1, tasks=4))
    night()
    assert len(read) == len(set(read)) == 40
    bring(desk(2, tasks=1))
    night(1)
    assert len(read) == len(set(read)) == 50
    assert kept(database) == current(database)


def test_kept_facts_give_what_reading_anew_gives(database: Database, bring: Do, night: Do, desk: Do) -> None:
    bring(desk(1))
    night()
    bring(desk(2))
    with_kept = night(1)
    with database.write() as session:
        session.execute(sa.delete(FactsBatch))
    bring(desk(3, tasks=1, runs=1))
    read_anew = night(2)
    family = str(found(database, with_kept.id)[0]["family_id"])
    whole = reading.load_family(database, "lab", family, PipelineSettings())
    assert len(whole.runs) == 321
    assert {one["predicate_id"] for one in found(database, read_anew.id)} >= {
        one["predicate_id"] for one in found(database, with_kept.id) if one["verdict"] == "confirmed"
    }


@pytest.mark.parametrize("spoil", ["damage", "another reader"])
def test_facts_that_cannot_be_used_are_read_anew(
    database: Database, bring: Do, night: Do, desk: Do, read: list[str], spoil: str
) -> None:
    bring(desk(1, tasks=2))
    night()
    with database.write() as session:
        spoilt = {"body": b"no facts"} if spoil == "damage" else {"reader_version": 0}
        session.execute(sa.update(FactsBatch).values(**spoilt))
    bring(desk(2, tasks=1))
    night(1)
    assert len(read) == 20 + 30
    assert kept(database) == current(database)


def test_facts_of_a_superseded_record_do_not_stay(database: Database, bring: Do, night: Do, desk: Do) -> None:
    records = desk(1, tasks=2)
    bring(records)
    night()
    bring([{**records[0], "steps": records[0]["steps"][:3]}])
    night(1)
    assert kept(database) == current(database)


def test_a_family_in_many_parts_is_packed_again(
    database: Database, bring: Do, night: Do, desk: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_PARTS", 3)
    for number in range(5):
        bring(desk(number + 1, tasks=1, runs=3, name=f"n{number}"))
        night(number)
    with database.read() as session:
        assert _parts(session) <= 3
    assert kept(database) == current(database)


def _parts(session: Session) -> int:
    return int(session.execute(sa.select(sa.func.count()).select_from(FactsBatch)).scalar_one())
