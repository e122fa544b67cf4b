"""The clients. Every method is a flow of ``flows`` seen through a door; here is only what runs them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from collections.abc import Callable
from typing import TypeVar

import httpx

from slowwave_client._impl import background, endings, flows
from slowwave_client._impl.clock import lease_clock
from slowwave_client._impl.core import Core, OnStale
from slowwave_client._impl.doors import Awaitable, Blocking, awaitable, blocking
from slowwave_client._impl.drive_async import AsyncDriver
from slowwave_client._impl.drive_sync import SyncDriver
from slowwave_client._impl.effects import Flow
from slowwave_client._impl.endings import KeepsEpisode
from slowwave_client._impl.errors import ClientClosed

R = TypeVar("R")


class _Common:
    """What both clients are made of."""

    _core: Core

    def __init__(
        self,
        url: str,
        token: str,
        namespace: str,
        *,
        lease: float | None = None,
        on_stale: OnStale = "raise",
        client_instance: str | None = None,
        events: bool = True,
        ingest_token: str | None = None,
        clock: Callable[[], float] = lease_clock,
    ) -> None:
        self._core = Core(
            namespace=namespace,
            instance=client_instance or f"client-{uuid.uuid4()}",
            lease=lease,
            on_stale=on_stale,
            clock=clock,
        )
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": "slowwave-client"}
        self._events = events
        self._ingest_token = ingest_token
        self._closed = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._url} {self._core.namespace!r} epoch={self._core.epoch}>"

    @property
    def epoch(self) -> int | None:
        """The newest state of the store this client has seen; None before the first contact."""
        return self._core.epoch

    @property
    def connected(self) -> bool:
        """Whether the event stream is up: then a revocation arrives in under a second."""
        return self._core.connected

    @property
    def client_instance(self) -> str:
        """The name by which the server knows this client's cache."""
        return self._core.instance

    def _background(self) -> list[Flow[object]]:
        jobs: list[Flow[object]] = [background.renew(self._core)]
        if self._events:
            jobs.append(background.listen(self._core))
        return jobs

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ClientClosed("this client was closed: make a new one")


class Memory(_Common, Blocking[Core]):
    """Reviewed memory for an agent, blocking. Threads may share one; close it, or use it as a context manager.

    Args:
        url: address of the server, such as ``http://127.0.0.1:8400``.
        token: an agent's token.
        namespace: such as ``acme/support``.
        lease: longest time in seconds to serve without hearing from the server; the server's own may shorten it.
        on_stale: ``raise`` fails closed with ``MemoryStale``; ``serve_marked`` serves old answers with ``stale`` set.
        client_instance: a name for this cache; made up if absent.
        events: follow the event stream; without it a revocation arrives with the next renewal of the lease.
        ingest_token: a token of role ``ingest``, which sends the episodes that sessions keep.
        transport: an httpx transport, for tests and proxies.
        clock: seconds, monotonic, for tests.
    """

    def __init__(
        self,
        url: str,
        token: str,
        namespace: str,
        *,
        lease: float | None = None,
        on_stale: OnStale = "raise",
        client_instance: str | None = None,
        events: bool = True,
        ingest_token: str | None = None,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = lease_clock,
    ) -> None:
        super().__init__(
            url,
            token,
            namespace,
            lease=lease,
            on_stale=on_stale,
            client_instance=client_instance,
            events=events,
            ingest_token=ingest_token,
            clock=clock,
        )
        self._http = httpx.Client(base_url=url, headers=self._headers, transport=transport)
        self._stop = threading.Event()
        self._starting = threading.Lock()
        self._workers: list[tuple[threading.Thread, SyncDriver]] = []

    rules = blocking(flows.rules)
    rule = blocking(flows.rule)
    check = blocking(flows.check)
    wait_for_epoch = blocking(flows.wait_for_epoch)
    wait_until_connected = blocking(flows.wait_until_connected)

    def session(self, session_id: str, agent: str | None = None) -> Session:
        """A context in which one agent run reads; at its end its reads are reported, and its episode if it kept one."""
        return Session(self, flows.SessionCore(self._core, session_id, agent, self._ingest_token))

    def close(self) -> None:
        """Stop the threads and close the connections. Safe to call twice."""
        self._closed = True
        self._stop.set()
        for thread, driver in self._workers:
            driver.interrupt()
            thread.join(timeout=10)
        self._http.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, flow: Flow[R]) -> R:
        self._refuse_if_closed()
        if not self._workers:
            self._start()
        return SyncDriver(self._core, self._http, self._stop).run(flow)

    def _start(self) -> None:
        with self._starting:
            if self._workers:
                return
            workers = []
            for job in self._background():
                driver = SyncDriver(self._core, self._http, self._stop)
                thread = threading.Thread(target=self._work, args=(driver, job), name="slowwave-client", daemon=True)
                workers.append((thread, driver))
            self._workers = workers
            for thread, _ in workers:
                thread.start()

    def _work(self, driver: SyncDriver, job: Flow[object]) -> None:
        try:
            driver.run(_until(self._stop.is_set, job))
        finally:
            driver.disconnect()


