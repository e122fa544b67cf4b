"""What every request shares. Built once in ``create_app``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from fastapi import Depends, Request

from read_api.indexes import Indexes
from read_api.metrics import Metrics
from read_api.notifier import Notifier
from read_api.rates import Rates
from read_api.selection import estimate_tokens
from storage.engine import Database
from storage.ids import token_hash
from storage.settings import Settings

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Site:
    """The app's parts. ``clock`` gives aware datetimes, ``count_tokens`` the tokens of a text.

    ``database`` acts for the token of the request; ``ingest`` is what takes episodes in, which may be another role's.
    """

    settings: Settings
    database: Database
    notifier: Notifier
    indexes: Indexes
    exemplars: Indexes
    metrics: Metrics
    rates: Rates
    clock: Clock
    secret: bytes
    ingest: Database
    count_tokens: Callable[[str], int] = estimate_tokens


async def get_site(request: Request) -> Site:
    """The site of the app that answers, its database acting for whoever sent the request: the one place for that.

    Asynchronous, though nothing is awaited: otherwise each request would wait for a thread just for this.
    """
    site: Site = request.app.state.site
    sent = bearer_of(request)
    return replace(site, database=site.database.acting(*([token_hash(sent)] if sent else [])))


def bearer_of(request: Request) -> str:
    """The bearer token that was sent, known or not; empty if there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


SiteDep = Annotated[Site, Depends(get_site)]
