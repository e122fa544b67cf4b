"""Ask a model about one cluster: show it raw episodes, believe of the answer what is cited and what was confirmed.

Every reply is kept before it is read, so that the same question is never paid for twice and no reply is lost; and no
session is open while the model thinks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sqlmodel import Session

from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim
from storage.queries import replies as queries
from storage.tables import Cluster, Draft, Inference, InferenceObservation, Observation
from tasks.context import StepContext
from tasks.contrast.predicate import predicate_id
from tasks.contrast.ruled_out import ruled_out
from tasks.draft.compare_step import Standing, standing_of
from tasks.draft.desk_step import MOST_TRIES, Desk, State, Stopped, answer, open_desk
from tasks.draft.model import claims
from tasks.draft.model.answer import Answer, DraftText
from tasks.draft.model.brief import Mode
from tasks.draft.model.cite import Cited, check
from tasks.draft.model.prompt import FIRST, SECOND
from tasks.draft.model.wording import NAME, Wording, agreement, is_by_model, told, worded_content, worded_packet


@dataclass(frozen=True)
class ClusterDraft:
    """What came of one cluster, nothing of it saved but the replies. ``problem`` is what the run must say, if any."""

    state: State
    why: str
    wording: Wording | None = None
    inference: Inference | None = None
    shown: list[tuple[Observation, InferenceObservation]] = field(default_factory=list)
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    dropped: int = 0
    problem: dict[str, str] | None = None

    def counts(self) -> dict[str, int | float]:
        """Counts that a step sums: what was spent, citations dropped, and one of this state."""
        return {
            "model_calls": self.calls, "model_tokens": self.tokens, "model_seconds": round(self.seconds, 3),
            "citations_dropped": self.dropped, f"model_{self.state.replace('-', '_')}": 1,
        }  # fmt: skip


def draft_cluster(database: Database, claim: Claim, context: StepContext, cluster: Cluster, mode: Mode) -> ClusterDraft:
    """Draft one homogeneous cluster with the model of the context. Called again, it pays for nothing twice.

    Raises:
        ClaimLost: if another worker took the step over.
    """
    if context.model is None:
        return ClusterDraft("over-budget", "no model is set up")
    desk = open_desk(database, claim, context, context.model, cluster, mode)
    if desk is None:
        return ClusterDraft("nothing", "no episode of the cluster can be shown")
    try:
        made = _made_of(desk, answer(desk, FIRST, MOST_TRIES))
    except Stopped as stopped:
        made = ClusterDraft(stopped.state, str(stopped), problem=_problem(desk, stopped))
    with database.read() as session:
        costs = queries.spent_on_cluster(session, claim.namespace, claim.run_id, cluster.id)
    made = replace(made, calls=costs.calls, tokens=costs.tokens, seconds=costs.seconds)
    if made.wording is None:
        return made
    cost = {"model_calls": costs.calls, "tokens": costs.tokens, "seconds": round(costs.seconds, 3)}
    return replace(made, wording=replace(made.wording, cost=cost))


def word_draft(session: Session, draft: Draft, wording: Wording | None) -> Draft:
    """A finding's draft in a model's words where it has any: first those staged before, then tonight's.

    Text that was staged once is kept from night to night, whoever wrote it; where in some tasks successes do the
    opposite, the advice to check stays in its plain words.
    """
    staged = queries.newest_revision(session, draft.namespace, draft.candidate_id)
    if draft.packet.get("exceptions") or (staged is not None and not is_by_model(staged.drafter)):
        return draft
    if staged is None:
        return draft if wording is None else _worded(draft, wording)
    kept = Wording(
        draft.inference_id, staged.drafter, staged.mode, staged.content["when_to_use"],  # type: ignore[arg-type]
        tuple(staged.content["guidance"]), _told_before(staged.packet), tuple(staged.inputs), staged.prompt_hash,
        staged.cost,
    )  # fmt: skip
    return _worded(draft, kept)


def _worded(draft: Draft, wording: Wording) -> Draft:
    draft.content = worded_content(draft.content, wording.when_to_use, list(wording.guidance))
    draft.packet = worded_packet(draft.packet, wording.told, wording.cost)
    draft.drafter, draft.mode, draft.prompt_hash = wording.drafter, wording.mode, wording.prompt_hash
    draft.inputs = sorted({*draft.inputs, *wording.inputs})
    draft.cost = dict(wording.cost)
    return draft


def _told_before(packet: dict[str, Any]) -> dict[str, Any]:
    """What a staged packet says of the model's draft, as it was told then."""
    proposed = str(packet.get("verification_method", "")).rpartition("The drafter proposes further: ")[2]
    return {**packet.get("model", {}), "verification_method": proposed}


# What is believed


