"""Cluster: give tonight's episodes their family, task and cluster. Cost follows the new episodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sqlmodel import Session

from storage import consolidation, ledger
from storage.bodies import load_bodies
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim
from storage.queries import consolidation as queries
from storage.queries.consolidation import Start
from storage.tables import Cluster, Family, Stratum
from tasks.cluster import family as families
from tasks.cluster import groups
from tasks.cluster.derive import PER_STRATUM, derive
from tasks.cluster.embed_step import vectors_of
from tasks.cluster.family import FamilyDraft
from tasks.context import StepContext

Row = TypeVar("Row")

LABELLED_BY = 12
"""Bodies read to name the calls of a new cluster."""


@dataclass
class _Task:
    """One task of a family as tonight leaves it. ``texts`` are those of its ``leaders``."""

    id: str
    is_derived: bool
    cluster: str | None = None
    leaders: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    changed: bool = False

    def stands_for(self, episode_id: str, text: str) -> None:
        """Let a text stand for the task, if it is new to it and there is room."""
        if len(self.leaders) < (PER_STRATUM if self.is_derived else 1) and text not in self.texts:
            self.leaders.append(episode_id)
            self.texts.append(text)
            self.changed = True


@dataclass(frozen=True)
class _Sorted:
    """A family's new episodes with the task of each, and all its tasks."""

    family: str
    starts: list[Start]
    task_of: dict[str, str]
    tasks: dict[str, _Task]


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Assign families, tasks and clusters to what this run consumed; done again, it assigns the same."""
    with database.read() as session:
        starts = queries.starts_of_run(session, claim.namespace, claim.run_id)
    if not starts:
        return {"episodes": 0, "clusters": 0, "families": []}
    found = _families(database, claim, starts)
    of_family: defaultdict[str, list[Start]] = defaultdict(list)
    for start in starts:
        of_family[found[start.id].id].append(start)
    named = {draft.id: _family(claim, context, draft) for draft in found.values() if draft.signature}
    _in_batches(database, claim, context, list(named.values()), consolidation.put_families)
    clusters: set[str] = set()
    tasks = 0
    for family, members in sorted(of_family.items()):
        placed = _tasks(database, claim, family, members)
        clusters |= _cluster(database, claim, context, placed)
        tasks += len(set(placed.task_of.values()))
    return {"episodes": len(starts), "clusters": len(clusters), "tasks": tasks, "families": sorted(of_family)}


def _families(database: Database, claim: Claim, starts: Sequence[Start]) -> dict[str, FamilyDraft]:
    """Family of each episode id. Text families that this run itself founded do not lead: a second try starts alike."""
    own = {start.id for start in starts}
    with database.read() as session:
        leaders = queries.families_by_text(session, claim.namespace)
    begun = [families.start_of(one.id, one.task, one.environment, one.tools_offered) for one in starts]
    return families.assign(begun, [(family, text) for family, leader, text in leaders if leader not in own])


def _tasks(database: Database, claim: Claim, family: str, starts: list[Start]) -> _Sorted:
    """Each new episode's task: the one its key names, or one told from its first text."""
    with database.read() as session:
        known = queries.tasks_known(session, claim.namespace, family, claim.run_id)
    tasks = {one.id: _Task(one.id, one.is_derived, one.cluster_id, one.leaders, one.texts) for one in known}
    nameless = {start.task_key: start.task for start in starts if start.task_key_derived}
    leading = [(one.id, text) for one in known if one.is_derived for text in one.texts]
    derived = derive(list(nameless.items()), leading)
    task_of = {start.id: derived[start.task_key] if start.task_key_derived else start.task_key for start in starts}
    for start in starts:
        task = tasks.setdefault(task_of[start.id], _Task(task_of[start.id], start.task_key_derived))
        task.stands_for(start.id, start.task)
    return _Sorted(family, starts, task_of, tasks)


def _cluster(database: Database, claim: Claim, context: StepContext, placed: _Sorted) -> set[str]:
    """Put tasks into clusters and save the family; returns the clusters touched."""
    old = {str(task.cluster) for task in placed.tasks.values() if task.cluster}
    before = [groups.Task(task.id, task.texts[0] if task.texts else "", task.cluster) for task in placed.tasks.values()]
    vectors = _vectors(database, claim, context, before)
    assigned = groups.assign(placed.family, before, vectors)
    grew = any(not task.cluster for task in before)
    absorbed = groups.merges([task for task in before if task.cluster], vectors) if grew else {}
    for task in placed.tasks.values():
        task.cluster = absorbed.get(assigned[task.id], assigned[task.id])
    new = {str(task.cluster) for task in placed.tasks.values()} - old
    _save(database, claim, context, placed, _described(database, claim, context, placed, new))
    for young, older in sorted(absorbed.items()):
        _absorb(database, claim, context, young, older)
    return {str(placed.tasks[one].cluster) for one in placed.task_of.values()}


