"""States of the staging area, built through the real steps: episodes in, findings drafted, checked and staged.

What the contrast would conclude is written by hand, so that a test says exactly what was found; every later stage is
the real one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from storage.bodies import save_body
from storage.engine import Database
from storage.ids import content_hash, uuid7
from storage.ledger import Claim, add_steps, claim_next, complete
from storage.queries import candidates as candidate_queries
from storage.runs import insert_run
from storage.tables import (
    Candidate,
    CandidateRevision,
    Episode,
    Exposure,
    Family,
    Inference,
    InferenceObservation,
    Namespace,
    Observation,
    Run,
    RunEpisode,
    User,
)
from tasks.conflict import step as conflict_step
from tasks.context import PipelineSettings, StepContext
from tasks.contrast.predicate import Predicate, predicate_id
from tasks.draft import step as draft_step
from tasks.promote.people import Reviewer
from tasks.promote.step import DecisionResult, approve, reject
from tasks.recheck import step as recheck_step
from tasks.revoke import step as revoke_step
from tasks.stage import step as stage_step
from tasks.verify import step as verify_step

FAMILY = "shop"
STAGES = {
    "draft": draft_step.run,
    "conflict": conflict_step.run,
    "verify": verify_step.run,
    "stage": stage_step.run,
}
_numbers = count(1)


@dataclass(frozen=True)
class Ran:
    """One recorded run of the shop's agent."""

    task: str
    outcome: str
    calls: tuple[str, ...] = ()
    session: str | None = None
    text: str = "please help me with my order"
    trust: str = "internal"
    reads: tuple[tuple[str, int], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Found:
    """What the contrast is taken to have concluded, and the episodes that show it."""

    predicate: Predicate
    episodes: tuple[str, ...]
    exceptions: tuple[str, ...] = ()
    verdict: str = "confirmed"
    low: float = 0.05
    high: float = 0.5
    also: tuple[Predicate, ...] = ()
    promised: float = 0.6
    """The cautious end of what was seen on held-out groups."""
    read: tuple[tuple[str, int], ...] = ()
    """Rule versions that supporting runs had read, those beyond the cited ones too."""


@dataclass
class Desk:
    """A namespace with its people, and the acts that bring it into a state."""

    database: Database
    now: datetime
    secret: bytes
    namespace: str = "acme/shop"
    settings: PipelineSettings = field(default_factory=PipelineSettings)
    people: dict[str, Reviewer] = field(default_factory=dict)

    def open(self, *names: str) -> Desk:
        """Make the namespace, its family and its reviewers."""
        with self.database.write() as session:
            session.add(Namespace(path=self.namespace, created_at=self.now))
            session.flush()
            session.add(Family(namespace=self.namespace, id=FAMILY, label="shop orders", created_at=self.now))
        for name in names or ("ana", "bo"):
            self.person(name)
        return self

    def person(self, name: str, role: str = "reviewer", namespaces: Sequence[str] = ()) -> Reviewer:
        """An account and the reviewer it acts as."""
        with self.database.write() as session:
            user = User(id=uuid7(), name=name, role=role, namespaces=list(namespaces), created_at=self.now)
            session.add(user)
        self.people[name] = Reviewer(user.id, name, role, tuple(namespaces))
        return self.people[name]

    def later(self, days: float = 1) -> Desk:
        """The same desk on a later day."""
        return replace(self, now=self.now + timedelta(days=days))

    def record(self, *runs: Ran) -> tuple[str, ...]:
        """Store runs as a night would have consumed them; returns their episode ids."""
        with self.database.write() as session:
            night = insert_run(
                session, namespace=self.namespace, kind="repair", key=f"fill{next(_numbers)}", requested_by="test",
                now=self.now,
            )  # fmt: skip
            night.state = "completed"
            session.flush()
            made = [self._episode(ran) for ran in runs]
            session.add_all(row for row, _ in made)
            session.flush()
            for row, payload in made:
                save_body(session, self.namespace, row.id, payload)
            session.add_all(RunEpisode(namespace=self.namespace, episode_id=row.id, run_id=night.id) for row, _ in made)
        return tuple(row.id for row, _ in made)

    def _episode(self, ran: Ran) -> tuple[Episode, dict[str, Any]]:
        number = next(_numbers)
        identity = f"e{number:05d}"
        calls = [
            {"id": f"c{n}", "kind": "tool_call", "name": name, "arguments": {}} for n, name in enumerate(ran.calls)
        ]
        steps = [{"id": "u", "kind": "user", "text": f"{ran.text} {number}"}, *calls]
        payload = {
            "task": ran.task, "task_key": ran.task, "outcome": ran.outcome, "steps": steps, "trust": ran.trust,
            "outcome_source": "verifier", "environment": dict(ran.environment),
        }  # fmt: skip
        row = Episode(
                namespace=self.namespace, id=identity, importer="canonical", importer_version=1, redactor_version=1,
                source_hash=identity, fingerprint=identity, session_id=ran.session or f"s{number}", task=ran.task,
                task_key=ran.task, family_id=FAMILY, outcome=ran.outcome, outcome_source="verifier", trust=ran.trust,
                principal="ops", n_steps=len(steps), n_calls=len(calls), environment=dict(ran.environment),
                details={"memory_reads": [list(read) for read in ran.reads]} if ran.reads else {},
                ingested_at=self.now,
        )  # fmt: skip
        return row, payload

    def expose(self, session_id: str, rule_id: str, version: int) -> None:
        """Record that a session was served a version."""
        with self.database.write() as session:
            session.add(
                Exposure(
                    namespace=self.namespace, id=uuid7(), session_id=session_id, token_id="t", rule_id=rule_id,
                    version=version, epoch=1, position=0, request_id=uuid7(), at=self.now,
                )
            )  # fmt: skip

    def night(self, *findings: Found) -> dict[str, dict[str, Any]]:
        """Run the stages after the contrast on these findings; returns each stage's result."""
        run = self.start(*findings)
        return {stage: self.do(run, stage) for stage in STAGES}

    def start(self, *findings: Found) -> Run:
        """Open a night whose contrast has concluded this."""
        with self.database.write() as session:
            run = insert_run(
                session, namespace=self.namespace, kind="night", key=self.now.date().isoformat(), requested_by="test",
                now=self.now,
            )  # fmt: skip
            add_steps(session, run, "contrast", [FAMILY])
        self._claimed(run, "contrast", lambda claim: self._conclude(run, findings))
        return run

    def do(self, run: Run, stage: str) -> dict[str, Any]:
        """Run one stage of a night and close its step; the last one closes the night."""
        with self.database.write() as session:
            add_steps(session, run, stage, [""])
        result = self._claimed(run, stage, lambda claim: STAGES[stage](self.database, claim, self.context))
        if stage == "stage":
            self._close(run.id)
        return result

    def recheck(self) -> dict[str, Any]:
        """A night that touched the family and found nothing new, as far as its look at the active rules."""
        run = self.start()
        with self.database.write() as session:
            add_steps(session, run, "recheck", [""])
        result = self._claimed(run, "recheck", lambda claim: recheck_step.run(self.database, claim, self.context))
        self._close(run.id)
        return result

    def repair(self, run_id: str) -> dict[str, Any]:
        """Run the repair that a revocation opened."""
        with self.database.read() as session:
            run = session.get_one(Run, run_id)
        result = self._claimed(run, "repair", lambda claim: revoke_step.run(self.database, claim, self.context))
        self._close(run_id)
        return result

    @property
    def context(self) -> StepContext:
        """Time, actor and limits of the steps."""
        return StepContext(now=self.now, actor="worker", secret=self.secret, settings=self.settings)

    def claim(self, run: Run) -> Claim:
        """The claim of the run's next step."""
        with self.database.write() as session:
            claim = claim_next(session, owner="test", lease_seconds=600, run_id=run.id)
        assert claim is not None
        return claim

    def _claimed(self, run: Run, stage: str, work: Any) -> dict[str, Any]:
        claim = self.claim(run)
        assert claim.stage == stage
        result = work(claim) or {}
        with self.database.write() as session:
            complete(session, claim, result)
        return result

    def _close(self, run_id: str) -> None:
        with self.database.write() as session:
            session.get_one(Run, run_id).state = "completed"

    def _conclude(self, run: Run, findings: Sequence[Found]) -> None:
        with self.database.write() as session:
            for found in findings:
                self._inference(session, run, found)

    def _inference(self, session: Any, run: Run, found: Found) -> None:
        identity = predicate_id(self.namespace, FAMILY, found.predicate)
        inference = Inference(
            namespace=self.namespace, id=content_hash([run.id, identity], 32), run_id=run.id, family_id=FAMILY,
            predicate_id=identity, predicate=found.predicate.canonical(FAMILY), verdict=found.verdict,
            statement="Done in 2 of 31 successes and 19 of 24 failures.", statistics=statistics(found),
        )  # fmt: skip
        session.add(inference)
        session.flush()
        observations, links = [], []
        for episode_id in found.episodes:
            episode = session.get_one(Episode, (self.namespace, episode_id))
            against = (episode.outcome == "success") != (found.predicate.direction == "do")
            identity = content_hash([inference.id, episode_id], 32)
            steps = ["c0"] if episode.n_calls else []
            observations.append(
                Observation(namespace=self.namespace, id=identity, episode_id=episode_id, step_ids=steps, what="shown")
            )
            links.append(
                InferenceObservation(
                    namespace=self.namespace, inference_id=inference.id, observation_id=identity,
                    stance="counter" if against else "support", group_id=f"g{episode.session_id}",
                )
            )  # fmt: skip
        session.add_all(observations)
        session.flush()
        session.add_all(links)

    def candidates(self, *states: str) -> list[tuple[Candidate, CandidateRevision]]:
        """Candidates with their current revisions."""
        with self.database.read() as session:
            return list(candidate_queries.queue(session, self.namespace, states or ("staged", "approved")))

    def only(self) -> Candidate:
        """The one candidate that waits."""
        ((candidate, _),) = self.candidates()
        return candidate

    def approve(self, candidate: Candidate, name: str = "ana", **changes: Any) -> DecisionResult:
        """Approve what is shown now."""
        return approve(self.database, self.namespace, candidate.id, **self._decision(candidate, name) | changes)

    def reject(self, candidate: Candidate, name: str = "ana", **changes: Any) -> DecisionResult:
        """Reject what is shown now."""
        return reject(self.database, self.namespace, candidate.id, **self._decision(candidate, name) | changes)

    def _decision(self, candidate: Candidate, name: str) -> dict[str, Any]:
        return {
            "content_hash": candidate.content_hash, "packet_hash": candidate.packet_hash, "now": self.now,
            "reviewer": self.people[name], "reason": "seen the evidence", "secret": self.secret,
        }  # fmt: skip

    def revoke(self, rule_id: str, name: str = "ana", reason: str = "it misleads") -> revoke_step.RevokeResult:
        """Revoke a rule."""
        return revoke_step.revoke(
            self.database, self.namespace, rule_id, reason=reason, actor=self.people[name], now=self.now,
            secret=self.secret,
        )  # fmt: skip

    def promoted(self, found: Found) -> tuple[str, int]:
        """A rule made of this finding, by a night and a reviewer."""
        before = {candidate.id for candidate, _ in self.candidates()}
        self.night(found)
        (fresh,) = [candidate for candidate, _ in self.candidates() if candidate.id not in before]
        names = iter(self.people)
        result = self.approve(fresh, next(names))
        while result.state == "approved":
            result = self.approve(fresh, next(names))
        assert result.rule_id is not None
        assert result.version is not None
        return result.rule_id, result.version


def statistics(found: Found) -> dict[str, Any]:
    """Figures as the contrast stores them."""
    strata = [
        {"stratum": f"t{n}", "success_with": 0, "success_without": 2, "failure_with": 2, "failure_without": 0}
        for n in range(6)
    ]
    return {
        "effect": {
            "odds_ratio": 0.1, "low": found.low, "high": found.high, "p_value": 0.001, "q_value": 0.01, "strata": 6,
            "success_with": 2, "success_total": 31, "failure_with": 19, "failure_total": 24, "variance": 4.0,
        },
        "held_out": {
            "groups": 20, "odds_ratio": 0.1, "low": 0.02, "high": found.promised, "p_value": 0.001, "alpha": 0.01,
            "same_direction": True, "confirmed": True, "strata": 6, "folds": [],
        },
        "strata": strata,
        "exceptions": list(found.exceptions),
        "agent_adjusted": {"verdict": "same", "agents": 2, "odds_ratio": 0.1},
        "also_worded": [predicate.canonical(FAMILY) for predicate in found.also],
        "evidence": {"read": [list(key) for key in found.read]},
    }  # fmt: skip


def avoid(call: str) -> Predicate:
    """Runs that made this call tended to fail."""
    return Predicate("call-present", (call,), "avoid")


def do(call: str) -> Predicate:
    """Runs that made this call tended to succeed."""
    return Predicate("call-present", (call,), "do")


def tried(call: str, tasks: int = 8, **details: Any) -> list[Ran]:
    """Runs in which a call goes with failure, within every task."""
    runs = []
    for n in range(tasks):
        runs += [Ran(f"t{n}", "failure", ("look", call), **details)] * 2
        runs += [Ran(f"t{n}", "success", ("look",), **details)] * 2
    return runs


def those_with(ids: Sequence[str], call: str, runs: Sequence[Ran]) -> tuple[str, ...]:
    """The episodes among ``ids`` whose run made a call."""
    return tuple(identity for identity, ran in zip(ids, runs, strict=True) if call in ran.calls)


def finding(desk: Desk, call: str = "cancel_order", predicate: Predicate | None = None, **details: Any) -> Found:
    """A finding that a call goes with failure, with fresh runs that show it."""
    runs = tried(call, **details)
    ids = desk.record(*runs)
    return Found(predicate or avoid(call), those_with(ids, call, runs))
