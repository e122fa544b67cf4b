"""Answers that several endpoints give."""

from __future__ import annotations

from fastapi.responses import Response

from review_ui.access import Viewer
from review_ui.site import Site
from tasks.promote.errors import DecisionRefused


def refused(site: Site, who: Viewer, refusal: DecisionRefused, link: str, link_words: str) -> Response:
    """A decision was not taken: why, and what to do now. An error's docstring is its advice."""
    advice = (type(refusal).__doc__ or "").rpartition(";")[2].strip().rstrip(".")
    return site.page(
        "message.html",
        status=refusal.status,
        who=who,
        active="",
        title="Nothing was decided",
        what=str(refusal),
        now=f"{advice[:1].upper()}{advice[1:]}." if advice else "",
        link=link,
        link_words=link_words,
    )
