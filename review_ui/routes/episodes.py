"""An episode as it was recorded."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from sqlmodel import Session

from review_ui.access import ViewerDep
from review_ui.errors import NotFound
from review_ui.site import SiteDep
from review_ui.viewed import record_view
from review_ui.views.episodes import episode_view, whole_step
from review_ui.views.ties import Ties
from review_ui.words import _
from storage.bodies import load_bodies
from storage.queries import pages_episodes
from storage.queries.lineage import claimed_reads, reads_of_sessions
from storage.queries.rules import versions_by_keys
from storage.tables import Episode

router = APIRouter()


@router.get("/episodes/{namespace:path}/{episode_id}")
def show_episode(
    site: SiteDep,
    who: ViewerDep,
    namespace: str,
    episode_id: str,
    page: Annotated[int, Query(ge=1)] = 1,
    step: str = "",
    only: str = "",
    whole: str = "",
    part: int = 1,
) -> Response:
    """The run, a page of steps at a time; ``only`` leaves some of them, ``whole`` shows one long step to its end."""
    with site.database.read() as session:
        episode = pages_episodes.episode_row(session, who.namespaces, namespace, episode_id)
        if episode is None:
            raise NotFound(
                _("There is no such episode in the namespaces you review."), _("Go back to where its link was.")
            )
        payload = load_bodies(session, namespace, [episode_id]).get(episode_id)
        ties = _ties(session, episode)
    record_view(site, who, namespace, f"episode:{episode_id}")
    view = episode_view(episode, payload, ties, page=page, step=step, only=only)
    one = whole_step(namespace, episode_id, payload, whole, part) if whole and payload else None
    return site.page("episode.html", who=who, active="", view=view, whole=one)


def _ties(session: Session, episode: Episode) -> Ties:
    namespace = episode.namespace
    answers, read = {}, set()
    if episode.session_id is not None:
        answers = pages_episodes.answers_to_session(session, namespace, episode.session_id)
        read = reads_of_sessions(session, namespace, [episode.session_id]).get(episode.session_id, set())
    claimed = claimed_reads(episode.details.get("memory_reads"))
    ways = {
        key: [way for way, keys in (("answer", set(answers)), ("cache", read - set(answers)), ("claim", claimed))
              if key in keys]
        for key in read | claimed
    }  # fmt: skip
    family = episode.family_id
    return Ties(
        states={(row.rule_id, row.version): row.state for row in versions_by_keys(session, namespace, ways)},
        ways=ways,
        answered=answers,
        revoked=pages_episodes.revoked_above(session, namespace, ways),
        citing=pages_episodes.citing(session, namespace, episode.id),
        earlier=pages_episodes.earlier_revisions(session, episode),
        current=pages_episodes.current_revision(session, episode),
        place=pages_episodes.place_of(session, namespace, episode.id),
        family=pages_episodes.family_label(session, namespace, family) if family is not None else None,
        consumed=pages_episodes.consumed_by(session, namespace, episode.id),
    )