def _vectors(
    database: Database, claim: Claim, context: StepContext, tasks: Sequence[groups.Task]
) -> Mapping[str, npt.NDArray[np.float64]] | None:
    """Vectors of the tasks' texts where an embedder is set up; None stands for lexical ones."""
    if context.embedder is None:
        return None
    return vectors_of(database, claim, context, context.embedder, [task.text for task in tasks])


def _absorb(database: Database, claim: Claim, context: StepContext, young: str, old: str) -> None:
    moved = 1
    while moved:
        with database.write() as session:
            ledger.guard(session, claim)
            moved = consolidation.absorb_cluster(session, claim.namespace, young, old, context.settings.write_batch)


def _described(
    database: Database, claim: Claim, context: StepContext, placed: _Sorted, new: Collection[str]
) -> list[Cluster]:
    """The new clusters, named by their terms and by the calls that some of their runs made."""
    if not new:
        return []
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for task in placed.tasks.values():
        texts[str(task.cluster)] += task.texts
    sample: dict[str, str] = {}
    room = Counter(dict.fromkeys(new, LABELLED_BY))
    for start in placed.starts:
        cluster = str(placed.tasks[placed.task_of[start.id]].cluster)
        if room[cluster] > 0:
            room[cluster] -= 1
            sample[start.id] = cluster
    tools: defaultdict[str, Counter[str]] = defaultdict(Counter)
    ids = sorted(sample)
    for first in range(0, len(ids), context.settings.read_batch):
        with database.read() as session:
            bodies = load_bodies(session, claim.namespace, ids[first : first + context.settings.read_batch])
        for episode_id, body in bodies.items():
            steps = body.get("steps", ())
            tools[sample[episode_id]].update(
                {step["name"] for step in steps if step.get("kind") == "tool_call" and step.get("name")}
            )
    drafts = {draft.id: draft for draft in groups.describe(texts, tools)}
    return [
        Cluster(
            namespace=claim.namespace, id=one, family_id=placed.family, label=drafts[one].label,
            terms=list(drafts[one].terms), tools=list(drafts[one].tools), created_at=context.now,
        )
        for one in sorted(new)
    ]  # fmt: skip


def _save(database: Database, claim: Claim, context: StepContext, placed: _Sorted, clusters: Sequence[Cluster]) -> None:
    changed = [
        Stratum(
            namespace=claim.namespace, family_id=placed.family, id=task.id, leaders=task.leaders,
            cluster_id=task.cluster, is_derived=task.is_derived, run_id=claim.run_id, created_at=context.now,
        )
        for task in placed.tasks.values()
        if task.changed
    ]  # fmt: skip
    members = [
        {
            "family_id": placed.family, "episode_id": start.id, "group_id": provisional_group(start),
            "cluster_id": placed.tasks[placed.task_of[start.id]].cluster,
            "stratum": placed.task_of[start.id] if start.task_key_derived else None,
        }
        for start in placed.starts
    ]  # fmt: skip
    _in_batches(database, claim, context, clusters, consolidation.put_clusters)
    _in_batches(database, claim, context, changed, consolidation.put_tasks)
    _in_batches(database, claim, context, members, consolidation.put_members)


def _in_batches(
    database: Database,
    claim: Claim,
    context: StepContext,
    rows: Sequence[Row],
    put: Callable[[Session, str, Sequence[Row]], None],
) -> None:
    """Write so many rows in a transaction that no other writer waits for long."""
    for start in range(0, len(rows), context.settings.write_batch):
        with database.write() as session:
            ledger.guard(session, claim)
            put(session, claim.namespace, rows[start : start + context.settings.write_batch])


def _family(claim: Claim, context: StepContext, draft: FamilyDraft) -> Family:
    return Family(
        namespace=claim.namespace, id=draft.id, label=draft.label, signature=dict(draft.signature),
        created_at=context.now,
    )  # fmt: skip


def provisional_group(start: Start) -> str:
    """A group before near-duplicates were looked for, which the contrast does over the whole family."""
    return "g" + content_hash(["session", start.session_id] if start.session_id else start.id, 15)
