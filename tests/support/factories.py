"""States of the staging area for tests of pages and decisions, in the shapes that a night writes.

People, bodies, promotions and revocations go through their real functions; episodes and candidates are rows, so that a
test can say exactly what they hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from storage.bodies import save_body
from storage.engine import Database
from storage.ids import content_hash
from storage.passwords import hash_password
from storage.people import add_token, add_user
from storage.tables import (
    Candidate,
    CandidateRevision,
    Conflict,
    Episode,
    Evidence,
    Inference,
    Namespace,
    Run,
    RunStep,
)
from tasks.promote.people import Reviewer
from tasks.stage.columns import glance_of

PASSWORD = "correct horse battery staple"
_HASHED: dict[str, str] = {}


def make_namespace(database: Database, path: str, now: datetime) -> None:
    """A partition, if it is not there."""
    with database.write() as session:
        if session.get(Namespace, path) is None:
            session.add(Namespace(path=path, created_at=now))


def make_person(
    database: Database, name: str, now: datetime, *, role: str = "reviewer", namespaces: Sequence[str] = ()
) -> tuple[Reviewer, str]:
    """An account with ``PASSWORD``, as a decision names it, and a personal token of it."""
    hashed = _HASHED.setdefault("password", hash_password(PASSWORD))  # one slow hash a test session
    with database.write() as session:
        user = add_user(session, name=name, role=role, namespaces=namespaces, password_hash=hashed, now=now)
        _, token = add_token(session, role=role, namespaces=namespaces, user_id=user.id, now=now)
        return Reviewer(user.id, name, role, tuple(namespaces)), token


def trace(order: str, *, cancels: bool, outcome: str) -> list[dict[str, Any]]:
    """Steps of a made-up support run: look, perhaps check, perhaps cancel."""
    steps = [
        {"id": "1", "kind": "user", "text": f"Please cancel my order {order}, I no longer need the kettle."},
        {"id": "2", "kind": "plan", "text": "Find the order, then see whether it can still be cancelled."},
        {"id": "3", "kind": "tool_call", "name": "get_order", "arguments": {"order_id": order}},
        {"id": "4", "kind": "observation", "of": "3", "source": "tool", "trust": "tool",
         "text": f'{{"order_id": "{order}", "status": "shipped", "carrier": "Northline", "total": 39.90}}'},
    ]  # fmt: skip
    if cancels:
        steps += [
            {"id": "5", "kind": "tool_call", "name": "cancel_order", "arguments": {"order_id": order}, "cites": ["4"]},
            {"id": "6", "kind": "observation", "of": "5", "source": "tool", "trust": "tool",
             "text": "Error: order has left the warehouse", "is_error": outcome == "failure"},
        ]  # fmt: skip
    return [*steps, {"id": "9", "kind": "answer", "text": "I have arranged a return label for you instead."}]


def make_episode(
    database: Database,
    namespace: str,
    episode_id: str,
    now: datetime,
    *,
    outcome: str = "success",
    task: str = "Cancel an order that may have shipped",
    task_key: str = "orders/1",
    steps: list[dict[str, Any]] | None = None,
    **given: Any,
) -> str:
    """An episode with its body."""
    body = trace("K-1042", cancels=outcome == "failure", outcome=outcome) if steps is None else steps
    values: dict[str, Any] = {
        "importer": "canonical", "importer_version": 1, "redactor_version": 1, "source_file": "runs.jsonl",
        "source_line": 7, "source_id": episode_id, "source_hash": f"hash-{episode_id}",
        "fingerprint": f"print-{episode_id}", "session_id": f"session-{episode_id}", "agent": "desk-bot",
        "agent_version": "2.1", "model": "small-1", "environment": {"orders-api": "3.2"}, "trust": "internal",
        "outcome_source": "verifier", "reward": float(outcome == "success"), "principal": "operator",
        "redactions": {"api key": 1}, "started_at": now - timedelta(hours=9), "ended_at": now - timedelta(hours=8.95),
    }  # fmt: skip
    values |= given
    payload = {"id": episode_id, "task": task, "task_key": task_key, "outcome": outcome, "trust": values["trust"],
               "steps": body}  # fmt: skip
    with database.write() as session:
        session.add(
            Episode(namespace=namespace, id=episode_id, task=task, task_key=task_key, outcome=outcome,
                    n_steps=len(body), n_calls=1, ingested_at=now, **values)
        )  # fmt: skip
        session.flush()
        save_body(session, namespace, episode_id, payload)
    return episode_id


def content_for(namespace: str, **given: Any) -> dict[str, Any]:
    """A whole content, as agents would receive it."""
    values: dict[str, Any] = {
        "when_to_use": "Before `cancel_order` on an order that may have shipped",
        "guidance": [
            "Call `get_order` and read `status` first.",
            "If the order has shipped, do not call `cancel_order`; offer a return label with `create_return`.",
            "Tell the customer which of the two you did, and why.",
        ],
        "scope": {"namespace": namespace, "environment": {"orders-api": ">=3.0,<4"}, "agents": [], "valid_from": None,
                  "recheck_at": "2027-02-28"},
        "predicate": {"kind": "missing-check", "check": "get_order", "before": "cancel_order", "direction": "avoid",
                      "family": "orders"},
    }  # fmt: skip
    return values | given


def packet_for(**given: Any) -> dict[str, Any]:
    """A whole packet, as a reviewer sees it."""
    cells = [(0, 4, 3, 1), (1, 3, 2, 1), (0, 3, 4, 0), (0, 2, 2, 1), (1, 2, 3, 1), (0, 5, 1, 1), (3, 1, 1, 2),
             (0, 2, 3, 1)]  # fmt: skip
    values: dict[str, Any] = {
        "summary": "`cancel_order` was called without `get_order` before it in 5 of 27 successes and 19 of 27 failures "
                   "of the same 8 tasks: odds ratio 0.11, 95 % interval 0.03 to 0.38, q = 0.004.",
        "effect": {"odds_ratio": 0.11, "low": 0.03, "high": 0.38, "p_value": 0.0004, "q_value": 0.004, "strata": 8,
                   "success_with": 5, "success_total": 27, "failure_with": 19, "failure_total": 27},
        "held_out": {"groups": 24, "odds_ratio": 0.14, "low": 0.03, "high": 0.61, "p_value": 0.003, "alpha": 0.02,
                     "same_direction": True, "folds": 2},
        "evidence": {"support": 41, "counter": 6, "independent_groups": 38, "principals": 2,
                     "groups": {"support": ["g1", "g2"], "counter": ["g9"]}, "tainted": [], "stale": []},
        "strata": [
            {"stratum": f"orders/{number}", "success_with": a, "success_without": b, "failure_with": c,
             "failure_without": d}
            for number, (a, b, c, d) in enumerate(cells, 1)
        ],
        "exceptions": ["orders/7"],
        "agent_adjusted": {"odds_ratio": 0.13, "low": 0.03, "high": 0.52},
        "checks": [
            {"name": "citations resolve", "verdict": "pass", "detail": "All 47 cited steps exist.", "fix": ""},
            {"name": "independence", "verdict": "pass", "detail": "38 independent groups, 2 principals.", "fix": ""},
            {"name": "over-general", "verdict": "warn", "detail": "It would be served in 3 sessions of other clusters.",
             "fix": "Narrow the scope to orders, or read those sessions."},
        ],
        "conflicts": [],
        "tier_why": "it speaks of no deletion, money or credentials",
        "verification_method": "compare within tasks, confirm on held-out tasks",
        "counter_example": {"episode_id": "ep-7", "step_ids": ["5"], "why": "It cancelled unread and was lucky."},
        "owner": "support desk",
        "authoritative_source": "the orders service",
        "cost": {"model_calls": 0, "seconds": 0.8},
        "revoked_before": None,
    }  # fmt: skip
    return values | given


def make_candidate(
    database: Database,
    namespace: str,
    candidate_id: str,
    now: datetime,
    *,
    content: dict[str, Any] | None = None,
    packet: dict[str, Any] | None = None,
    evidence: Sequence[tuple[str, str]] = (),
    author: str = "statistical",
    **given: Any,
) -> tuple[str, str]:
    """A staged candidate at revision 1. ``evidence``: (episode id, stance). Returns its content and packet hash."""
    content, packet = content or content_for(namespace), packet or packet_for()
    hashes = content_hash(content), content_hash(packet)
    values: dict[str, Any] = {
        "kind": "rule", "tier": "standard", "title": content["when_to_use"], "predicate_id": f"pred-{candidate_id}",
        "rank": 1.0, "glance": glance_of(packet),
    }  # fmt: skip
    with database.write() as session:
        session.add(
            Candidate(namespace=namespace, id=candidate_id, number=1, content_hash=hashes[0], packet_hash=hashes[1],
                      created_at=now - timedelta(hours=5), updated_at=now, **(values | given))
        )  # fmt: skip
        session.flush()
        _add_revision(session, namespace, candidate_id, 1, content, packet, author, now)
        for place, (episode_id, stance) in enumerate(evidence):
            session.add(
                Evidence(namespace=namespace, id=f"{candidate_id}-{place}", candidate_id=candidate_id, number=1,
                         episode_id=episode_id, step_ids=["5" if stance == "support" else "4"], stance=stance,
                         group_id=f"g{place}", stratum=f"orders/{place % 8 + 1}")
            )  # fmt: skip
    return hashes


def revise_candidate(
    database: Database, namespace: str, candidate_id: str, now: datetime, *, content: dict[str, Any]
) -> str:
    """Other content under the same id, as a later night writes it. Returns its hash."""
    packet = packet_for()
    with database.write() as session:
        candidate = session.get_one(Candidate, (namespace, candidate_id))
        candidate.number += 1
        candidate.content_hash, candidate.packet_hash = content_hash(content), content_hash(packet)
        _add_revision(session, namespace, candidate_id, candidate.number, content, packet, "statistical", now)
        return candidate.content_hash


def _add_revision(
    session: Session,
    namespace: str,
    candidate_id: str,
    number: int,
    content: dict[str, Any],
    packet: dict[str, Any],
    author: str,
    now: datetime,
) -> None:
    session.add(
        CandidateRevision(
            namespace=namespace, candidate_id=candidate_id, number=number, content=content,
            content_hash=content_hash(content), packet=packet, packet_hash=content_hash(packet), author=author,
            drafter="statistical", mode="corrective", prompt_hash="none", created_at=now,
        )
    )  # fmt: skip
    session.flush()


def make_conflict(database: Database, namespace: str, left: str, right: str, now: datetime, detail: str) -> None:
    """An open conflict between two references."""
    with database.write() as session:
        session.add(
            Conflict(namespace=namespace, id=f"{left}-{right}"[:60], kind="contradiction", left_ref=left,
                     right_ref=right, detail=detail, at=now,
                     sides={side: {"title": detail, "says": side, "support": 1, "episodes": [
                         {"episode": detail, "step": detail}]} for side in ("left", "right")})
        )  # fmt: skip


def make_run(
    database: Database, namespace: str, run_id: str, now: datetime, *, state: str = "completed", **given: Any
) -> str:
    """A night with some steps in its ledger and some conclusions."""
    done = state != "running"
    stages = [("select", "done"), ("cluster", "done"), ("contrast", "done" if done else "leased"),
              ("draft", "done" if done else "pending")]  # fmt: skip
    values: dict[str, Any] = {
        "key": "2026-11-30", "requested_by": "schedule", "started_at": now - timedelta(seconds=95),
        "finished_at": now - timedelta(seconds=52) if done else None,
    }  # fmt: skip
    with database.write() as session:
        session.add(Run(id=run_id, namespace=namespace, state=state, **(values | given)))
        session.flush()
        for place, (stage, step_state) in enumerate(stages):
            began = now - timedelta(seconds=90 - 10 * place)
            session.add(
                RunStep(id=f"{run_id}-{place}", run_id=run_id, namespace=namespace, stage=stage, state=step_state,
                        attempts=1, started_at=began if step_state != "pending" else None,
                        finished_at=began + timedelta(seconds=7 + place) if step_state == "done" else None,
                        result={"episodes": 420, "families": 6} if stage == "cluster" else {})
            )  # fmt: skip
        for place, (verdict, statement) in enumerate(CONCLUSIONS):
            session.add(
                Inference(namespace=namespace, id=f"{run_id}-inf-{place}", run_id=run_id, family_id="orders",
                          predicate_id=f"p-{place}", verdict=verdict, statement=statement,
                          next_step="about 9 more groups" if verdict == "insufficient" else None)
            )  # fmt: skip
    return run_id


CONCLUSIONS = (
    ("confirmed", "`cancel_order` without `get_order` before it goes with failure within 8 tasks."),
    ("insufficient", "`create_return` may go with success: 4 informative tasks so far."),
    ("confounded", "`escalate` looks harmful across tasks and is not within any: hard tasks escalate."),
)
