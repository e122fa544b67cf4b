"""Choose how each cluster of the night is taken up, before anything is drafted, and write it down with its numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, cast

from sqlmodel import Session

from storage.choices import put_choices, put_hypothesis, put_reward
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim, guard
from storage.queries import choices as queries
from storage.queries import rules as rule_queries
from storage.queries.candidates import candidates_by_ids
from storage.queries.rechecks import latest_rechecks
from storage.queries.replies import clusters_undrafted
from storage.queries.runs import run_by_id
from storage.queries.taint import tainted_episode_ids
from storage.tables import Cluster, Inference, ModeChoice, Namespace
from tasks.context import StepContext
from tasks.contrast.ruled_out import ruled_out
from tasks.draft.actions import Regime, Situation, decide, regime_of
from tasks.draft.hypotheses import hypotheses
from tasks.draft.model.budget import drafter_of
from tasks.draft.modes import Past, choose
from tasks.draft.profile import Profile, read_profile
from tasks.draft.reward import fate_of, judge
from tasks.verify.checks import HOLDS

REMEMBERED = 500
"""Latest choices that tonight is compared with: at 0.998 a night nothing older would change a choice."""


NO_LONGER = frozenset({"vanished", "reversed"})
"""What a recheck says of a rule that does not hold any more."""


@dataclass(frozen=True)
class Night:
    """What was decided: the choice of each cluster, and by finding the cluster that it is of."""

    regime: Regime
    policy: Mapping[str, Any]
    choices: Mapping[str, ModeChoice]
    homes: Mapping[str, str]
    hypotheses: int = 0

    @property
    def to_write(self) -> list[ModeChoice]:
        """Choices under which a model may write, those with a finding first, then those with the most new episodes."""
        found = set(self.homes.values())
        writing = [choice for choice in self.choices.values() if choice.scores.get("may_write")]
        return sorted(writing, key=lambda c: (c.cluster_id not in found, -c.scores.get("new", 0), c.cluster_id))

    def counts(self) -> dict[str, int]:
        """Clusters by action and by mode, as the step's result has them."""
        by_action = Counter(choice.action for choice in self.choices.values())
        by_mode = Counter(f"mode_{choice.mode}" for choice in self.choices.values())
        return {**by_action, **by_mode, "hypotheses": self.hypotheses}


@dataclass(frozen=True)
class _Seen:
    """What the choices of the night rest on."""

    night: date
    clusters: Mapping[str, Cluster]
    new: Mapping[str, int]
    profiles: Mapping[str, Profile]
    findings: Mapping[str, list[Inference]]
    known: frozenset[str]
    failing: Mapping[str, list[str]]
    past: list[Past]
    writer: bool


def run(database: Database, claim: Claim, context: StepContext) -> Night:
    """Fill in what earlier choices were worth, choose for tonight, keep the night's hypotheses.

    Run again, it reads what was chosen: a choice is made once.
    """
    past = _rewards(database, claim, context)
    with database.read() as session:
        policy = session.get_one(Namespace, claim.namespace).policy
        confirmed = queries.conclusions_with(session, claim.namespace, claim.run_id, ("confirmed",))
        homes = queries.homes_of(session, claim.namespace, [one.id for one in confirmed])
        made = {row.cluster_id: row for row in queries.choices_of_run(session, claim.namespace, claim.run_id)}
        writer = drafter_of(policy, context.settings.drafting, context.model) == "model"
        seen = _look(session, claim, confirmed, homes, past, writer)
    regime = next((cast(Regime, one.regime) for one in made.values()), regime_of(policy))
    fresh = [_choice(claim, context, regime, seen, one) for one in sorted(seen.clusters) if one not in made]
    for start in range(0, len(fresh), context.settings.write_batch):
        with database.write() as session:
            guard(session, claim)
            put_choices(session, fresh[start : start + context.settings.write_batch])
    chosen = {choice.cluster_id: choice for choice in [*made.values(), *fresh]}
    return Night(regime, policy, chosen, homes, _hypotheses(database, claim))


def _rewards(database: Database, claim: Claim, context: StepContext) -> list[Past]:
    """Say of each remembered choice what it was worth; returns those of which that is known."""
    with database.read() as session:
        rows = queries.choices_before(session, claim.namespace, claim.run_id, REMEMBERED)
        fates = queries.fates_of(session, claim.namespace, {choice.run_id for choice, _ in rows})
    judged = [(choice, night, *_judge(choice, fates)) for choice, night in rows]
    changed = [(c, worth, why) for c, _, worth, why in judged if (c.reward, c.reward_why) != (worth, why)]
    for start in range(0, len(changed), context.settings.write_batch):
        with database.write() as session:
            guard(session, claim)
            for choice, worth, why in changed[start : start + context.settings.write_batch]:
                put_reward(session, choice, worth, why)
    return [
        Past(c.run_id, c.cluster_id, c.family_id, _date(night, c.at.date()), c.mode, read_profile(c.profile), worth)  # type: ignore[arg-type]
        for c, night, worth, _ in judged
        if worth is not None
    ]


def _judge(
    choice: ModeChoice, fates: Mapping[tuple[str, str], Sequence[queries.DraftFate]]
) -> tuple[float | None, str]:
    drafted = fates.get((choice.run_id, choice.cluster_id), ())
    if not drafted and choice.mode != "none" and not choice.scores.get("may_write"):
        return None, "nothing was tried under it"
    said = [
        fate_of(
            held=any(check["verdict"] == "fail" and check["name"] in HOLDS for check in one.checks),
            state=one.state, moved_at=one.moved_at, revoked=one.revoked, chosen_at=choice.at,
        )
        for one in drafted
    ]  # fmt: skip
    return judge(said, choice.calls)


