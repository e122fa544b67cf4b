"""Episode bodies: compressed, then encrypted under a key of their own, so that erasing the key erases the text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson
from sqlmodel import Session, col, select

from storage.sealing import SealedBody, seal_body, unseal
from storage.tables import EpisodeBody, EpisodeKey

__all__ = ["BodyGone", "SealedBody", "load_bodies", "load_body", "save_body", "seal_body"]


class BodyGone(LookupError):
    """The body of an episode was purged, or never written; the tombstone on its row says when."""


def save_body(session: Session, namespace: str, episode_id: str, payload: dict[str, Any]) -> int:
    """Write the body once; returns its size in bytes before compression."""
    sealed = seal_body(namespace, episode_id, payload)
    session.add(EpisodeKey(**sealed.key_row()))
    session.add(EpisodeBody(**sealed.body_row()))
    return sealed.size


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
    return _parsed(unseal(body.namespace, body.episode_id, body.codec, key.key, body.nonce, body.data))


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        payload: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError:
        # A lone surrogate, which hostile records hold: written escaped, and only the slow parser takes it back.
        payload = json.loads(text)
    return payload
