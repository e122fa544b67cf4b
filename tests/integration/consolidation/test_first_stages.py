"""Select, cluster and contrast on a real store, through the ledger."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import select

from storage.engine import Database
from storage.ledger import Claim
from storage.tables import (
    ClusterEpisode,
    Episode,
    Inference,
    InferenceObservation,
    Look,
    Observation,
    Run,
    RunEpisode,
    RunStep,
)
from tasks import pipeline
from tasks.context import StepContext
from tasks.contrast.confirm import FOLDS
from tasks.contrast.predicate import from_canonical
from tasks.ingest.step import ingest_paths
from tasks.pipeline import Worker
from tasks.stages import step_function

Do = Callable[..., Any]
SECRET = b"k" * 32
START = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
STAGES = ("select", "cluster", "contrast")


def inferences(database: Database, run: Run) -> list[Inference]:
    with database.read() as session:
        return list(session.exec(select(Inference).where(Inference.run_id == run.id).order_by(Inference.predicate_id)))


def everything(database: Database) -> list[Any]:
    tables = (Inference, Observation, InferenceObservation, Look, ClusterEpisode)
    with database.read() as session:
        return [sorted(str(row.model_dump()) for row in session.exec(select(table))) for table in tables]


def test_a_planted_habit_is_confirmed_and_a_harmless_call_of_hard_tasks_is_not(
    database: Database, bring: Do, night: Do, desk: Do, results: Do
) -> None:
    bring(desk(1))
    run = night()
    (found,) = results(run, "contrast")
    confirmed = [one for one in inferences(database, run) if one.verdict == "confirmed"]
    assert found["confirmed"] == len(confirmed) == 1
    predicate = from_canonical(confirmed[0].predicate)
    assert "get_fare" in predicate.calls
    assert set(confirmed[0].statistics) >= {"effect", "held_out", "strata", "exceptions", "agent_adjusted", "evidence"}


def test_observations_point_at_steps_and_carry_groups(database: Database, bring: Do, night: Do, desk: Do) -> None:
    bring(desk(1))
    (one,) = [each for each in inferences(database, night()) if each.verdict == "confirmed"]
    with database.read() as session:
        links = session.exec(select(InferenceObservation).where(InferenceObservation.inference_id == one.id)).all()
        observed = {row.id: row for row in session.exec(select(Observation))}
        groups = {row.episode_id: row.group_id for row in session.exec(select(ClusterEpisode))}
    assert {link.stance for link in links} == {"support", "counter"}
    assert all(observed[link.observation_id].step_ids for link in links)
    assert all(groups[observed[link.observation_id].episode_id] == link.group_id for link in links)


def test_an_episode_is_consumed_once(database: Database, bring: Do, night: Do, desk: Do, results: Do) -> None:
    bring(desk(1, tasks=3))
    first = night()
    bring(desk(2, tasks=3))
    second = night(1)
    assert [results(run, "select")[0]["episodes"] for run in (first, second)] == [30, 30]
    with database.read() as session:
        assert len(session.exec(select(RunEpisode)).all()) == 60
        reasons = set(session.exec(select(RunEpisode.why).where(RunEpisode.run_id == second.id)))
    assert reasons == {"new", "repeated mistake"}


def clusters_of_tasks(database: Database) -> dict[str, str]:
    with database.read() as session:
        tasks = dict(session.exec(select(Episode.id, Episode.task_key)).all())
        return {tasks[row.episode_id]: row.cluster_id for row in session.exec(select(ClusterEpisode))}


def test_families_and_clusters_keep_their_ids(database: Database, bring: Do, night: Do, desk: Do, results: Do) -> None:
    bring(desk(1, tasks=4))
    first = night()
    before = clusters_of_tasks(database)
    bring(desk(2, tasks=6))
    second = night(1)
    assert results(first, "cluster")[0]["families"] == results(second, "cluster")[0]["families"]
    after = clusters_of_tasks(database)
    assert {key: after[key] for key in before} == before


def test_what_is_confirmed_stays_so_and_is_not_tested_on_the_same_groups_again(
    database: Database, bring: Do, night: Do, desk: Do
) -> None:
    bring(desk(1))
    first = night()
    bring(desk(2, tasks=2, runs=2))
    second = night(1)
    verdicts = [
        {one.predicate_id: one.verdict for one in inferences(database, run) if one.verdict == "confirmed"}
        for run in (first, second)
    ]
    assert verdicts[0] == verdicts[1] != {}
    with database.read() as session:
        looks = session.exec(select(Look)).all()
    tested: dict[tuple[str, int], set[str]] = {}
    for look in sorted(looks, key=lambda look: (look.run_id, look.fold)):
        of_draw = tested.setdefault((look.predicate_id, look.fold // FOLDS), set())
        assert not of_draw & set(look.groups)
        of_draw |= set(look.groups)


def test_self_reported_and_unknown_outcomes_count_for_nothing(bring: Do, night: Do, desk: Do, results: Do) -> None:
    told = [{**each, "outcome_source": "self-reported"} for each in desk(1)]
    unknown = [
        {**each, "id": each["id"] + "u", "session_id": each["id"] + "u", "outcome": "unknown"} for each in desk(1)
    ]
    bring(told + unknown)
    # The comparison of retries, which asks for no outcome, has no units.
    (found,) = [one for one in results(night(), "contrast") if "units" in one]
    assert (found["units"], found["confirmed"]) == (0, 0)


def dies_at(stage: str, write: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Do]:
    """Step functions of which the given stage fails once, at the given write."""
    left = [stage]

    def steps(name: str) -> Do:
        function = step_function(name)

        def run(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
            if name not in left:
                return function(database, claim, context)
            left.remove(name)
            with monkeypatch.context() as patch:
                patch.setattr(Database, "write", refusing(write))
                return function(database, claim, context)

        return run

    return steps


def refusing(at: int) -> Do:
    begin, writes = Database.write, iter(range(1, 1000))

    def write(self: Database) -> Any:
        if next(writes) == at:
            raise RuntimeError("the worker died here")
        return begin(self)

    return write


@pytest.mark.parametrize(("stage", "write"), [("select", 2), ("cluster", 2), ("contrast", 4)])
def test_a_step_that_died_half_way_is_done_again_with_the_same_rows(
    database: Database, bring: Do, night: Do, desk: Do, monkeypatch: pytest.MonkeyPatch, stage: str, write: int
) -> None:
    bring(desk(1))
    run = night(steps=dies_at(stage, write, monkeypatch))
    after_the_fault = everything(database)
    assert [len(rows) > 0 for rows in after_the_fault] == [True] * 5
    assert len(after_the_fault[-1]) == 160
    contrast_again(database, run)
    assert everything(database) == after_the_fault


def contrast_again(database: Database, run: Run) -> None:
    """The contrast once more, on an empty table and undisturbed."""
    with database.write() as session:
        for table in (InferenceObservation, Observation, Look, Inference):
            session.execute(sa.delete(table))
        (step,) = session.exec(select(RunStep).where(RunStep.run_id == run.id, RunStep.stage == "contrast"))
        step.state, step.token = "leased", step.token + 1
        claim = Claim(run.id, step.id, run.namespace, "contrast", step.shard, step.token, 1)
    step_function("contrast")(database, claim, StepContext(run.started_at, "test", SECRET))


@pytest.mark.samples
def test_the_known_finding_of_the_airline_runs_is_confirmed(
    sqlite_database: Database, samples: Path, worker: Worker
) -> None:
    """Cancelling spoils runs within tasks, though in some tasks successes do cancel; the rest is confounding."""
    ingest_paths(sqlite_database, sorted((samples / "tau").glob("tau*airline*.json*")), "tau", principal="ops",
                 now=START, secret=SECRET)  # fmt: skip
    run = pipeline.open_run(sqlite_database, "tau", "2026-11-30", "test", START)
    while (claim := pipeline.claim(sqlite_database, worker, run_id=run.id)) and claim.stage in STAGES:
        pipeline.execute(sqlite_database, claim, worker)
    found = inferences(sqlite_database, run)
    (confirmed,) = [one for one in found if one.verdict == "confirmed"]
    assert confirmed.predicate["call"] == "cancel_reservation"
    effect = confirmed.statistics["effect"]
    assert effect["strata"] >= 10
    assert effect["odds_ratio"] < 0.5
    assert effect["q_value"] <= 0.10
    assert len(confirmed.statistics["exceptions"]) >= 5
    assert sum(one.verdict == "confounded" for one in found) >= 3
