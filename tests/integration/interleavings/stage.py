"""What the interleavings are played on: two web processes over one store, one clock, and a wire that the test moves.

The apps, their notifiers and event streams, the store and the clients' cores and flows are the real ones. Only time,
and the moment at which anything arrives, is the test's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from read_api.app import create_app
from read_api.auth import Principal
from read_api.events import events, open_stream
from read_api.notifier import Notifier
from read_api.wake import Wake
from slowwave_client._impl.effects import Request, Response
from storage.engine import Database
from storage.ids import token_hash
from storage.people import add_token
from storage.queries.tokens import token_by_hash
from storage.settings import Settings

BEGINNING = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
LEASE = 15


class Clock:
    """Seconds that pass when told to, for the clients; the same moment as a date, for the apps."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def date(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.seconds)


def seconds_of(date: datetime) -> float:
    """A date of a row, on the clients' clock."""
    return (date - BEGINNING).total_seconds()


class Asleep(Wake):
    """Wakes the notifier's thread never: the test reads the outbox when it is the notifier's turn."""

    def wait(self, stop: Any) -> None:
        stop.wait()

    def close(self) -> None:
        return


class Interruptible:
    """A store that lets the test act between a request's reads and its writes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.before_write: Callable[[], None] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def acting(self, *_token_hashes: str) -> Interruptible:
        """The same one: what the owner's connection sees hangs on no token."""
        return self

    @contextmanager
    def write(self) -> Iterator[Any]:
        act, self.before_write = self.before_write, None
        if act is not None:
            act()
        with self._database.write() as session:
            yield session


class Stream:
    """One event stream of an app: asked for its next bytes, it gives what has come by then."""

    def __init__(self, loop: asyncio.AbstractEventLoop, body: Any) -> None:
        self._loop, self._body = loop, body
        self._next = loop.create_task(anext(body, b""))

    def take(self) -> bytes | None:
        """The next bytes; None if nothing came yet."""
        turn(self._loop)
        if not self._next.done():
            return None
        taken: bytes = self._next.result()
        self._next = self._loop.create_task(anext(self._body, b""))
        return taken

    def close(self) -> None:
        self._next.cancel()
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._next)
        self._loop.run_until_complete(self._body.aclose())


class Web:
    """One web process."""

    def __init__(self, name: str, settings: Settings, database: Database, clock: Clock, token: str) -> None:
        self.name = name
        self.store = Interruptible(database)
        self.notifier = Notifier(database, Asleep(), clock=clock.date)
        self.app = create_app(settings, self.store, self.notifier, clock.date)  # type: ignore[arg-type]
        with database.read() as session:
            found = token_by_hash(session, token_hash(token))
        assert found is not None
        self._who = Principal(found[0].id, found[0].role, tuple(found[0].namespaces))
        self._requests = TestClient(self.app, headers={"Authorization": f"Bearer {token}"})

    def __enter__(self) -> Web:
        self._requests.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._requests.__exit__(None, None, None)

    def answer(self, request: Request) -> Response:
        """Handle one request to its end."""
        sent = self._requests.request(
            request.method,
            request.path,
            params=dict(request.params),
            json=dict(request.body) if request.body is not None else None,
            headers=dict(request.headers),
        )
        return Response(sent.status_code, {name.lower(): value for name, value in sent.headers.items()}, sent.content)

    def stream(self, loop: asyncio.AbstractEventLoop, request: Request) -> Stream:
        """Open an event stream, which resumes where the request says."""
        site, resumed = self.app.state.site, request.headers.get("Last-Event-ID")
        opening = open_stream(request.params["namespace"], self._who, site, resumed)
        return Stream(loop, loop.run_until_complete(events(opening, site)).body_iterator)

    def tell(self, loop: asyncio.AbstractEventLoop) -> None:
        """The notifier's turn."""
        self.notifier.read_once()
        turn(loop)

    def lose_indexes(self) -> None:
        """What a restarted process has left of its indexes: nothing."""
        site = self.app.state.site
        self.app.state.site = replace(site, indexes=type(site.indexes)())


def turn(loop: asyncio.AbstractEventLoop) -> None:
    """Let everything that is ready run."""
    for _ in range(4):
        loop.run_until_complete(asyncio.sleep(0))


@contextmanager
def stage(folder: Path, database: Database) -> Iterator[tuple[Clock, list[Web]]]:
    """A clock and two web processes that know nothing of each other."""
    settings = Settings(home=folder, redis_url="redis://127.0.0.1:1/0", secret_key="k" * 40, lease_seconds=LEASE)
    with database.write() as session:
        _, token = add_token(session, role="agent", namespaces=("acme",), now=BEGINNING)
    clock = Clock()
    with Web("web-0", settings, database, clock, token) as one, Web("web-1", settings, database, clock, token) as two:
        yield clock, [one, two]
