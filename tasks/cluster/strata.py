"""Strata: the same task inside a family, told from the starting point only.

A source's task number is not enough: two editions of a benchmark, or two systems, number different tasks alike. Where
episodes carry the task's written description (``metadata["instruction"]``), one key whose descriptions are unlike
each other is split. A description is written before the run, so nothing the agent did enters here.
"""

from __future__ import annotations

from collections.abc import Sequence

from storage.ids import content_hash
from tasks.cluster.text import grams, jaccard, normalised

SAME_TASK = 0.4
"""Jaccard of character 4-grams above which two descriptions under one key are editions of one task."""


def stratum_names(tasks: Sequence[tuple[str, str]]) -> list[str]:
    """The stratum of each (task key, description), in the order given, which must be the order of arrival.

    The first description seen under a key keeps the bare key; an unlike one gets the key with a short hash of itself.
    An empty description stays with the bare key.
    """
    leaders: dict[str, list[tuple[str, frozenset[str]]]] = {}
    known: dict[tuple[str, str], str] = {}
    return [_name(key, normalised(text), leaders.setdefault(key, []), known) for key, text in tasks]


def _name(key: str, text: str, leaders: list[tuple[str, frozenset[str]]], known: dict[tuple[str, str], str]) -> str:
    if not text:
        return key
    if (key, text) not in known:
        described = grams(text, 4)
        name = next((name for name, leader in leaders if jaccard(described, leader) >= SAME_TASK), None)
        if name is None:
            name = f"{key}~{content_hash(text, 6)}" if leaders else key
            leaders.append((name, described))
        known[key, text] = name
    return known[key, text]