def _look(
    session: Session,
    claim: Claim,
    confirmed: Sequence[Inference],
    homes: Mapping[str, str],
    past: list[Past],
    writer: bool,
) -> _Seen:
    namespace = claim.namespace
    run = run_by_id(session, claim.run_id)
    left = clusters_undrafted(session, namespace, claim.run_id)
    new = {**left, **queries.clusters_touched(session, namespace, claim.run_id)}
    ids = {*new, *homes.values()}
    clusters = queries.clusters_of(session, namespace, ids)
    outcomes = queries.outcomes_of_clusters(session, namespace, ids, tainted_episode_ids(session, namespace))
    findings: defaultdict[str, list[Inference]] = defaultdict(list)
    for inference in confirmed:
        if inference.id in homes:
            findings[homes[inference.id]].append(inference)
    night = _date(run.key if run else "", run.started_at.date() if run else date.min)
    return _Seen(
        night=night,
        clusters=clusters,
        new=new,
        profiles={one: _profile(cluster, outcomes[one]) for one, cluster in clusters.items()},
        findings=findings,
        known=_known(session, namespace, confirmed),
        failing=_failing(session, namespace, clusters),
        # A further run of one night goes on with it: it chooses as the first would have.
        past=[one for one in past if one.night != night],
        writer=writer,
    )


def _date(key: str, otherwise: date) -> date:
    """The night that a run's key names."""
    try:
        return date.fromisoformat(key)
    except ValueError:
        return otherwise


def _profile(cluster: Cluster, outcomes: Mapping[str, int]) -> Profile:
    won, lost = max(outcomes.get("success", 0), 0), max(outcomes.get("failure", 0), 0)
    return Profile(frozenset(cluster.terms), frozenset(cluster.tools), won, lost, sum(outcomes.values()) - won - lost)


def _known(session: Session, namespace: str, confirmed: Sequence[Inference]) -> frozenset[str]:
    """Findings that an active rule states already."""
    known = set()
    for inference in confirmed:
        rule = rule_queries.rule_by_predicate(session, namespace, inference.predicate_id)
        if rule and any(row.state == "active" for row in rule_queries.versions_of(session, namespace, rule.id)):
            known.add(inference.id)
    return frozenset(known)


def _failing(session: Session, namespace: str, clusters: Mapping[str, Cluster]) -> dict[str, list[str]]:
    """By cluster, its rules that do not hold any more; a rule of no cluster of tonight goes to its family's first."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    active = {(row.rule_id, row.version): row for row in rule_queries.versions_in(session, namespace)}
    latest = latest_rechecks(session, namespace, active)
    failing = {key: recheck for key, recheck in latest.items() if recheck.verdict in NO_LONGER}
    made_of = candidates_by_ids(session, namespace, {active[key].candidate_id for key in failing})
    for key, recheck in sorted(failing.items()):
        candidate = made_of[active[key].candidate_id]
        kin = sorted(one for one, cluster in clusters.items() if cluster.family_id == candidate.family_id)
        home = candidate.cluster_id if candidate.cluster_id in clusters else kin[0] if kin else None
        if home is not None:
            found[home].append(f"{key[0]} version {key[1]} {recheck.verdict}: {recheck.words}")
    return dict(found)


def _choice(claim: Claim, context: StepContext, regime: Regime, seen: _Seen, cluster_id: str) -> ModeChoice:
    cluster, profile = seen.clusters[cluster_id], seen.profiles[cluster_id]
    chosen = choose(profile, cluster_id, cluster.family_id, seen.night, seen.past)
    findings, new = seen.findings.get(cluster_id, []), seen.new.get(cluster_id, 0)
    known = sum(finding.id in seen.known for finding in findings)
    failing = tuple(seen.failing.get(cluster_id, ()))
    decided = decide(regime, chosen, Situation(new, profile.size, len(findings), known, failing, seen.writer))
    scores = {**chosen.as_dict(), "may_write": decided.may_write, "new": new, "findings": len(findings)}
    return ModeChoice(
        namespace=claim.namespace, run_id=claim.run_id, cluster_id=cluster_id, family_id=cluster.family_id,
        mode=decided.mode, action=decided.action, regime=regime, why=decided.why, profile=profile.as_dict(),
        scores=scores, at=context.now,
    )  # fmt: skip


def _hypotheses(database: Database, claim: Claim) -> int:
    """Keep the untested causes that the night's conclusions point to; returns how many there are."""
    with database.read() as session:
        told = queries.conclusions_with(session, claim.namespace, claim.run_id, ("confirmed", "agent-confounded"))
    rows = [
        Inference(
            namespace=claim.namespace, id=content_hash([claim.run_id, one.predicate], 32), run_id=claim.run_id,
            family_id=source.family_id, predicate_id=content_hash([claim.namespace, one.predicate], 16),
            predicate=one.predicate, verdict="hypothesis", statement=one.statement, statistics={"about": source.id},
            next_step=one.next_step, ruled_out=list(one.ruled_out),
        )
        for source in told
        for one in hypotheses(
            source.predicate, source.predicate_id, source.verdict, source.statistics,
            source.ruled_out or ruled_out(source.verdict, source.statistics),
        )
    ]  # fmt: skip
    with database.write() as session:
        guard(session, claim)
        for row in rows:
            put_hypothesis(session, row)
    return len(rows)
