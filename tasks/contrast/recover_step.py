"""Compare the retries of all sessions that nobody judged: load what is new of them, judge, save what was concluded.

One shard for the whole namespace. A step done again after a crash removes what its first try wrote and writes the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from storage import consolidation, ledger
from storage.engine import Database
from storage.ids import content_hash
from storage.ledger import Claim
from storage.queries import consolidation as queries
from storage.tables import Family, Inference, InferenceObservation, Look, Observation
from tasks.cluster.kin import kin_of
from tasks.context import StepContext
from tasks.contrast.confirm import family_alpha, night_alpha
from tasks.contrast.predicate import Predicate, predicate_id
from tasks.contrast.recoveries import EVERYWHERE, LABEL, with_recoveries
from tasks.contrast.recoveries.judge import Earlier, Judged, Judgement, Strictness, judge
from tasks.contrast.recoveries.step import Sessions, fold_salt, load_sessions
from tasks.contrast.recoveries.trials import Trials, build_trials, steps_of, too_rare
from tasks.contrast.recoveries.words import cases, statement, statistics
from tasks.contrast.ruled_out import ruled_out
from tasks.contrast.saving.step import Shown, save_conclusions

MOST_OBSERVATIONS = {"confirmed": 120, "unconfirmed": 60}
FEW_OBSERVATIONS = 20
"""Observations kept of one inference by its verdict, half of each stance; its counts are of all."""

T = TypeVar("T")


@dataclass(frozen=True)
class _History:
    """What earlier nights spent, confirmed, and tested: ``looked`` has, by predicate, the last run on each fold."""

    alpha: float
    number: int
    past: Mapping[str, Sequence[Earlier]]
    looked: Mapping[str, Sequence[str]]


def recover(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Compare what was done before retries that worked with what was done before those that failed again."""
    _put_family(database, claim, context)
    sessions = load_sessions(database, claim.namespace, context.settings, claim)
    history = _history(database, claim, context)
    trials = trials_of(sessions, fold_salt(claim.namespace))
    strictness = Strictness(
        history.alpha, context.settings.q_level, fold_salt(claim.namespace),
        past=_by_column(claim, trials, history.past), looked=_by_column(claim, trials, history.looked),
    )  # fmt: skip
    judgement = judge(trials, strictness)
    _save(database, claim, context, trials, judgement, history)
    return _result(sessions, trials, judgement)


def trials_of(sessions: Sessions, salt: str) -> Trials:
    """Rows and columns of these sessions, echoes left out."""
    promoted = sessions.promoted
    return build_trials(
        sessions.told, salt=salt, kin=(lambda claim: kin_of(claim, promoted)) if promoted.told else None
    )


def _put_family(database: Database, claim: Claim, context: StepContext) -> None:
    row = Family(
        namespace=claim.namespace, id=EVERYWHERE, label=LABEL, signature={"kind": "recoveries"}, created_at=context.now
    )
    with database.write() as session:
        ledger.guard(session, claim)
        consolidation.put_families(session, claim.namespace, [row])


def _history(database: Database, claim: Claim, context: StepContext) -> _History:
    with database.read() as session:
        families = queries.families_tested(session, claim.run_id) | {EVERYWHERE}
        informative = queries.informative_tasks(session, claim.namespace, families)
        nights = queries.nights_that_looked(session, claim.namespace, claim.run_id)
        confirmed = queries.looks_confirmed(session, claim.namespace, claim.run_id)
        looked = queries.last_looks(session, claim.namespace, claim.run_id)
    past: defaultdict[str, list[Earlier]] = defaultdict(list)
    for look in confirmed:
        past[look.predicate_id].append(
            Earlier(look.fold, look.p_value, look.alpha, look.odds_ratio, tuple(look.groups))
        )
    night = night_alpha(context.settings.yearly_alpha, nights)
    alpha = family_alpha(night, with_recoveries(informative, families), EVERYWHERE)
    return _History(alpha, nights + 1, past, looked)


def _identity(claim: Claim, predicate: Predicate) -> str:
    return predicate_id(claim.namespace, EVERYWHERE, predicate.toward("do"))


def _by_column(claim: Claim, trials: Trials, by_predicate: Mapping[str, T]) -> dict[int, T]:
    """What is known of earlier nights by column; of what the night does not ask of any more, nothing."""
    if not by_predicate:
        return {}
    identities = [_identity(claim, predicate) for predicate in trials.sample.columns.predicates]
    return {column: by_predicate[one] for column, one in enumerate(identities) if one in by_predicate}


def _save(
    database: Database, claim: Claim, context: StepContext, trials: Trials, judgement: Judgement, history: _History
) -> None:
    conclusions = [_conclusion(claim, trials, judgement, judged) for judged in judgement.found]
    looks = _looks(claim, context, trials, judgement, history)
    save_conclusions(database, claim, context.settings.write_batch, conclusions, looks)


