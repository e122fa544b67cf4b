"""An agent run as it is told to the server: steps collected as they happen, reads of memory among them. No network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from slowwave_client._impl.errors import SlowwaveError
from slowwave_client._impl.models import Rule

KINDS = frozenset(
    {"user", "plan", "claim", "tool_call", "observation", "answer", "memory_read", "memory_write", "system"}
)
OUTCOMES = frozenset({"success", "failure", "partial", "unknown"})
SOURCES = frozenset({"verifier", "environment", "exit-code", "human", "recorded", "self-reported"})


def _now() -> datetime:
    return datetime.now(timezone.utc)


class EpisodeRecord:
    """What one agent run did. Made by ``session.episode``; sent once, when the session ends.

    ``sent`` says what became of it on the server (``new``, ``known``, ``revision``, ``joined``), None before;
    ``problem`` is why it was not taken.
    """

    def __init__(
        self,
        task: str,
        *,
        session_id: str,
        agent: str | None = None,
        about: Mapping[str, Any] | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._clock = clock
        told = {name: value for name, value in (about or {}).items() if value is not None}
        self._episode: dict[str, Any] = {"id": session_id, "task": task, "session_id": session_id, **told}
        if agent is not None:
            self._episode["agent"] = agent
        self._episode["started_at"] = clock().isoformat()
        self._steps: list[dict[str, Any]] = []
        self._read: dict[tuple[str, int], str] = {}
        self.sent: str | None = None
        self.problem: SlowwaveError | None = None

    def step(self, kind: str, text: str = "", **fields: Any) -> str:
        """Add a step; returns its id, to be named in ``of`` or ``cites`` of later ones.

        Args:
            kind: ``user``, ``plan``, ``claim``, ``tool_call``, ``observation``, ``answer``, ``memory_read``,
                ``memory_write`` or ``system``.
            text: what was said or shown.
            fields: of the canonical form: ``name``, ``arguments``, ``of``, ``is_error``, ``exit_code``, ``cites`` and
                so on.

        Raises:
            ValueError: there is no such kind.
            TypeError: a field is not JSON.
        """
        if kind not in KINDS:
            raise ValueError(f"a step of kind {kind!r}: use one of {', '.join(sorted(KINDS))}")
        step = {"id": str(len(self._steps) + 1), "kind": kind, "text": text, "at": self._clock().isoformat(), **fields}
        json.dumps(step)
        self._steps.append(step)
        return str(step["id"])

    def outcome(self, outcome: str, source: str | None = None, reward: float | None = None) -> None:
        """Say how it ended, and who found that out. The last word counts; without one the outcome is ``unknown``.

        Args:
            outcome: ``success``, ``failure``, ``partial`` or ``unknown``.
            source: ``verifier``, ``environment``, ``exit-code``, ``human``, ``recorded`` or ``self-reported``. Left
                out, the server takes it for self-reported, which is kept and never weighed.

        Raises:
            ValueError: there is no such outcome or source.
        """
        if outcome not in OUTCOMES:
            raise ValueError(f"outcome {outcome!r}: use one of {', '.join(sorted(OUTCOMES))}")
        if source is not None and source not in SOURCES:
            raise ValueError(f"outcome source {source!r}: use one of {', '.join(sorted(SOURCES))}")
        told = {"outcome": outcome, "outcome_source": source, "reward": reward}
        self._episode.update({name: value for name, value in told.items() if value is not None})

    def read(self, rules: Sequence[Rule]) -> list[str]:
        """Note what was given to the agent; the ids of the steps. A version read again is the same step."""
        return [self._read_one(rule) for rule in rules]

    def _read_one(self, rule: Rule) -> str:
        key = (rule.id, rule.version)
        if key not in self._read:
            snapshot = "\n".join([rule.when_to_use, *rule.guidance])
            self._read[key] = self.step("memory_read", rule=rule.id, version=rule.version, snapshot=snapshot)
        return self._read[key]

    def as_dict(self) -> dict[str, Any]:
        """The episode in the canonical form, as of now."""
        return {**self._episode, "ended_at": self._clock().isoformat(), "steps": list(self._steps)}
