"""Writes on model replies: each is kept as soon as it is there, and none is written over."""

from __future__ import annotations

from sqlmodel import Session

from storage.queries.replies import replies_to
from storage.tables import ModelReply


def keep_reply(session: Session, reply: ModelReply) -> ModelReply:
    """Add a reply after those there are to the same prompt; its ``attempt`` is set here."""
    before = replies_to(session, reply.namespace, reply.prompt_hash, reply.model)
    reply.attempt = before[-1].attempt + 1 if before else 1
    session.add(reply)
    session.flush()
    return reply