def _conclusion(claim: Claim, trials: Trials, judgement: Judgement, judged: Judged) -> tuple[Inference, list[Shown]]:
    predicate = trials.sample.columns.predicates[judged.column].toward("do")
    identity = _identity(claim, predicate)
    inference_id = content_hash([claim.run_id, identity], 32)
    figures = statistics(trials, judgement, judged, EVERYWHERE)
    figures["evidence"] = _evidence(trials, judged.column)
    inference = Inference(
        namespace=claim.namespace, id=inference_id, run_id=claim.run_id, family_id=EVERYWHERE, predicate_id=identity,
        predicate=predicate.canonical(EVERYWHERE), verdict=judged.verdict,
        statement=statement(trials, judgement, judged), statistics=figures,
        next_step=figures["needs"]["words"] if figures["needs"] else None,
        ruled_out=[one for one in ruled_out(judged.verdict, figures) if not one.startswith("not how hard")],
    )  # fmt: skip
    half = MOST_OBSERVATIONS.get(judged.verdict, FEW_OBSERVATIONS) // 2
    room = Counter({"support": half, "counter": half})
    shown = []
    for row in _showing(trials, judged.column):
        stance = "support" if trials.sample.success[row] else "counter"
        if room[stance] > 0:
            room[stance] -= 1
            shown.append(_observation(claim, inference_id, trials, judged.column, row, stance))
    return inference, shown


def _showing(trials: Trials, column: int) -> list[int]:
    """Retries that the remedy preceded."""
    columns = trials.sample.columns
    rows: list[int] = np.flatnonzero(columns.values[:, column] & columns.mask[:, column]).tolist()
    return rows


def _observation(claim: Claim, inference_id: str, trials: Trials, column: int, row: int, stance: str) -> Shown:
    """The failure, the remedy and the retry, as steps of one session."""
    told, chain = trials.told[trials.rows[row].session], trials.rows[row].chain
    identity = content_hash([inference_id, told.episode_id, row], 32)
    came = "worked" if stance == "support" else "failed again"
    observation = Observation(
        namespace=claim.namespace, id=identity, episode_id=told.episode_id, step_ids=steps_of(trials, column, row),
        what=f"`{chain.command}` failed, the remedy was tried, and the next try {came}",
    )  # fmt: skip
    link = InferenceObservation(
        namespace=claim.namespace, inference_id=inference_id, observation_id=identity, stance=stance,
        group_id=told.group,
    )  # fmt: skip
    return observation, link


def _evidence(trials: Trials, column: int) -> dict[str, Any]:
    seen = cases(trials, column)
    supporting = [row for row in _showing(trials, column) if trials.sample.success[row]]
    read = {key for row in supporting for key in trials.told[trials.rows[row].session].read}
    return {
        "support": seen.worked_with, "counter": seen.failed_with, "independent_groups": seen.sessions,
        "principals": seen.principals, "agents": seen.agents, "read": [list(key) for key in sorted(read)],
    }  # fmt: skip


def _looks(claim: Claim, context: StepContext, trials: Trials, judgement: Judgement, history: _History) -> list[Look]:
    rows = []
    for look in judgement.looks:
        tested = _identity(claim, trials.sample.columns.predicates[look.column])
        ratio = look.odds_ratio if np.isfinite(look.odds_ratio) else None
        rows.append(
            Look(
                id=content_hash([claim.run_id, tested, look.fold], 32), namespace=claim.namespace, predicate_id=tested,
                fold=look.fold, run_id=claim.run_id, number=history.number, alpha=look.alpha, p_value=look.p_value,
                odds_ratio=ratio, groups=list(look.groups), confirmed=look.confirmed, at=context.now,
            )
        )  # fmt: skip
    return rows


def _result(sessions: Sessions, trials: Trials, judgement: Judgement) -> dict[str, Any]:
    verdicts = Counter(judged.verdict for judged in judgement.found)
    confounded = [
        statement(trials, judgement, judged) for judged in judgement.found if judged.verdict == "agent-confounded"
    ]
    chains = [chain for told in sessions.told for chain in told.chains]
    return {
        "tests": judgement.tests, "confirmed": verdicts["confirmed"], "unconfirmed": verdicts["unconfirmed"],
        "insufficient": verdicts["insufficient"], "confounded": confounded, "sessions_read": sessions.read,
        "sessions_that_retried": len(sessions.told), "errors_retried": len(chains),
        "passed_by_themselves": sum(
            chain.retries[0].worked and not chain.retries[0].acts for chain in chains
        ),
        "errors_met_by_too_few": too_rare(trials),
        "tainted": sessions.tainted, "dropped_by_cap": trials.dropped_by_cap,
    }  # fmt: skip
