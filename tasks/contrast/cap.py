"""No agent's token makes a finding: of the groups that a comparison rests on it brings at most a third. Pure.

Asked of every feature by itself: runs of others that say nothing about it do not pay for a token's share. Which of its
groups stay is drawn by a salted hash, blind to what they did and how they ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from storage.ids import content_hash
from tasks.contrast.cmh import Ints, count
from tasks.contrast.features import Bools, Columns

ROUNDS = 4
"""Leaving groups out can leave a task without one of its outcomes, and then a third is less: so it is asked again."""


def capped_columns(
    columns: Columns, success: Bools, stratum: Ints, groups: Sequence[str], principals: Sequence[str | None], salt: str
) -> Columns:
    """The columns without the groups that a capped principal has too many of.

    Args:
        success: outcome of each unit; ``stratum``, ``groups`` and ``principals`` are by unit too. A principal of None,
            an operator, is not capped.
    """
    names = sorted({name for name in principals if name is not None})
    if not names or not columns.predicates:
        return columns
    place = {name: index for index, name in enumerate(names)}
    owner = np.array([-1 if name is None else place[name] for name in principals], dtype=np.int64)
    order = np.array(sorted(range(len(groups)), key=lambda row: content_hash([salt, groups[row]])), dtype=np.int64)
    mask = columns.mask.copy()
    for _ in range(ROUNDS):
        kept = Columns(columns.predicates, columns.values & mask, mask)
        informative = count(kept, success, stratum, int(stratum.max(initial=-1)) + 1).informative
        if not _cut(mask, mask & informative[stratum], owner, order, len(names)):
            break
    return Columns(columns.predicates, columns.values & mask, mask)


def _cut(mask: Bools, rests_on: Bools, owner: Ints, order: Ints, many: int) -> bool:
    """Take the surplus out of ``mask``; whether there was any."""
    counts = np.stack([np.bincount(owner[rows] + 1, minlength=many + 1) for rows in rests_on.T]) if len(owner) else None
    if counts is None:
        return False
    found = False
    for feature in np.flatnonzero(counts[:, 1:].any(1)).tolist():
        free, *mine = counts[feature].tolist()
        allowed = allowances(dict(enumerate(mine)), free)
        rows = order[rests_on[order, feature]]
        for principal, most in allowed.items():
            if most < mine[principal]:
                mask[rows[owner[rows] == principal][most:], feature] = False
                found = True
    return found


def allowances(counts: Mapping[int, int], free: int) -> dict[int, int]:
    """How many groups of each principal count, if none may bring more than a third; ``free`` groups are nobody's.

    The most prolific is cut first, down to half of what all the others bring.
    """
    allowed = dict(counts)
    changed = True
    while changed:
        changed = False
        for principal in sorted(allowed, key=lambda one: (-allowed[one], one)):
            others = free + sum(allowed.values()) - allowed[principal]
            if allowed[principal] > others // 2:
                allowed[principal], changed = others // 2, True
    return allowed
