"""An episode as it was recorded."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from review_ui.access import ViewerDep
from review_ui.errors import NotFound
from review_ui.site import SiteDep
from review_ui.views.episodes import episode_view, whole_step
from storage.bodies import load_bodies
from storage.queries import pages
from storage.queries.taint import tainted_among

router = APIRouter()


@router.get("/episodes/{namespace:path}/{episode_id}")
def show_episode(
    site: SiteDep,
    who: ViewerDep,
    namespace: str,
    episode_id: str,
    page: Annotated[int, Query(ge=1)] = 1,
    step: str = "",
    whole: str = "",
    part: int = 1,
) -> Response:
    """The trace, a page of steps at a time; ``whole`` shows one long step to its end."""
    with site.database.read() as session:
        episode = pages.episode_row(session, who.namespaces, namespace, episode_id)
        if episode is None:
            raise NotFound("There is no such episode in the namespaces you review.", "Go back to where its link was.")
        payload = load_bodies(session, namespace, [episode_id]).get(episode_id)
        reads = pages.rules_read_in_session(session, namespace, episode.session_id) if episode.session_id else []
        citing = pages.candidates_citing(session, namespace, episode_id)
        tainted = bool(tainted_among(session, namespace, [episode_id]))
    view = episode_view(episode, payload, page=page, step=step, reads=reads, citing=citing, tainted=tainted)
    one = whole_step(namespace, episode_id, payload, whole, part) if whole and payload else None
    return site.page("episode.html", who=who, active="", view=view, whole=one)
