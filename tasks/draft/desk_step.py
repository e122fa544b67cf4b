"""One cluster on the desk: what a model is shown of it, and its answer, kept before it is read.

No session is open while the model thinks, and the same question is never paid for twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from sqlmodel import Session

from storage import replies
from storage.bodies import load_bodies
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim, guard
from storage.queries import replies as queries
from storage.queries.lineage import reads_of_episodes
from storage.queries.taint import tainted_among
from storage.tables import Cluster, ModelReply, Namespace
from tasks.context import StepContext
from tasks.draft.model.answer import Answer, Malformed, read_answer
from tasks.draft.model.brief import ClusterBrief, EpisodeText, Listed, Mode, choose, read_episode
from tasks.draft.model.budget import Drafting, Spent, exhausted
from tasks.draft.model.chat import CUT_OFF, DECLINED, ChatModel, ModelUnavailable, Said
from tasks.draft.model.mask import Mask
from tasks.draft.model.prompt import Prompt, again, build
from tasks.ingest.episode import Episode as CanonicalEpisode

MOST_TRIES = 3
"""Answers asked for to one prompt before it is left, its replies kept."""
MOST_UNANSWERED = 2
"""After so many clusters without any answer the endpoint is not asked again this night."""
MOST_LISTED = 2_000
"""Episodes of a cluster that are chosen from: the last to arrive."""

State = Literal["worded", "hypothesis", "nothing", "refused", "over-budget", "parked"]


class Stopped(Exception):
    """No answer will come of this prompt tonight."""

    def __init__(self, state: State, why: str) -> None:
        super().__init__(why)
        self.state = state


@dataclass(frozen=True)
class Desk:
    """One cluster's question and all it is asked with."""

    database: Database
    claim: Claim
    context: StepContext
    model: ChatModel
    drafting: Drafting
    cluster: Cluster
    mode: Mode
    brief: ClusterBrief
    prompt: Prompt

    def hypothesis_id(self, of: str) -> str:
        """The predicate id under which an untested claim is kept, apart from the contrast's own row."""
        return content_hash([self.claim.namespace, self.cluster.family_id, "hypothesis", of], 16)


# What is shown


def open_desk(
    database: Database, claim: Claim, context: StepContext, model: ChatModel, cluster: Cluster, mode: Mode
) -> Desk | None:
    with database.read() as session:
        drafting = context.settings.drafting.under(session.get_one(Namespace, claim.namespace).policy)
        listed = _listed(session, claim.namespace, cluster.id)
        mask = Mask(_lines(queries.contents_written(session, claim.namespace)))
        chosen = choose(listed, mode)
        bodies = load_bodies(session, claim.namespace, [one.id for one in chosen])
    shown = tuple(_text(one, bodies[one.id], mask) for one in chosen if one.id in bodies)
    if not shown:
        return None
    brief = ClusterBrief(claim.namespace, mask.over(cluster.label), mode, shown)
    prompt = build(brief, context.secret, drafting.prompt_tokens, drafting.answer_tokens)
    return Desk(database, claim, context, model, drafting, cluster, mode, brief, prompt)


def _listed(session: Session, namespace: str, cluster_id: str) -> list[Listed]:
    """Untainted episodes to choose from; an outcome that an agent reported of itself is none."""
    members = queries.members_of_cluster(session, namespace, cluster_id, MOST_LISTED)
    ids = [member.id for member in members]
    tainted, reads = tainted_among(session, namespace, ids), reads_of_episodes(session, namespace, ids)
    return [
        Listed(member.id, _outcome(member), member.stratum, member.group, member.id in reads)
        for member in members
        if member.id not in tainted
    ]


def _outcome(member: queries.Member) -> str:
    known = member.outcome in ("success", "failure") and member.outcome_source != "self-reported"
    return member.outcome if known else "unknown"


