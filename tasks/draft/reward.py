"""What a mode was worth: the fate of what was drafted under it, less what the model cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

Fate = Literal["approved", "rejected", "revoked", "failed-checks", "withdrawn", "nothing-new", "left-out", "waiting"]

WORTH: Mapping[Fate, float | None] = {
    "approved": 1.0,
    "rejected": -1.0,
    "revoked": -1.0,
    "failed-checks": -0.5,
    "withdrawn": -0.5,
    "nothing-new": 0.0,
    "left-out": 0.0,
    "waiting": None,
}
"""y of one draft; None where it is not known yet. ``docs/drafting-modes.md`` has the table in words."""

COST_OF_A_CALL = 0.05
DECIDED = frozenset({"promoted", "rejected"})


def fate_of(*, held: bool, state: str | None, moved_at: datetime | None, revoked: bool, chosen_at: datetime) -> Fate:
    """What became of one draft.

    Args:
        held: a check kept it out of the queue.
        state: the candidate's now; None if it was never staged (the night's cap was reached).
        moved_at: when the candidate last changed.
        revoked: the rule made of it was taken back.
        chosen_at: when the mode was chosen: a candidate that was closed before says nothing about it.
    """
    if held:
        return "failed-checks"
    if state is None:
        return "left-out"
    if state in DECIDED and moved_at is not None and moved_at < chosen_at:
        return "nothing-new"
    if state == "promoted":
        return "revoked" if revoked else "approved"
    return "rejected" if state == "rejected" else "withdrawn" if state == "void" else "waiting"


def reward(y: float, calls: int) -> float:
    """``clip(y - 0.05 * calls, -1, 1)``."""
    return max(-1.0, min(1.0, y - COST_OF_A_CALL * calls))


def judge(fates: Iterable[Fate], calls: int) -> tuple[float | None, str]:
    """The reward of a choice and why, in words; None while nothing of it is known.

    y is the mean over what is known. Nothing drafted is worth 0, and still pays for its calls.
    """
    counted = Counter(fates)
    known = [(WORTH[fate], count) for fate, count in counted.items() if WORTH[fate] is not None]
    cost = f", {calls} model call{'' if calls == 1 else 's'}" if calls else ""
    if not counted:
        return reward(0.0, calls), f"nothing was drafted under it{cost}"
    said = ", ".join(f"{counted[fate]} {fate.replace('-', ' ')}" for fate in WORTH if counted[fate])
    if not known:
        return None, f"{said}: not known yet"
    y = sum((worth or 0.0) * count for worth, count in known) / sum(count for _, count in known)
    return reward(y, calls), f"{said}{cost}"
