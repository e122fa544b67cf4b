"""The agents' side as one ASGI app. Nothing is read from the environment here: parts are arguments."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from read_api import episodes, errors, events, exemplars, health, rules, sessions, startup
from read_api.head import Head
from read_api.indexes import Indexes
from read_api.limits import BodyLimit
from read_api.metrics import Measured, Metrics
from read_api.notifier import Notifier
from read_api.rates import Rates
from read_api.refusals import EVERYWHERE, document, refusals
from read_api.site import Clock, Site
from read_api.wake import RedisWake
from storage.engine import Database
from storage.settings import Settings


def create_app(
    settings: Settings,
    database: Database,
    notifier: Notifier | None = None,
    clock: Clock = lambda: datetime.now(UTC),
    ingest: Database | None = None,
) -> FastAPI:
    """The agents' side over one database; ``ingest`` is the same one for the role that takes episodes in, if another.

    The notifier starts with the app and is closed with it; mounted in another app, whose lifespan is the only one that
    runs, it starts with the first event stream, and whoever mounts it calls ``app.state.site.notifier.close()``.
    """
    metrics = notifier.metrics if notifier is not None else Metrics()
    notifier = notifier or Notifier(database, RedisWake(settings.resolved_redis_url), metrics)
    site = Site(
        settings, database, notifier, Indexes(), Indexes(), metrics, Rates(settings, time.monotonic), clock,
        settings.secret(), ingest or database,
    )  # fmt: skip

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        site.notifier.start()
        yield
        await run_in_threadpool(site.notifier.close)

    app = FastAPI(
        title="Slowwave: promoted memory for agents",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        responses=refusals(*EVERYWHERE),
    )
    app.state.site = site
    app.add_middleware(BodyLimit, large=settings.max_body_bytes)
    app.add_middleware(Measured, metrics=metrics)
    app.add_middleware(Head)
    for topic in (rules, exemplars, startup, events, sessions, episodes, health):
        app.include_router(topic.router)
    errors.install(app)
    document(app)
    return app