def _made_of(desk: Desk, said: Answer) -> ClusterDraft:
    draft = said.draft
    if draft is None:
        return ClusterDraft("nothing", f"the model found nothing to learn: {said.reason.strip()}")
    cited = check(draft.citations, desk.prompt.shown, desk.brief.episodes)
    if not cited.held:
        why = f"none of its {cited.dropped} citations is in the cited step"
        return ClusterDraft("refused", why, dropped=cited.dropped)
    made = {call for episode in desk.brief.episodes for call in episode.calls}
    unmade = [call for call in claims.calls_of(draft.predicate) if call not in made]
    if unmade:
        return ClusterDraft("refused", f"it speaks of a call that no run made: {unmade[0][:80]}", dropped=cited.dropped)
    wanted = claims.predicates_of(draft.predicate)
    standing = standing_of(desk.database, desk.claim, desk.context, desk.cluster.family_id, wanted)
    found = standing.confirmed
    written = told(draft, claims.words(draft.predicate), cited, _agreement(desk, draft))
    if found is None:
        return _hypothesis(desk, draft, cited, written, standing)
    wording = Wording(
        found.id, NAME + desk.model.name, desk.mode, draft.when_to_use, tuple(draft.guidance), written,
        tuple(desk.brief.inputs), desk.prompt.hash(),
    )  # fmt: skip
    return ClusterDraft("worded", f"tonight's contrast confirms that {claims.words(draft.predicate)}", wording,
                        dropped=cited.dropped)  # fmt: skip


def _agreement(desk: Desk, draft: DraftText) -> dict[str, Any]:
    """Ask once more, at another temperature and seed, and compare the claims. No answer to this is no problem."""
    said = [claims.words(draft.predicate)]
    if not desk.drafting.repeat:
        return agreement(said, "a second draft was not asked for")
    try:
        second = answer(desk, SECOND, 1).draft
    except Stopped as stopped:
        return agreement(said, f"no second draft: {stopped}")
    return agreement([*said, "nothing to learn" if second is None else claims.words(second.predicate)])


def _hypothesis(
    desk: Desk, draft: DraftText, cited: Cited, written: dict[str, Any], standing: Standing
) -> ClusterDraft:
    """An untested claim, kept with what it needs. It is no rule and is served to nobody."""
    claim, wanted, said = desk.claim, claims.predicates_of(draft.predicate), standing.otherwise
    family = desk.cluster.family_id
    kept_as = desk.hypothesis_id(predicate_id(claim.namespace, family, wanted[0]))
    needs = claims.next_step(wanted, said, desk.context.settings.min_confirm_strata, standing.tasks)
    statistics = {
        **written, "drafter": NAME + desk.model.name, "mode": desk.mode, "cluster": desk.cluster.id,
        "when_to_use": draft.when_to_use, "guidance": draft.guidance, "prompt_hash": desk.prompt.hash(),
        "inputs": desk.brief.inputs,
        "contrast": None if said is None else {"verdict": said.verdict, "said": said.statement},
    }  # fmt: skip
    inference = Inference(
        namespace=claim.namespace, id=content_hash([claim.run_id, kept_as], 32), run_id=claim.run_id, family_id=family,
        predicate_id=kept_as, predicate=wanted[0].canonical(family), verdict="hypothesis",
        statement=f"a model's claim, not confirmed: {claims.words(draft.predicate)}", statistics=statistics,
        next_step=needs, ruled_out=[] if said is None else ruled_out(said.verdict, said.statistics),
    )  # fmt: skip
    return ClusterDraft("hypothesis", f"not confirmed by tonight's contrast; {needs}", None, inference,
                        _observed(desk, inference.id, cited), dropped=cited.dropped)  # fmt: skip


def _observed(desk: Desk, inference_id: str, cited: Cited) -> list[tuple[Observation, InferenceObservation]]:
    """The cited steps as observations. They support the claim in the model's eyes: nothing was weighed."""
    shown = []
    for episode_id, steps in sorted(cited.steps.items()):
        identity = content_hash([inference_id, episode_id], 32)
        observation = Observation(
            namespace=desk.claim.namespace, id=identity, episode_id=episode_id, step_ids=steps,
            what="a model cites this step for its claim",
        )  # fmt: skip
        link = InferenceObservation(
            namespace=desk.claim.namespace, inference_id=inference_id, observation_id=identity, stance="support",
            group_id=episode_id,
        )  # fmt: skip
        shown.append((observation, link))
    return shown


def _problem(desk: Desk, stopped: Stopped) -> dict[str, str] | None:
    if stopped.state != "parked":
        return None
    return {"stage": "draft", "shard": desk.cluster.id, "family": desk.cluster.family_id, "error": str(stopped)}
