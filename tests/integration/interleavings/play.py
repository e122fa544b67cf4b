"""One seeded interleaving: who acts next is drawn, everything that matters is written into a history."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from sqlmodel import select

from slowwave_client._impl import background, flows
from slowwave_client._impl.core import Core
from slowwave_client._impl.effects import Call, Connect, Disconnect, Effect, Flow, Pause, Read, Request, Response
from slowwave_client._impl.errors import SlowwaveError, TransportFailed
from slowwave_client._impl.models import RuleSet
from storage.engine import Database
from storage.tables import CacheGrant, ClientSession, Exposure
from support.history import (
    Committed,
    Declared,
    Event,
    Exposed,
    Granted,
    Indexed,
    Renewed,
    Restarted,
    Seen,
    Served,
)

from .stage import Clock, Stream, Web, seconds_of
from .writing import Writer

QUESTIONS = ("cancel an order", "cancel an order", "refund an order")
STEPS = 60


@dataclass
class Running:
    """A flow of a client, and what it waits for."""

    flow: Flow[Any]
    session: str = ""
    waits: Effect | None = None
    until: float = 0.0
    answer: Response | None = None


@dataclass
class Client:
    """One agent's process: a core, what runs on it, and its stream."""

    name: str
    core: Core
    running: list[Running] = field(default_factory=list)
    stream: Stream | None = None
    web: Web | None = None
    is_cut_off: bool = False
    seen: tuple[int | None, float] = (None, float("-inf"))


