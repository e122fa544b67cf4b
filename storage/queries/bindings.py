"""Whose a session and a client instance are: the token's that came with them first."""

from __future__ import annotations

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.tables import CacheGrant, ClientSession


def tokens_bound(session: Session, namespace: str, session_id: str, client_instance: str | None) -> set[str]:
    """The tokens that declared this session and took this instance's first grant; empty while both are new.

    One row of an index each, whatever the instance was granted since: every later grant is the same token's.
    """
    declared = (
        sa.select(col(ClientSession.token_id))
        .where(col(ClientSession.namespace) == namespace, col(ClientSession.session_id) == session_id)
        .limit(1)
    )
    granted = (
        sa.select(col(CacheGrant.token_id))
        .where(col(CacheGrant.namespace) == namespace, col(CacheGrant.client_instance) == client_instance)
        .order_by(col(CacheGrant.until))
        .limit(1)
    )
    row = session.execute(sa.select(declared.scalar_subquery(), granted.scalar_subquery())).one()
    return {str(token_id) for token_id in row if token_id is not None}
