"""How far a candidate would reach: sessions of late that lie in its scope, and so would have been served it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from storage.candidates import set_reach
from storage.engine import Database
from storage.ledger import Claim, guard
from storage.queries.reach import RecentRun, recent_runs, scopes_waiting
from tasks.context import StepContext
from tasks.contrast.recoveries import EVERYWHERE
from tasks.verify.coverage import outside

DAYS = 30
LOOKED_AT, LOOKED_AT_BY_NIGHT = 1000, 20_000
"""The newest runs of a family that are looked at: while somebody waits for a page, and once a night."""
SAMPLE = 5


@dataclass(frozen=True)
class Reached:
    """``count`` sessions; ``sample`` are the newest of them as (session, episode).

    ``capped`` says that a family had more runs in that time than the newest ``looked_at``: the true count is higher.
    """

    count: int
    sample: tuple[tuple[str, str], ...] = ()
    looked_at: int = 0
    capped: bool = False


def sessions_reached(
    session: Session, namespace: str, family_id: str | None, scope: Mapping[str, Any], now: datetime
) -> Reached:
    """Sessions of the last ``DAYS`` days in a family whose environment and agent lie in a scope."""
    return reached(_runs_of(session, namespace, family_id, now, LOOKED_AT), scope, LOOKED_AT)


def reached(runs: Sequence[RecentRun], scope: Mapping[str, Any], most: int) -> Reached:
    """The sessions with a run in the scope. ``runs`` are newest first, one more than ``most`` if there is."""
    looked = runs[:most]
    inside: dict[str, str] = {}
    for run in looked:
        if run.session_id not in inside and not outside(scope, run.environment, run.agent):
            inside[run.session_id] = run.episode_id
    return Reached(len(inside), tuple(inside.items())[:SAMPLE], len(looked), len(runs) > most)


@dataclass
class Reaches:
    """The same for many candidates of a night: the runs of a family are read once."""

    namespace: str
    now: datetime
    _runs: dict[str | None, list[RecentRun]] = field(default_factory=dict)

    def of(self, session: Session, family_id: str | None, scope: Mapping[str, Any]) -> int:
        """How many sessions."""
        if family_id not in self._runs:
            self._runs[family_id] = _runs_of(session, self.namespace, family_id, self.now, LOOKED_AT_BY_NIGHT)
        return reached(self._runs[family_id], scope, LOOKED_AT_BY_NIGHT).count


def measure_waiting(database: Database, claim: Claim, context: StepContext) -> int:
    """Measure anew how far everything that waits would reach: the days move on. Returns how many figures changed.

    It also fills the figure of a candidate that waited since before there was one.
    """
    reaches, after, changed = Reaches(claim.namespace, context.now), "", 0
    while True:
        with database.read() as session:
            page = scopes_waiting(session, claim.namespace, after, context.settings.write_batch)
            found = [(row.id, row.reach, reaches.of(session, row.family_id, row.scope)) for row in page]
        moved = [(name, now) for name, before, now in found if now != before]
        if not page:
            return changed
        if moved:
            with database.write() as session:
                guard(session, claim)
                set_reach(session, claim.namespace, moved)
        after, changed = page[-1].id, changed + len(moved)


def _runs_of(session: Session, namespace: str, family_id: str | None, now: datetime, most: int) -> list[RecentRun]:
    family = None if family_id == EVERYWHERE else family_id
    return recent_runs(session, namespace, family, now - timedelta(days=DAYS), most + 1)
