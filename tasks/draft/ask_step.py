"""Ask a model about the clusters that may be written about tonight, and keep what it says but is not confirmed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from storage.choices import put_cost, put_hypothesis
from storage.engine import Database
from storage.ledger import Claim, guard
from storage.tables import Cluster, ModeChoice
from tasks.context import StepContext
from tasks.draft.choose_step import Night
from tasks.draft.model.brief import Mode
from tasks.draft.model.budget import drafter_of
from tasks.draft.model.wording import Wording
from tasks.draft.model_step import ClusterDraft, draft_cluster


@dataclass(frozen=True)
class Asked:
    """Words for confirmed findings by inference, counts to sum, and what the run has to tell of."""

    wordings: Mapping[str, Wording] = field(default_factory=dict)
    counts: Mapping[str, int | float] = field(default_factory=dict)
    problems: list[dict[str, str]] = field(default_factory=list)


def run(database: Database, claim: Claim, context: StepContext, night: Night) -> Asked:
    """Ask about one cluster after the other, best first, until a budget is used up. Nothing is paid for twice."""
    if drafter_of(night.policy, context.settings.drafting, context.model) != "model":
        return Asked()
    counts: Counter[str] = Counter()
    wordings: dict[str, Wording] = {}
    problems: list[dict[str, str]] = []
    for choice in night.to_write:
        with database.read() as session:
            cluster = session.get_one(Cluster, (claim.namespace, choice.cluster_id))
        said = draft_cluster(database, claim, context, cluster, cast(Mode, choice.mode))
        _keep(database, claim, choice, said)
        counts.update(cast(dict[str, int], said.counts()))
        if said.wording is not None:
            # Two clusters may word one finding: the first asked, which has it as its own, is kept.
            wordings.setdefault(said.wording.inference_id, said.wording)
        if said.problem is not None:
            problems.append(said.problem)
    return Asked(wordings, dict(counts), problems)


def _keep(database: Database, claim: Claim, choice: ModeChoice, said: ClusterDraft) -> None:
    told: dict[str, Any] = {"state": said.state, "why": said.why, "calls": said.calls, "tokens": said.tokens}
    with database.write() as session:
        guard(session, claim)
        put_cost(session, choice, said.calls, told)
        if said.inference is not None:
            put_hypothesis(session, said.inference, said.shown)
