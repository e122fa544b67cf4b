"""What every request shares: settings, database, clock, templates. Built once in ``create_app``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment

from review_ui.counts import Counts
from review_ui.figures import Figures
from storage.engine import Database
from storage.settings import Settings

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Site:
    """The app's parts."""

    settings: Settings
    database: Database
    clock: Clock
    templates: Environment
    secret: bytes
    counts: Counts
    figures: Figures

    def page(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """A rendered template. Templates get finished values and compute nothing."""
        # A lone surrogate never reaches here from stored text (it is written out), but must not break a page.
        body = self.templates.get_template(template).render(**values).encode("utf-8", "replace")
        return HTMLResponse(body, status_code=status)


def get_site(request: Request) -> Site:
    """The site of the app that answers."""
    site: Site = request.app.state.site
    return site


SiteDep = Annotated[Site, Depends(get_site)]
