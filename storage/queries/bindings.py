"""Whose a session and a client instance are: the token's that came with them first."""

from __future__ import annotations

import sqlalchemy as sa
from sqlmodel import Session, col

from storage.tables import CacheGrant, ClientSession

# Written once: every read of an agent runs it, and building it costs more than running it.
_BOUND = sa.select(
    sa.select(col(ClientSession.token_id))
    .where(
        col(ClientSession.namespace) == sa.bindparam("namespace"),
        col(ClientSession.session_id) == sa.bindparam("session_id"),
    )
    .limit(1)
    .scalar_subquery(),
    sa.select(col(CacheGrant.token_id))
    .where(
        col(CacheGrant.namespace) == sa.bindparam("namespace"),
        col(CacheGrant.client_instance) == sa.bindparam("client_instance"),
    )
    .order_by(col(CacheGrant.until))
    .limit(1)
    .scalar_subquery(),
)


def tokens_bound(session: Session, namespace: str, session_id: str, client_instance: str | None) -> set[str]:
    """The tokens that declared this session and took this instance's first grant; empty while both are new.

    One row of an index each, whatever the instance was granted since: every later grant is the same token's.
    """
    given = {"namespace": namespace, "session_id": session_id, "client_instance": client_instance}
    row = session.connection().execute(_BOUND, given).one()
    return {str(token_id) for token_id in row if token_id is not None}
