"""A store with something on every page, made of one text: candidates, a conflict, runs, choices, an audit entry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import select

from storage import audit
from storage.acks import acknowledge
from storage.conflicts import note
from storage.engine import Database
from storage.ids import content_hash
from storage.queries.conflicts import MIXED_OUTCOME
from storage.serving import Reader, declare_session, serve
from storage.tables import Candidate, CandidateRevision, Inference, Recheck, RuleVersion, RunStep
from support import factories
from support.modes import make_choice
from support.review_pages import SPACE


@dataclass(frozen=True)
class Said:
    """What the store is made of. ``odd``: names of kinds, modes, checks and so on are that text too."""

    text: str
    odd: bool = True

    def name(self, usual: str) -> str:
        """A name that the pages know, or the text in its place."""
        return self.text if self.odd else usual


def content_of(said: Said) -> dict[str, Any]:
    """A content in two parts."""
    text = said.text
    scope = {"namespace": text, "environment": {text: text}, "agents": [text], "valid_from": said.name("2026-01-01"),
             "recheck_at": "2027-01-01"}  # fmt: skip
    return factories.content_for(SPACE, when_to_use=text, guidance=[text, f"{text[:1]} " * 2250 + text], scope=scope)


def packet_of(said: Said) -> dict[str, Any]:
    """A packet whose every word is the text."""
    text = said.text
    strata = [{"stratum": text, "success_with": 1, "success_without": 5, "failure_with": 4, "failure_without": 1}]
    words = ("summary", "verification_method", "owner", "authoritative_source", "tier_why")
    return factories.packet_for(
        strata=strata * 30,
        exceptions=[text],
        checks=[
            {"name": said.name("over-general"), "verdict": "warn", "detail": text * 9, "fix": text},
            {"name": said.name("independence"), "verdict": "pass", "detail": text, "fix": ""},
        ],
        counter_example={"episode_id": "ep-1", "step_ids": [text], "why": text},
        revoked_before={text: text},
        cost={said.name("model_calls"): text},
        agent_adjusted={"verdict": text},
        **dict.fromkeys(words, text),
    )


def steps_of(said: Said) -> list[dict[str, Any]]:
    """A step of each kind."""
    text = said.text
    kinds = ["user", "plan", "claim", "tool_call", "observation", "answer", "memory_read", "memory_write", "system"]
    made: list[dict[str, Any]] = [
        {"id": f"{text}{place}", "kind": kind, "text": text, "name": text, "of": text, "rule": text,
         "arguments": {text: text}, "cites": [text], "trust": "external", "is_error": True,
         "agent": text, "exit_code": 2, "uri": f"javascript:{text}" if said.odd else text, "is_copied_context": True}
        for place, kind in enumerate(kinds)
    ]  # fmt: skip
    return [
        *made,
        {"id": "5", "kind": "observation", "text": text * 900},
        {"id": "4", "kind": "answer", "text": "-"},
    ]


def fill(database: Database, now: datetime, said: Said) -> None:
    """Candidates, a conflict, runs, choices, conclusions and an audit entry, in which every text is the same."""
    text = said.text
    odd = {"task": text, "task_key": text, "agent": text, "model": text, "environment": {text: text},
           "agent_version": text, "redactions": {text: 2}, "source_file": text, "retry_of": text, "trust": "external",
           "principal": text, "details": {"outcome_from": text, "outcome_overruled": text}}  # fmt: skip
    for place in range(1, 7):
        factories.make_episode(database, SPACE, f"ep-{place}", now, steps=steps_of(said), **odd)
    evidence = [(f"ep-{place}", "counter" if place == 6 else "support") for place in range(1, 7)]
    factories.make_candidate(
        database, SPACE, "cand-1", now, content=content_of(said), packet=packet_of(said), evidence=evidence,
        tier_why=text, revoked_before=True, replaces_rule_id="rule-9", replaces_version=1,
    )  # fmt: skip
    usual = {} if said.odd else {"when_to_use": text, "guidance": [text]}
    packet = None if said.odd else packet_of(said)
    factories.make_candidate(
        database, SPACE, "cand-2", now, content=factories.content_for(SPACE, **usual), packet=packet
    )
    for name, tier in (("cand-8", "low"), ("cand-9", "high")):
        content = factories.content_for(SPACE, when_to_use=f"{text[:200]} {name[-1]}", guidance=[text])
        factories.make_candidate(database, SPACE, name, now, content=content, packet=packet_of(said), tier=tier,
                                 predicate_id=f"{name[-1]}-of-it",
                                 kind=said.name("exemplar" if tier == "low" else "rule"))  # fmt: skip
    factories.make_conflict(database, SPACE, "candidate:cand-1", "candidate:cand-2", now, text)
    for night, run_id, state in (("2026-11-29", "run-1", "partial"), ("2026-11-30", "run-2", "running")):
        key = f"{text}{run_id}" if said.odd else night
        factories.make_run(database, SPACE, run_id, now, state=state, key=key, requested_by=said.name("schedule"),
                           problems=[{"stage": said.name("draft"), "error": text}],
                           stats={said.name("episodes"): text if said.odd else 3})  # fmt: skip
    with database.write() as session:
        for step in session.exec(select(RunStep)).all():
            step.error, step.shard, step.result = text, text, {said.name("episodes"): 3}
        for found in session.exec(select(Inference)).all():
            found.statement, found.next_step, found.ruled_out = text, text, [text]
        session.get_one(Candidate, (SPACE, "cand-1")).run_id = "run-1"
    _choose(database, now, said)
    _nights(database, now, said)
    with database.write() as session:
        audit.record(session, actor=text, action=said.name("login"), namespace=SPACE, target=text,
                     detail={text: text}, now=now)  # fmt: skip


def _nights(database: Database, now: datetime, said: Said) -> None:
    """What a night and a repair tell of: drafts by their fate, budgets, rechecks, conflicts, a mixed outcome."""
    text = said.text
    told = {name: [text, "cand-2"] for name in ("unchanged", "closed", "over_cap", "voided")}
    restored = [{"rule": text, "version": text, "why": text}]
    results = (
        ("run-1", "stage", {"told": told, "asked_for": {"arrived": ["cand-2"], "missing": ["cand-2"]}}),
        ("run-1", "verify", {"held_back": [{"candidate": text, "check": said.name("independence"), "why": text}]}),
        ("run-1", "draft", {"model_calls": 3, "model_tokens": 90, "citations_dropped": 2, "regime": "force",
                            "allowed": {"calls": 9, "tokens": 400}}),
        ("fix-1", "repair", {"restored": restored, "to_review": restored, "voided": ["cand-2"]}),
    )  # fmt: skip
    factories.make_run(database, SPACE, "fix-1", now, kind="repair", key=f"{text}@1")
    with database.write() as session:
        for run_id, stage, result in results:
            step = session.exec(select(RunStep).where(RunStep.run_id == run_id, RunStep.stage == stage)).first()
            step = step or RunStep(id=f"{run_id}-{stage}", run_id=run_id, namespace=SPACE, stage=stage)
            step.state, step.result, step.attempts = "done", result, 1
            session.add(step)
        revision = select(CandidateRevision).where(CandidateRevision.candidate_id == "cand-1")
        session.exec(revision).one().run_id = "run-1"
        refs = ("runs:x/failure", "runs:x/success")
        side = {"title": text, "says": text, "support": 3, "counter": 0,
                "episodes": [{"episode": "ep-1", "step": ""}, {"episode": text, "step": text}]}  # fmt: skip
        note(session, SPACE, refs, {"id": "mixed-1", "kind": "contradiction", "form": MIXED_OUTCOME, "detail": text,
                                    "sides": dict.fromkeys(refs, side)}, "run-1", now)  # fmt: skip


def _choose(database: Database, now: datetime, said: Said) -> None:
    text, mode = said.text, said.name("strategic")
    neighbour = {"run_id": text, "cluster_id": text, "mode": mode, "similarity": 1.0, "age": 1, "weight": 1.0,
                 "reward": 1.0}  # fmt: skip
    score = {"mode": mode, "n": 0, "mean": 0.0, "prior": 0.0, "bonus": 0.0, "score": 0.0}
    scores = {"modes": [score], "neighbours": [neighbour], "prior_from": text,
              "model": {"state": said.name("worded"), "why": text}}  # fmt: skip
    make_choice(database, SPACE, "run-1", now, "c-1", label=text, why=text, scores=scores, reward_why=text)


def read_by_agents(database: Database, now: datetime, said: Said, rule_id: str) -> None:
    """Serve version 1 of a rule to two agents, one of which hears of events. A night tested it; it is due again."""
    text = said.text
    with database.write() as session:
        for number in (1, 2):
            reader = Reader(SPACE, f"session-ep-{number}", "token", text, f"client-{number}")
            declare_session(session, reader, now)
            serve(session, reader, [(rule_id, 1)], epoch=1, request_id=f"asked-{number}", now=now,
                  grant_until=now)  # fmt: skip
        session.get_one(RuleVersion, (SPACE, rule_id, 1)).recheck_at = now
        for epoch in (0, 1):
            acknowledge(session, f"{text[:9]}-1", SPACE, epoch, "token", now)
        session.add(
            Recheck(namespace=SPACE, run_id="run-1", rule_id=rule_id, version=1, verdict="vanished", words=text,
                    statistics={"odds_ratio": 0.9, "low": 0.3, "high": 2.1, "groups": 12}, at=now)
        )  # fmt: skip


def succeed(database: Database, rule_id: str, said: Said) -> None:
    """A second version of a rule, with other steps."""
    with database.write() as session:
        first = session.get_one(RuleVersion, (SPACE, rule_id, 1))
        first.state = "superseded"
        session.flush()
        content = {**first.content, "guidance": [said.text]}
        values = {**first.model_dump(), "version": 2, "state": "active", "content": content}
        session.add(RuleVersion(**values | {"content_hash": content_hash(content)}))


def withhold(database: Database, rule_id: str, version: int) -> None:
    """A version as it stands after something it leans on was revoked."""
    with database.write() as session:
        session.get_one(RuleVersion, (SPACE, rule_id, version)).state = "quarantined"
