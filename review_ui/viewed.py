"""Who read protected text, where a namespace's policy asks for that: the key ``audit_views``.

A view is written before the text is shown, so a store that cannot take it shows nothing: protected means protected.
"""

from __future__ import annotations

from datetime import timedelta

from review_ui.access import Viewer
from review_ui.site import Site
from storage import audit
from storage.ids import keyed_hash
from storage.queries.pages_audit import acted_since
from storage.queries.people import policy_of

ACTION = "text.viewed"
KEY = "audit_views"
AGAIN_AFTER = timedelta(hours=1)
"""Reloading, paging and deciding within this time is the same reading by the same page session."""


def record_view(site: Site, who: Viewer, namespace: str, target: str) -> None:
    """Write that this person is shown a text; nothing where the policy does not ask for it.

    Call it before the page is made, outside any open session, with the target as the audit log names it:
    ``episode:<id>`` or ``candidate:<id>``. One row an hour for each page session and target.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: if it could not be written; the text must not be shown then.
    """
    with site.database.read() as session:
        if policy_of(session, namespace).get(KEY) is not True:
            return
        now = site.clock()
        reading = {"session": keyed_hash(site.secret, "viewed", who.session_id, length=16)}
        since = now - AGAIN_AFTER
        found = acted_since(session, who.reviewer().actor, ACTION, namespace=namespace, target=target, since=since)
        if any(entry.detail == reading for entry in found):
            return
    with site.database.write() as session:
        audit.record(
            session,
            actor=who.reviewer().actor,
            action=ACTION,
            namespace=namespace,
            target=target,
            detail=reading,
            now=now,
        )
