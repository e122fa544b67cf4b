"""Homogeneous clusters inside a family, for drafting and display, told from task texts.

The unit is a task: runs of one task are never torn apart. Tools used only label a cluster.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storage.ids import content_hash
from tasks.cluster.text import normalised
from tasks.cluster.vectors import TextSpace

ALIKE = 0.5
TERMS, TOOLS = 5, 5


@dataclass(frozen=True)
class Task:
    """One task of a family and the text that stands for it; ``cluster`` is set if it is in one already."""

    key: str
    text: str
    cluster: str | None = None


@dataclass(frozen=True)
class ClusterDraft:
    """A cluster as it is stored."""

    id: str
    label: str
    terms: list[str]
    tools: list[str]


def assign(family: str, tasks: Sequence[Task]) -> dict[str, str]:
    """Task key to cluster id. A task that is in a cluster stays there; a new one joins the nearest, or founds one."""
    settled = [task for task in tasks if task.cluster]
    fresh = sorted((task for task in tasks if not task.cluster), key=lambda task: (task.key, task.text))
    if not fresh:
        return {task.key: str(task.cluster) for task in settled}
    space = TextSpace([task.text for task in settled + fresh])
    led = space.follow_leaders(len(settled), ALIKE)
    found = {task.key: str(task.cluster) for task in settled}
    for task, leader in zip(fresh, led, strict=True):
        old = leader < len(settled)
        founder = fresh[leader - len(settled)] if not old else settled[leader]
        found[task.key] = str(founder.cluster) if old else content_hash(["cluster", family, founder.key], 16)
    return found


def describe(texts: Mapping[str, Sequence[str]], tools: Mapping[str, Counter[str]]) -> list[ClusterDraft]:
    """Name clusters (id to member texts, id to calls made) by the terms and tools that set each apart."""
    counts = {
        cluster: Counter(term for text in members for term in terms_of(text)) for cluster, members in texts.items()
    }
    everywhere: Counter[str] = Counter(term for own in counts.values() for term in own)
    drafts = []
    for cluster in sorted(texts):
        terms = _distinctive(counts[cluster], everywhere, len(texts), len(texts[cluster]))
        used = [name for name, _ in sorted(tools.get(cluster, Counter()).items(), key=lambda kv: (-kv[1], kv[0]))]
        drafts.append(ClusterDraft(cluster, ", ".join(terms) or cluster[:8], terms, used[:TOOLS]))
    return drafts


def terms_of(text: str) -> set[str]:
    """Terms of a text: words without digits; of a run of letters longer than a word (no spaces), its bigrams."""
    terms: set[str] = set()
    for word in re.findall(r"[^\W\d_]+", normalised(text)):
        if any("\u2e80" <= letter <= "\u9fff" or "\uac00" <= letter <= "\ud7af" for letter in word):
            terms.update(word[i : i + 2] for i in range(len(word) - 1))
        elif len(word) > 2:
            terms.add(word)
    return terms


def _distinctive(own: Counter[str], everywhere: Counter[str], clusters: int, members: int) -> list[str]:
    """Common inside, rare outside; a term of a single member of many says little of the cluster."""
    floor = 1 if members < 4 else 2
    scored = {
        term: n / members * (1 - (everywhere[term] - 1) / max(clusters, 1)) for term, n in own.items() if n >= floor
    }
    return sorted(scored, key=lambda term: (-scored[term], term))[:TERMS]
