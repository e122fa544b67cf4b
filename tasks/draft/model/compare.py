"""A model's claim on the very runs of tonight's contrast: is it a confirmed finding by another name, and if not, what?

The contrast tests one of several columns that are alike and drops the rest, so a claim may be confirmed without being
named among the findings: then its column is that of a finding, or its opposite.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.contrast.analyse import Question, analyse
from tasks.contrast.predicate import Predicate
from tasks.contrast.redundancy import SAME
from tasks.contrast.sample import Sample
from tasks.draft.model.claims import Concluded

NO_ALPHA = 1e-12
"""Nothing is confirmed here: the night's looks were spent on what the contrast suggested, not on what a model says."""


def same_finding(sample: Sample, claims: Sequence[Predicate], findings: Sequence[Predicate]) -> int | None:
    """Which finding says of the same runs what the claim says; its index in ``findings``.

    Args:
        sample: has a column for each claim, then one for each finding, in this order.
    """
    for place, claim in enumerate(claims):
        for index, finding in enumerate(findings):
            sign = _sign(sample, place, len(claims) + index)
            along = claim.direction == finding.direction
            if sign and along == (sign > 0) and set(claim.calls) & set(finding.calls):
                return index
    return None


def _sign(sample: Sample, one: int, two: int) -> int:
    """1 where two columns nearly agree over the runs they speak of, -1 where they nearly oppose, else 0."""
    mask = sample.columns.mask
    both, spoken = mask[:, one] & mask[:, two], mask[:, one] | mask[:, two]
    if both.sum() < SAME * spoken.sum():
        return 0
    left, right = (sample.columns.values[both, column].astype(float) for column in (one, two))
    if left.size == 0 or left.std() == 0 or right.std() == 0:
        return 0
    alike = float(np.corrcoef(left, right)[0, 1])
    return int(np.sign(alike)) if abs(alike) >= SAME else 0


def compared(sample: Sample, claims: Sequence[Predicate], namespace: str, family: str) -> Concluded | None:
    """What the contrast says of a claim that nothing confirmed; None where it shows no difference at all.

    Args:
        sample: has a column for each claim, in this order.
    """
    for place, claim in enumerate(claims):
        alone = sample.with_columns(sample.columns.take([place]))
        found = analyse(alone, Question(namespace, family, NO_ALPHA)).findings
        told = next((one for one in found if one.predicate == claim), None) or next(iter(found), None)
        if told is not None:
            needs = None if told.needs is None else told.needs.words()
            named = told.predicate.canonical(family)
            return Concluded("", named, told.verdict, told.statement, told.statistics(family), needs)
    return None
