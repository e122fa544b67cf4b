"""Episode bodies: compressed, then encrypted under a key of their own, so that erasing the key erases the text."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlmodel import Session, col, select

from storage.ids import canonical_json
from storage.tables import EpisodeBody, EpisodeKey

CODEC = "zlib+aesgcm"


class BodyGone(LookupError):
    """The body of an episode was purged, or never written; the tombstone on its row says when."""


@dataclass(frozen=True)
class SealedBody:
    """A body ready to be written: compressing and encrypting is done before the transaction, not in it."""

    key: EpisodeKey
    body: EpisodeBody


def seal_body(namespace: str, episode_id: str, payload: dict[str, Any]) -> SealedBody:
    """Compress and encrypt a body under a fresh key. Touches no database."""
    plain = canonical_json(payload)
    key, nonce = AESGCM.generate_key(256), os.urandom(12)
    data = AESGCM(key).encrypt(nonce, zlib.compress(plain, 3), _bound_to(namespace, episode_id))
    return SealedBody(
        EpisodeKey(namespace=namespace, episode_id=episode_id, key=key),
        EpisodeBody(namespace=namespace, episode_id=episode_id, codec=CODEC, nonce=nonce, data=data, size=len(plain)),
    )


def save_body(session: Session, namespace: str, episode_id: str, payload: dict[str, Any]) -> int:
    """Write the body once; returns its size in bytes before compression."""
    sealed = seal_body(namespace, episode_id, payload)
    session.add(sealed.key)
    session.add(sealed.body)
    return sealed.body.size


def load_body(session: Session, namespace: str, episode_id: str) -> dict[str, Any]:
    """The payload of one episode.

    Raises:
        BodyGone: if it was purged.
    """
    found = load_bodies(session, namespace, [episode_id])
    if episode_id not in found:
        raise BodyGone(f"the body of episode {episode_id} in {namespace} is gone: it was purged")
    return found[episode_id]


def load_bodies(session: Session, namespace: str, episode_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Payloads by episode id; purged ones are absent. Ask for some hundreds at a time."""
    statement = (
        select(EpisodeBody, EpisodeKey)
        .join(
            EpisodeKey,
            (col(EpisodeKey.namespace) == col(EpisodeBody.namespace))
            & (col(EpisodeKey.episode_id) == col(EpisodeBody.episode_id)),
        )
        .where(col(EpisodeBody.namespace) == namespace, col(EpisodeBody.episode_id).in_(list(episode_ids)))
    )
    return {body.episode_id: _open(body, key) for body, key in session.exec(statement)}


def _open(body: EpisodeBody, key: EpisodeKey) -> dict[str, Any]:
    plain = AESGCM(key.key).decrypt(body.nonce, body.data, _bound_to(body.namespace, body.episode_id))
    return _parsed(zlib.decompress(plain))


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        payload: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        # A lone surrogate, which hostile records hold: written escaped, and only the slow parser takes it back.
        payload = json.loads(text)
    return payload


def _bound_to(namespace: str, episode_id: str) -> bytes:
    return f"{namespace}\x00{episode_id}".encode()
