"""Cluster: give tonight's episodes their family and cluster. Cost follows the new episodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlmodel import Session

from storage import consolidation, ledger
from storage.bodies import load_bodies
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim
from storage.queries import consolidation as queries
from storage.tables import Cluster, Episode, Family
from tasks.cluster import family as families
from tasks.cluster import groups
from tasks.cluster.family import FamilyDraft
from tasks.cluster.groups import ClusterDraft
from tasks.context import StepContext

Row = TypeVar("Row")


def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Assign families and clusters to what this run consumed; done again, it assigns the same."""
    with database.read() as session:
        episodes = queries.episodes_of_run(session, claim.namespace, claim.run_id)
    if not episodes:
        return {"episodes": 0, "clusters": 0, "families": []}
    found = _families(database, claim, episodes)
    clusters = _clusters(database, claim, episodes, {one: draft.id for one, draft in found.items()})
    drafts = _described(database, claim, context, episodes, clusters)
    _save(database, claim, context, episodes, found, clusters, drafts)
    touched = sorted({draft.id for draft in found.values()})
    return {"episodes": len(episodes), "clusters": len(drafts), "families": touched}


def _families(database: Database, claim: Claim, episodes: Sequence[Episode]) -> dict[str, FamilyDraft]:
    """Family of each episode id. Text families that this run itself founded do not lead: a second try starts alike."""
    own = {episode.id for episode in episodes}
    with database.read() as session:
        leaders = queries.families_by_text(session, claim.namespace)
    starts = [families.start_of(e.id, e.task, e.environment, e.tools_offered) for e in episodes]
    return families.assign(starts, [(family, text) for family, leader, text in leaders if leader not in own])


def _clusters(
    database: Database, claim: Claim, episodes: Sequence[Episode], family_of: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """(family, cluster) of each episode id."""
    texts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for episode in episodes:
        texts[family_of[episode.id]].setdefault(episode.task_key, episode.task)
    of_task: dict[tuple[str, str], str] = {}
    for family, tasks in sorted(texts.items()):
        with database.read() as session:
            settled = queries.tasks_clustered(session, claim.namespace, family, claim.run_id)
        known = [groups.Task(key, text, cluster) for key, cluster, text in settled]
        fresh = [groups.Task(key, text) for key, text in tasks.items() if key not in {task.key for task in known}]
        assigned = groups.assign(family, [*known, *fresh])
        of_task.update({(family, key): cluster for key, cluster in assigned.items()})
    return {e.id: (family_of[e.id], of_task[family_of[e.id], e.task_key]) for e in episodes}


def _described(
    database: Database,
    claim: Claim,
    context: StepContext,
    episodes: Sequence[Episode],
    clusters: Mapping[str, tuple[str, str]],
) -> list[tuple[str, ClusterDraft]]:
    """(family, cluster) for every cluster touched, named by its terms and by the calls its runs made."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    tools: defaultdict[str, Counter[str]] = defaultdict(Counter)
    family_of = {cluster: family for family, cluster in clusters.values()}
    for episode in episodes:
        texts[clusters[episode.id][1]].append(episode.task)
    for start in range(0, len(episodes), context.settings.read_batch):
        ids = [episode.id for episode in episodes[start : start + context.settings.read_batch]]
        with database.read() as session:
            bodies = load_bodies(session, claim.namespace, ids)
        for episode_id, body in bodies.items():
            calls = {
                step["name"] for step in body.get("steps", ()) if step.get("kind") == "tool_call" and step.get("name")
            }
            tools[clusters[episode_id][1]].update(calls)
    return [(family_of[draft.id], draft) for draft in groups.describe(texts, tools)]


def _save(
    database: Database,
    claim: Claim,
    context: StepContext,
    episodes: Sequence[Episode],
    found: Mapping[str, FamilyDraft],
    clusters: Mapping[str, tuple[str, str]],
    drafts: Sequence[tuple[str, ClusterDraft]],
) -> None:
    named = {draft.id: _family(claim, context, draft) for draft in found.values() if draft.signature}
    members = [(episode.id, *clusters[episode.id], provisional_group(episode)) for episode in episodes]
    _in_batches(database, claim, context, list(named.values()), consolidation.put_families)
    _in_batches(
        database, claim, context, [_cluster(claim, context, *draft) for draft in drafts], consolidation.put_clusters
    )
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


def _cluster(claim: Claim, context: StepContext, family_id: str, draft: ClusterDraft) -> Cluster:
    return Cluster(
        namespace=claim.namespace, id=draft.id, family_id=family_id, label=draft.label, terms=list(draft.terms),
        tools=list(draft.tools), created_at=context.now,
    )  # fmt: skip


def provisional_group(episode: Episode) -> str:
    """A group before near-duplicates were looked for, which the contrast does over the whole family."""
    return "g" + content_hash(["session", episode.session_id] if episode.session_id else episode.id, 15)
