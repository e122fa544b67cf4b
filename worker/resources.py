"""What a process needs to work: settings, database, secret. Made when first used, dropped after a fork."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from storage.engine import Database
from storage.settings import Settings
from tasks.context import PipelineSettings
from tasks.pipeline import Progress, Worker
from worker.embedders import embedder_of
from worker.identity import is_dead, owner
from worker.models import drafting_of, model_of


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process, read once."""
    return Settings()


@lru_cache(maxsize=1)
def database() -> Database:
    """The database of this process."""
    return Database(settings().resolved_database_url)


def worker(of: Settings | None = None, watch: Callable[[Progress], None] = lambda _: None) -> Worker:
    """Who works here, within which limits; ``watch`` is told of every step."""
    mine = of or settings()
    return Worker(
        owner=owner(),
        secret=mine.secret(),
        lease_seconds=mine.step_lease_seconds,
        max_attempts=mine.step_attempts,
        is_dead=is_dead,
        watch=watch,
        settings=PipelineSettings(drafting=drafting_of(mine)),
        model=model_of(mine),
        embedder=embedder_of(mine),
    )


def forget() -> None:
    """Drop what was inherited: after a fork a connection must not be shared with the parent.

    The parent's sockets are left open (``close=False``): closing them here would end the parent's sessions too.
    """
    if database.cache_info().currsize:
        database().engine.dispose(close=False)
    settings.cache_clear()
    database.cache_clear()