class Play:
    """One namespace, two clients, one writer, two web processes."""

    def __init__(
        self, database: Database, clock: Clock, webs: list[Web], namespace: str, weights: dict[str, int], seed: int,
        make_core: Callable[..., Core] = Core,
    ) -> None:  # fmt: skip
        self._chance = Random(seed)
        self._database, self._clock, self._webs, self._namespace = database, clock, webs, namespace
        self._weights, self._make_core = weights, make_core
        self._loop = asyncio.new_event_loop()
        self._names = 0
        self.history: list[Event] = []
        self.tally: Counter[str] = Counter()
        self._writer = Writer(database, namespace, clock, self._chance)
        self._note_commits()
        self._clients = [self._client(), self._client()]

    def run(self) -> list[Event]:
        """Play it; the history, rows of the store included."""
        acts = list(self._weights)
        try:
            for _ in range(STEPS):
                (act,) = self._chance.choices(acts, list(self._weights.values()))
                getattr(self, f"_{act}")(self._chance.choice(self._clients))
                self._note_commits()
            return [*self.history, *self._rows()]
        finally:
            for client in self._clients:
                self._close_stream(client)
            self._loop.close()

    # -- acts

    def _read(self, client: Client) -> None:
        session = self._chance.choice((f"{client.name}/a", f"{client.name}/b"))
        asked = flows.SessionCore(client.core, session, "bot")
        before = self.tally["answers"]
        self._start(client, flows.session_rules(asked, self._chance.choice(QUESTIONS)), session)
        self.tally["hits"] += self.tally["answers"] - before

    def _serve(self, client: Client) -> None:
        """A web process handles one request; its answer is on the wire then."""
        if (run := self._one(client, lambda run: isinstance(run.waits, Call) and run.answer is None)) is None:
            return
        assert isinstance(run.waits, Call)
        if client.is_cut_off:
            self._go_on(client, run, problem=TransportFailed("ConnectError: no route"))
            return
        web = self._chance.choice(self._webs)
        if "interrupt" in self._weights and self._chance.random() < 0.4:
            web.store.before_write = self._write_inside
        run.answer = web.answer(run.waits.request)
        web.store.before_write = None
        self._note_commits()
        self._note_index(web, run.waits.request, run.answer)

    def _deliver(self, client: Client) -> None:
        """An answer arrives, whatever happened since it was written."""
        if (run := self._one(client, lambda run: run.answer is not None)) is None:
            return
        answer, run.answer = run.answer, None
        assert answer is not None
        data = json.loads(answer.content)
        self.tally["late"] += client.core.epoch is not None and data.get("epoch", client.core.epoch) < client.core.epoch
        self._go_on(client, run, answer)

    def _lose(self, client: Client) -> None:
        if (run := self._one(client, lambda run: run.answer is not None)) is None:
            return
        run.answer = None
        self._go_on(client, run, problem=TransportFailed("ReadTimeout"))

    def _write(self, _: Client) -> None:
        self._writer.act()
        self._note_commits()

    def _tell(self, _: Client) -> None:
        """One process hears of what was committed; the other one lags."""
        self._chance.choice(self._webs).tell(self._loop)

    def _hear(self, client: Client) -> None:
        """The client reads what its stream has, connects, or goes on after a pause."""
        run = self._one(client, lambda run: isinstance(run.waits, Connect | Read))
        if run is None or client.is_cut_off:
            return
        if isinstance(run.waits, Connect):
            self._close_stream(client)
            client.web = self._chance.choice(self._webs)
            client.stream = client.web.stream(self._loop, run.waits.request)
            self.tally["connected"] += 1
            self._go_on(client, run, Response(200, {}, b""))
        elif (chunk := self._chunk(client)) is not None:
            self._go_on(client, run, chunk)

    def _miss(self, client: Client) -> None:
        """Something between drops what the stream had to say."""
        if client.stream is not None and client.stream.take() is not None:
            self.tally["dropped"] += 1

    def _cut(self, client: Client) -> None:
        run = self._one(client, lambda run: isinstance(run.waits, Read))
        if run is not None:
            self._close_stream(client)
            self.tally["cuts"] += 1
            self._go_on(client, run, b"")

    def _part(self, client: Client) -> None:
        """The client is cut off, or back."""
        client.is_cut_off = not client.is_cut_off

    def _pass(self, _: Client) -> None:
        self._clock.seconds += self._chance.choice((0.1, 1.0, 4.0, 9.0))
        for each in self._clients:
            for run in list(each.running):
                if isinstance(run.waits, Pause) and run.until <= self._clock():
                    self._go_on(each, run)

    def _restart(self, client: Client) -> None:
        """The client's process dies and comes back: its cache is lost, and what was on the wire is never read."""
        self._close_stream(client)
        self.history.append(Restarted(self._clock(), client.name))
        self.tally["restarts"] += 1
        self._clients[self._clients.index(client)] = self._client()

    def _rebuild(self, _: Client) -> None:
        self._chance.choice(self._webs).lose_indexes()

    def _interrupt(self, client: Client) -> None:
        """A request into the middle of which a write falls; see ``_serve``."""
        self._serve(client)

    # -- flows

    def _client(self) -> Client:
        self._names += 1
        name = f"{self._namespace}/client-{self._names}"
        on_stale = self._chance.choice(("raise", "raise", "serve_marked"))
        core = self._make_core(namespace=self._namespace, instance=name, on_stale=on_stale, clock=self._clock)
        client = Client(name, core)
        core.watch(lambda: self._note_state(client))
        spread = self._chance.random
        for flow in (background.renew(core, spread), background.listen(core, spread)):
            self._start(client, flow)
        return client

    def _start(self, client: Client, flow: Flow[Any], session: str = "") -> None:
        run = Running(flow, session)
        client.running.append(run)
        self._go_on(client, run)

    def _go_on(self, client: Client, run: Running, sent: Any = None, problem: Exception | None = None) -> None:
        """Send a flow what it waited for, up to the next thing that takes time."""
        while True:
            try:
                run.waits = run.flow.throw(problem) if problem is not None else run.flow.send(sent)
            except StopIteration as done:
                client.running.remove(run)
                self._note_serve(client, run, done.value)
                return
            except SlowwaveError as refusal:
                client.running.remove(run)
                self.tally[type(refusal).__name__] += 1
                return
            sent, problem = None, None
            if isinstance(run.waits, Disconnect):
                self._close_stream(client)
                continue
            if isinstance(run.waits, Pause):
                run.until = self._clock() + run.waits.seconds
            return

    def _one(self, client: Client, wanted: Callable[[Running], bool]) -> Running | None:
        found = [run for run in client.running if wanted(run)]
        return self._chance.choice(found) if found else None

    def _chunk(self, client: Client) -> bytes | None:
        return client.stream.take() if client.stream is not None else b""

    @staticmethod
    def _close_stream(client: Client) -> None:
        stream, client.stream = client.stream, None
        if stream is not None:
            stream.close()

    # -- history

    def _note_commits(self) -> None:
        known = sum(isinstance(event, Committed) for event in self.history)
        self.history.extend(self._writer.commits[known:])

    def _write_inside(self) -> None:
        self.tally["interrupted"] += 1
        self._write(self._clients[0])

    def _note_state(self, client: Client) -> None:
        epoch, deadline = client.core.epoch, client.core.deadline
        if epoch is not None and epoch != client.seen[0]:
            self.history.append(Seen(self._clock(), client.name, epoch))
        if deadline != client.seen[1]:
            self.history.append(Renewed(self._clock(), client.name, deadline))
        client.seen = (epoch, deadline)

    def _note_serve(self, client: Client, run: Running, given: Any) -> None:
        if not isinstance(given, RuleSet):
            return
        self.tally["answers"] += 1
        self.tally["marked"] += given.stale
        for rule in given:
            self.tally["serves"] += 1
            serve = Served(self._clock(), client.name, run.session, (rule.id, rule.version), given.stale)
            self.history.append(serve)

    def _note_index(self, web: Web, request: Request, answer: Response) -> None:
        if request.path != "/v1/rules/search":
            return
        assert answer.status == 200, answer.content
        data = json.loads(answer.content)
        given = frozenset((one["id"], one["version"]) for one in data["rules"])
        self.tally["searches"] += 1
        self.history.append(Indexed(self._clock(), web.name, data["epoch"], given))

    def _rows(self) -> list[Event]:
        rows: list[Event] = []
        with self._database.read() as session:
            for one in session.exec(select(Exposure).where(Exposure.namespace == self._namespace)):
                rows.append(Exposed(seconds_of(one.at), one.session_id, (one.rule_id, one.version)))
            for two in session.exec(select(CacheGrant).where(CacheGrant.namespace == self._namespace)):
                key = (two.rule_id, two.version)
                rows.append(Granted(seconds_of(two.since), two.client_instance, key, seconds_of(two.until)))
            for three in session.exec(select(ClientSession).where(ClientSession.namespace == self._namespace)):
                rows.append(Declared(seconds_of(three.started_at), three.session_id, three.client_instance))
        return rows
