"""Who reads a candidate: a courtesy between reviewers, which must never keep anybody from reading."""

from __future__ import annotations

import logging

from sqlalchemy.exc import DBAPIError

from review_ui.access import Viewer
from review_ui.site import Site
from tasks.stage.reserve_step import Holder, reserve

log = logging.getLogger("slowwave.review_ui")


def reserve_for(site: Site, who: Viewer, namespace: str, candidate_id: str) -> Holder | None:
    """Hold an open candidate for whoever looks at it, if they may decide on it; who holds it now, or None.

    Call it outside any open session. A database that does not take the write is logged, and nobody holds it then.
    """
    try:
        return reserve(site.database, namespace, candidate_id, reviewer=who.reviewer(), now=site.clock())
    except DBAPIError as error:
        log.warning("reservation.failed", exc_info=error, extra={"candidate": candidate_id, "namespace": namespace})
        return None
