"""Bodies: whole, compressed, encrypted each under a key of its own, gone with that key."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
import sqlalchemy as sa
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlmodel import select

from storage import bodies
from storage.engine import Database
from storage.episodes import replace_body
from storage.sealing import UnknownCodec
from storage.tables import EpisodeBody, EpisodeKey
from support import rows

PAYLOAD: dict[str, Any] = {
    "task": "Return the blue kettle — ü, 漢字, \U0001f375 and a lone \ud800",
    "steps": [{"id": "1", "kind": "observation", "text": "plenty of text " * 500, "is_error": False}],
    "reward": 0.5,
}


@pytest.fixture
def kept(database: Database) -> Database:
    """A store with the bodies of three episodes."""
    with database.write() as session:
        rows.add(session, rows.namespace())
        for name in ("ep-1", "ep-2", "ep-3"):
            rows.with_body(session, name, {**PAYLOAD, "id": name})
    return database


def test_a_body_comes_back_as_it_went_in(kept: Database) -> None:
    with kept.read() as session:
        assert bodies.load_body(session, rows.SPACE, "ep-1") == {**PAYLOAD, "id": "ep-1"}


def test_bodies_come_by_id_and_unknown_ones_are_absent(kept: Database) -> None:
    with kept.read() as session:
        loaded = bodies.load_bodies(session, rows.SPACE, ["ep-1", "ep-3", "unknown"])
    assert {name: body["id"] for name, body in loaded.items()} == {"ep-1": "ep-1", "ep-3": "ep-3"}


def test_a_body_of_another_namespace_is_not_found(kept: Database) -> None:
    with kept.read() as session:
        assert bodies.load_bodies(session, "other", ["ep-1"]) == {}


def test_what_is_stored_is_small_and_unreadable(kept: Database) -> None:
    with kept.read() as session:
        for body in session.exec(select(EpisodeBody)):
            assert len(body.data) < body.size / 10
            assert b"kettle" not in body.data


def test_each_body_has_a_key_of_its_own(kept: Database) -> None:
    with kept.read() as session:
        assert len({row.key for row in session.exec(select(EpisodeKey))}) == 3


def test_erasing_the_key_erases_the_text(kept: Database) -> None:
    with kept.write() as session:
        session.delete(session.get_one(EpisodeKey, (rows.SPACE, "ep-1")))
    with kept.read() as session:
        with pytest.raises(bodies.BodyGone, match="ep-1 in acme/support is gone"):
            bodies.load_body(session, rows.SPACE, "ep-1")
        assert bodies.load_body(session, rows.SPACE, "ep-2")["id"] == "ep-2"


@pytest.mark.parametrize("columns", [("data", "nonce"), ("data",), ("nonce",)])
def test_a_body_moved_to_another_episode_does_not_open(kept: Database, columns: tuple[str, ...]) -> None:
    with kept.write() as session:
        source, target = (session.get_one(EpisodeBody, (rows.SPACE, name)) for name in ("ep-1", "ep-2"))
        for column in columns:
            setattr(target, column, getattr(source, column))
        session.get_one(EpisodeKey, (rows.SPACE, "ep-2")).key = session.get_one(EpisodeKey, (rows.SPACE, "ep-1")).key
    with kept.read() as session, pytest.raises(InvalidTag):
        bodies.load_body(session, rows.SPACE, "ep-2")


def test_a_changed_byte_does_not_open(kept: Database) -> None:
    with kept.write() as session:
        body = session.get_one(EpisodeBody, (rows.SPACE, "ep-1"))
        session.execute(sa.update(EpisodeBody).values(data=body.data[:-1] + bytes([body.data[-1] ^ 1])))
    with kept.read() as session, pytest.raises(InvalidTag):
        bodies.load_body(session, rows.SPACE, "ep-1")


def test_a_replaced_body_is_under_a_fresh_key(kept: Database) -> None:
    with kept.read() as session:
        before = session.get_one(EpisodeKey, (rows.SPACE, "ep-1")).key
    with kept.write() as session:
        replace_body(session, bodies.seal_body(rows.SPACE, "ep-1", {"id": "ep-1", "steps": []}))
    with kept.read() as session:
        assert bodies.load_body(session, rows.SPACE, "ep-1") == {"id": "ep-1", "steps": []}
        assert session.get_one(EpisodeKey, (rows.SPACE, "ep-1")).key != before


def test_a_body_that_an_older_version_wrote_is_still_read(kept: Database) -> None:
    key, nonce = AESGCM.generate_key(256), b"n" * 12
    plain = zlib.compress(json.dumps({"id": "ep-1", "steps": []}).encode(), 3)
    data = AESGCM(key).encrypt(nonce, plain, f"{rows.SPACE}\x00ep-1".encode())
    with kept.write() as session:
        body = session.get_one(EpisodeBody, (rows.SPACE, "ep-1"))
        body.codec, body.nonce, body.data = "zlib+aesgcm", nonce, data
        session.get_one(EpisodeKey, (rows.SPACE, "ep-1")).key = key
    with kept.read() as session:
        assert bodies.load_body(session, rows.SPACE, "ep-1") == {"id": "ep-1", "steps": []}


def test_a_body_that_a_newer_version_wrote_says_so(kept: Database) -> None:
    with kept.write() as session:
        session.get_one(EpisodeBody, (rows.SPACE, "ep-1")).codec = "brotli+aesgcm"
    with kept.read() as session, pytest.raises(UnknownCodec, match=r"ep-1 is in 'brotli\+aesgcm'"):
        bodies.load_body(session, rows.SPACE, "ep-1")