class AsyncMemory(_Common, Awaitable[Core]):
    """Reviewed memory for an agent, on an event loop. As ``Memory``; use it inside one loop, and ``await close()``."""

    def __init__(
        self,
        url: str,
        token: str,
        namespace: str,
        *,
        lease: float | None = None,
        on_stale: OnStale = "raise",
        client_instance: str | None = None,
        events: bool = True,
        ingest_token: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = lease_clock,
    ) -> None:
        super().__init__(
            url,
            token,
            namespace,
            lease=lease,
            on_stale=on_stale,
            client_instance=client_instance,
            events=events,
            ingest_token=ingest_token,
            clock=clock,
        )
        self._http = httpx.AsyncClient(base_url=url, headers=self._headers, transport=transport)
        self._tasks: list[asyncio.Task[None]] = []

    rules = awaitable(flows.rules)
    rule = awaitable(flows.rule)
    check = awaitable(flows.check)
    wait_for_epoch = awaitable(flows.wait_for_epoch)
    wait_until_connected = awaitable(flows.wait_until_connected)

    def session(self, session_id: str, agent: str | None = None) -> AsyncSession:
        """A context in which one agent run reads; at its end its reads are reported, and its episode if it kept one."""
        return AsyncSession(self, flows.SessionCore(self._core, session_id, agent, self._ingest_token))

    async def close(self) -> None:
        """Stop the tasks and close the connections. Safe to call twice."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._tasks = []
        await self._http.aclose()

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[R]) -> R:
        self._refuse_if_closed()
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._work(job)) for job in self._background()]
        return await AsyncDriver(self._core, self._http).run(flow)

    async def _work(self, job: Flow[object]) -> None:
        driver = AsyncDriver(self._core, self._http)
        try:
            await driver.run(job)
        finally:
            await driver.disconnect()


class Session(KeepsEpisode, Blocking[flows.SessionCore]):
    """One agent run, blocking. Made by ``Memory.session``."""

    def __init__(self, memory: Memory, core: flows.SessionCore) -> None:
        self._memory = memory
        self._core = core

    rules = blocking(flows.session_rules)
    check = blocking(flows.session_check)
    report = blocking(endings.session_end)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.report()

    def _run(self, flow: Flow[R]) -> R:
        return self._memory._run(flow)


class AsyncSession(KeepsEpisode, Awaitable[flows.SessionCore]):
    """One agent run, on an event loop. Made by ``AsyncMemory.session``."""

    def __init__(self, memory: AsyncMemory, core: flows.SessionCore) -> None:
        self._memory = memory
        self._core = core

    rules = awaitable(flows.session_rules)
    check = awaitable(flows.session_check)
    report = awaitable(endings.session_end)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.report()

    async def _run(self, flow: Flow[R]) -> R:
        return await self._memory._run(flow)


def _until(stopped: Callable[[], bool], job: Flow[object]) -> Flow[None]:
    """The same flow, ended at its next effect once ``stopped`` says so."""
    effect = next(job)
    while not stopped():
        try:
            result = yield effect
        except Exception as problem:
            effect = job.throw(problem)
        else:
            effect = job.send(result)
    job.close()
