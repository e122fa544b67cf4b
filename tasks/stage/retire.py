"""How much of what is served one night may propose to put away. Pure.

One bad batch of runs can speak against many rules at once. A plan that would retire more than a part of a namespace's
active rules is not staged: a person looks at the batch first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

LIMIT = 0.2
POLICY_KEY = "retire_limit"


def limit_of(policy: Mapping[str, Any]) -> float:
    """The part of the active rules that one night may propose to retire, by policy."""
    return float(policy.get(POLICY_KEY, LIMIT))


def halts(retired: Collection[str], active: int, limit: float) -> bool:
    """Whether proposing to retire these rules is too much for one night. One is always allowed."""
    return len(set(retired)) > max(1.0, limit * active)


def words(retired: Collection[str], active: int, limit: float) -> str:
    """Why the plan was halted, and how to go on."""
    named = sorted(set(retired))
    share = f"{len(named)} of {active} active rules, more than {100 * limit:.0f} %"
    return (
        f"tonight's findings would retire {share}, so none of these proposals was staged: {', '.join(named[:10])}. "
        "Look at what this night took in. If it is right, set the policy retire_limit higher and run the night again"
    )
