"""What a drill of sessions found: who acted on withdrawn advice, and who was stopped before the next action. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tasks.revoke.drill import spread

ACTED_WITHIN_SECONDS = 1.0
"""How long after the declaration an action may still begin: a session that just asked acts on what it was told."""
STOPPED = ("stop", "read-only")


@dataclass(frozen=True)
class Acted:
    """One session: when its actions began, in seconds from the commit, how many it still had, what it was told last."""

    rule: str
    done: tuple[float, ...]
    pending: int
    verdict: str


@dataclass(frozen=True)
class SessionFindings:
    """What a declaration did. ``withdrawn`` are index entries: the declared rule and what was derived from it.

    ``done`` are actions of sessions that had read one of them, ``done_after`` those begun after the declaration,
    ``pending`` those held back. ``verdicts`` counts sessions by what they were told. ``acted`` spreads, over sessions,
    the seconds until the last action began. ``traced`` are the tool calls that the store finds by lineage alone.
    """

    condition: str
    readers: int
    lease_seconds: float
    limit_seconds: float
    withdrawn: tuple[str, ...]
    still_served: tuple[str, ...]
    done: int
    done_after: int
    pending: int
    traced: int
    verdicts: dict[str, int]
    acted: dict[str, float]
    wrong: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every session was stopped in time, and every trace found."""
        return not self.wrong

    def as_dict(self) -> dict[str, Any]:
        """For JSON and for the history."""
        lists = {name: list(getattr(self, name)) for name in ("withdrawn", "still_served", "wrong")}
        return {**asdict(self), **lists, "passed": self.passed}


def judge_sessions(
    sessions: Sequence[Acted],
    *,
    wanted: int,
    lease: float,
    limit: float | None,
    expected: Sequence[str],
    withdrawn: Sequence[str],
    still_served: Sequence[str],
    traced: int,
) -> SessionFindings:
    """Hold what the sessions told, and what the store found, against what is promised.

    ``expected`` are the rules that had to be withdrawn; ``traced`` has to be every action that was done.
    """
    bound = limit if limit is not None else ACTED_WITHIN_SECONDS
    last = [max(0.0, max(one.done, default=0.0)) for one in sessions]
    done, verdicts = sum(len(one.done) for one in sessions), [one.verdict for one in sessions]
    unstopped, late = sum(each not in STOPPED for each in verdicts), sum(at > bound for at in last)
    left = sorted(set(expected) - set(withdrawn))
    wrong = [f"{wanted - len(sessions)} of {wanted} sessions told nothing"] if len(sessions) < wanted else []
    wrong += [f"{unstopped} sessions were not stopped"] if unstopped else []
    wrong += [f"{late} sessions acted more than {bound:g} s after the declaration"] if late else []
    wrong += [f"not withdrawn: {', '.join(left)}"] if left else []
    wrong += [f"still served: {', '.join(sorted(still_served))}"] if still_served else []
    wrong += [f"{done} actions were done, and lineage finds {traced}"] if traced != done else []
    return SessionFindings(
        condition="incomplete",
        readers=wanted,
        lease_seconds=lease,
        limit_seconds=bound,
        withdrawn=tuple(withdrawn),
        still_served=tuple(still_served),
        done=done,
        done_after=sum(at > 0 for one in sessions for at in one.done),
        pending=sum(one.pending for one in sessions),
        traced=traced,
        verdicts={each: verdicts.count(each) for each in sorted(set(verdicts))},
        acted=spread(last),
        wrong=tuple(wrong),
    )
