"""What every request shares. Built once in ``create_app``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from read_api.indexes import Indexes
from read_api.metrics import Metrics
from read_api.notifier import Notifier
from storage.engine import Database
from storage.settings import Settings

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Site:
    """The app's parts. ``clock`` gives aware datetimes."""

    settings: Settings
    database: Database
    notifier: Notifier
    indexes: Indexes
    exemplars: Indexes
    metrics: Metrics
    clock: Clock
    secret: bytes


def get_site(request: Request) -> Site:
    """The site of the app that answers."""
    site: Site = request.app.state.site
    return site


SiteDep = Annotated[Site, Depends(get_site)]
