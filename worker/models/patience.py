"""Asks again when a fault may pass: as late as the endpoint wishes, and never past the time that is left."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import structlog

from tasks.draft.model.chat import ModelUnavailable, Question, Said

log = structlog.get_logger()

MOST_TRIES = 4
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0


class Trouble(Exception):
    """An endpoint's fault. ``passes``: it is worth asking again, after ``after`` seconds where the endpoint says so."""

    def __init__(self, reason: str, *, passes: bool, after: float | None = None) -> None:
        super().__init__(reason)
        self.passes, self.after = passes, after


class Wire(Protocol):
    """One request to one endpoint."""

    def send(self, question: Question, timeout: float) -> Said:
        """Ask once.

        Raises:
            Trouble: if no answer came.
        """
        ...


class Patient:
    """A chat model over a wire, with pauses between tries."""

    def __init__(
        self,
        name: str,
        wire: Wire,
        timeout: float,
        *,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.name = name
        self._wire, self._timeout = wire, timeout
        self._pause, self._clock, self._chance = pause, clock, chance

    def ask(self, question: Question, seconds: float) -> Said:
        """Ask until an answer comes, the fault is one that stays, or ``seconds`` are over.

        Raises:
            ModelUnavailable: if no answer came.
        """
        began, tries = self._clock(), 0
        while True:
            left = seconds - (self._clock() - began)
            try:
                said = self._wire.send(question, max(1.0, min(self._timeout, left)))
            except Trouble as trouble:
                tries += 1
                spent = self._clock() - began
                self._wait(trouble, tries, spent, seconds)
            else:
                return replace(said, seconds=self._clock() - began)

    def _wait(self, trouble: Trouble, tries: int, spent: float, seconds: float) -> None:
        wanted = trouble.after
        if wanted is None:
            # Half of it by chance, so that several workers don't come back at the same moment.
            wanted = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (tries - 1)) * (0.5 + self._chance() / 2)
        log.warning("model.trouble", model=self.name, reason=str(trouble), tries=tries, pause=round(wanted, 3))
        if not trouble.passes or tries >= MOST_TRIES:
            raise ModelUnavailable(str(trouble) if tries == 1 else f"{trouble} ({tries} tries)", spent) from trouble
        if spent + wanted >= seconds:
            reason = f"{trouble}; a further try in {wanted:.0f} s is past the time that is left"
            raise ModelUnavailable(reason, spent) from trouble
        self._pause(wanted)
