"""Whether one session shows a recovery that many sessions were compared for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tasks.contrast.predicate import Predicate
from tasks.contrast.recoveries.attempts import Chain
from tasks.contrast.recoveries.signature import BLANK


def shows(claim: Predicate, chains: Iterable[Chain]) -> bool:
    """Whether the session met the error and did the remedy before a retry."""
    command, error, then = claim.parts
    pattern = re.compile(".*".join(map(re.escape, error.split(BLANK))), re.S)
    return any(
        then in (act.key, act.fine)
        for chain in chains
        if chain.command == command and (pattern.fullmatch(chain.broad) or pattern.fullmatch(chain.narrow))
        for retry in chain.retries
        for act in retry.acts
    )