def _text(one: Listed, body: dict[str, Any], mask: Mask) -> EpisodeText:
    return read_episode(one.id, CanonicalEpisode.model_validate(body), one.outcome, mask)


def _lines(contents: Iterable[dict[str, Any]]) -> set[str]:
    """The sentences of rules and candidates, each line of advice by itself."""
    return {
        str(line)
        for content in contents
        for line in (content.get("when_to_use"), *(content.get("guidance") or ()))
        if line
    }


# What is answered


def answer(desk: Desk, sampling: tuple[float, int], tries: int) -> Answer:
    """The answer kept from before, or a new one. Only what is wrong with a reply is told to the model, never the reply.

    Raises:
        Stopped: if there is none.
    """
    prompt_hash = desk.prompt.hash(sampling)
    with desk.database.read() as session:
        kept = queries.replies_to(session, desk.claim.namespace, prompt_hash, desk.model.name)
    for reply in kept:
        if reply.state == "accepted":
            with suppress(Malformed):  # An earlier version may have taken what this one does not.
                return read_answer(reply.reply)
    mine = [reply for reply in kept if reply.run_id == desk.claim.run_id and reply.state == "malformed"]
    fault = mine[-1].error if mine else None
    for number in range(len(mine), tries):
        said = _ask(desk, prompt_hash, again(sampling, number), fault)
        try:
            answer = _read(said)
        except Malformed as wrong:
            fault = str(wrong)
            _keep(desk, prompt_hash, "malformed", said, fault)
            continue
        _keep(desk, prompt_hash, "accepted", said)
        return answer
    raise Stopped("parked", f"{tries} replies of {desk.model.name} were no answer, the last because {fault}")


def _ask(desk: Desk, prompt_hash: str, sampling: tuple[float, int], fault: str | None) -> Said:
    left = _room(desk)
    try:
        return desk.model.ask(desk.prompt.question(sampling, fault), left)
    except ModelUnavailable as error:
        _keep(desk, prompt_hash, "failed", Said("", seconds=error.seconds), str(error))
        raise Stopped("parked", f"{desk.model.name} gave no answer: {error}") from error


def _room(desk: Desk) -> float:
    """Seconds left for a further call.

    Raises:
        Stopped: if there is no room for one.
    """
    with desk.database.read() as session:
        costs = queries.spent_tonight(session, desk.claim.namespace, desk.claim.run_id)
        silent = queries.clusters_unanswered(session, desk.claim.namespace, desk.claim.run_id) - {desk.cluster.id}
    why = exhausted(Spent(*costs), desk.drafting, desk.prompt.tokens)
    if why is not None:
        raise Stopped("over-budget", why)
    if len(silent) >= MOST_UNANSWERED:
        raise Stopped("parked", f"{desk.model.name} was not asked: no answer for {len(silent)} clusters before")
    return desk.drafting.seconds - costs.seconds


def _read(said: Said) -> Answer:
    if said.ended == DECLINED:
        raise Malformed("the model declined to answer")
    try:
        return read_answer(said.text)
    except Malformed as wrong:
        raise Malformed(f"it was cut off at its token limit ({wrong})") if said.ended == CUT_OFF else wrong from wrong


def _keep(desk: Desk, prompt_hash: str, state: str, said: Said, error: str | None = None) -> None:
    reply = ModelReply(
        namespace=desk.claim.namespace, prompt_hash=prompt_hash, model=desk.model.name, attempt=0,
        run_id=desk.claim.run_id, cluster_id=desk.cluster.id, state=state, reply=_storable(said.text), error=error,
        inputs=desk.brief.inputs, tokens_in=said.tokens_in, tokens_out=said.tokens_out, seconds=said.seconds,
        at=desk.context.now,
    )  # fmt: skip
    with desk.database.write() as session:
        guard(session, desk.claim)
        replies.keep_reply(session, reply)


def _storable(text: str) -> str:
    """PostgreSQL holds neither a zero byte nor half a surrogate pair."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
