"""How far a run is: what the live stream tells, and what the page shows of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from storage.queries.pages_runs import Progress
from tasks.stages import CLOSED, KINDS


@dataclass(frozen=True)
class Standing:
    """How far a run is. ``percent`` never falls: a stage that is not planned yet counts as one that is not begun.

    ``stage`` is the one at work; empty where the run is closed.
    """

    namespace: str
    state: str
    stage: str
    done: int
    total: int
    parked: int
    percent: int

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.state != "running"


def standing_of(run: Progress) -> Standing:
    """How far a run is, from the counts of its steps."""
    over, at, shares = run.state != "running", "", []
    for stage in KINDS.get(run.kind, ()):
        closed = sum(n for (name, state), n in run.steps.items() if name == stage and state in CLOSED)
        known = sum(n for (name, _state), n in run.steps.items() if name == stage)
        shares.append(closed / known if known else 0.0)
        at = at or (stage if closed < known else "")
    return Standing(
        namespace=run.namespace,
        state=run.state,
        stage="" if over else at,
        done=sum(n for (_stage, state), n in run.steps.items() if state in CLOSED),
        total=sum(run.steps.values()),
        parked=sum(n for (_stage, state), n in run.steps.items() if state == "parked"),
        percent=100 if over else int(100 * sum(shares) / max(len(shares), 1)),
    )
