"""A client's core on a clock of the test's, and a server played by the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from slowwave_client._impl.core import Core
from slowwave_client._impl.effects import Call, Flow, Request, Response
from slowwave_client._impl.errors import TransportFailed
from slowwave_client._impl.models import EvidenceFigures, Rule, RuleSet


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def pass_(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Server:
    """Answers calls as a store at ``epoch`` would; ``down`` refuses connections, ``meanwhile`` runs on the way."""

    epoch: int = 1
    rules: list[str] = field(default_factory=lambda: ["check-first"])
    lease: float = 15.0
    age: float = 0.0
    down: str = ""
    status: int = 200
    grant: float = 600.0
    meanwhile: Callable[[], None] = lambda: None
    seen: list[Request] = field(default_factory=list)

    def run(self, flow: Flow[Any]) -> Any:
        """Drive a flow that only makes calls."""
        try:
            effect = next(flow)
            while True:
                assert isinstance(effect, Call)
                self.seen.append(effect.request)
                if self.down:
                    effect = flow.throw(TransportFailed(self.down))
                else:
                    answer = self.answer()
                    self.meanwhile()
                    effect = flow.send(answer)
        except StopIteration as done:
            return done.value

    def answer(self) -> Response:
        if self.status != 200:
            told = {"what": "no", "where": "here", "what_now": "stop", "state": "revoked", "reason": "it misleads"}
            return Response(self.status, {}, json.dumps({"error": told}).encode())
        body = {
            "epoch": self.epoch,
            "lease_seconds": self.lease,
            "age_seconds": self.age,
            "rules": [
                {"id": name, "version": 1, "when_to_use": "before it", "guidance": ["look"], "scope": {}}
                for name in self.rules
            ],
            "withheld": [],
        }
        return Response(200, {"slowwave-grant-seconds": str(self.grant)}, json.dumps(body).encode())


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def core(clock: Clock) -> Core:
    return Core(namespace="acme/shop", instance="client-1", clock=clock)


@pytest.fixture
def server() -> Server:
    return Server()


def answer(epoch: int, *rules: str) -> RuleSet:
    """An answer that holds these rules."""
    made = tuple(Rule(name, 1, "before it", ("look",), {}, EvidenceFigures()) for name in rules or ("check-first",))
    return RuleSet(made, epoch)
