"""Episodes, scripts and reading for nights on which a model drafts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import select

from storage.engine import Database
from storage.tables import CandidateRevision, Inference, ModeChoice, ModelReply, Run
from support.model_server import Asked, Reply, answer, answers, steps_shown

NOW = datetime(2026, 11, 30, 2, 30, tzinfo=UTC)
SECRET = b"k" * 32
KEY = "sk-of-the-test-endpoint"
FARE_FIRST = {"ordered": [["get_fare", "pay_booking"]]}
LOOKED = answers(call="get_fare", predicate=FARE_FIRST)
MALFORMED = "I looked at all the runs and would rather not answer as JSON."


Nights = Callable[..., Run]

ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""For what the database has no part in."""


def run_of(name: str, task: int, calls: list[str], outcome: str, *, desk: str = "trip", **given: Any) -> dict[str, Any]:
    said = {"trip": f"Book trip number {task} for me", "refund": f"Pay back the money of ticket {task}, please"}[desk]
    steps: list[dict[str, Any]] = [{"id": "u", "kind": "user", "text": said}, *given.pop("before", ())]
    for place, call in enumerate(calls):
        steps.append({"id": f"c{place}", "kind": "tool_call", "name": call, "arguments": {"ref": f"{name}-{place}"}})
        steps.append({"id": f"o{place}", "kind": "observation", "of": f"c{place}", "text": f"done for {name}"})
    return {
        "id": name, "session_id": name, "task": said, "task_key": f"{desk}/{task}", "agent": f"bot-{task % 2}",
        "tools_offered": sorted({"get_fare", "pay_booking"} if desk == "trip" else {"get_ticket", "pay_back"}),
        "outcome": outcome, "steps": steps, **given,
    }  # fmt: skip


def trips(name: str = "a", tasks: int = 10, each: int = 6, **given: Any) -> list[dict[str, Any]]:
    """Who pays without a look at the fare fails, in every task: nothing for a comparison to doubt."""
    return [
        run_of(f"{name}-{task}-{n}", task, ["pay_booking"] if n % 2 else ["get_fare", "pay_booking"],
               "failure" if n % 2 else "success", **given)
        for task in range(tasks)
        for n in range(each)
    ]  # fmt: skip


def six() -> list[dict[str, Any]]:
    """Six episodes in two clusters, too few to confirm anything."""
    return [
        run_of(f"{desk}-{n}", 1, [check, act] if n else [act], "success" if n else "failure", desk=desk)
        for desk, check, act in (("trip", "get_fare", "pay_booking"), ("refund", "get_ticket", "pay_back"))
        for n in range(3)
    ]


def first_call(asked: Asked, **given: Any) -> Reply:
    """An answer about whatever call is shown first."""
    call = next(step["name"] for step in steps_shown(asked) if step.get("name"))
    return Reply(json.dumps(answer(asked, call=call, predicate={"required": [call]}, **given)))


def for_cluster(word: str, reply: Any, otherwise: Any) -> Callable[[Asked], Reply]:
    """One script for the prompts that hold a word, another for the rest."""

    def script(asked: Asked) -> Reply:
        chosen = reply if word in asked.user else otherwise
        return chosen(asked) if callable(chosen) else Reply(chosen)

    return script


def rows(database: Database, table: Any) -> list[Any]:
    with database.read() as session:
        return list(session.exec(select(table).order_by(*sa.inspect(table).primary_key)))


def said_of(database: Database, run: Run) -> list[dict[str, Any]]:
    """What the run page tells of each cluster that a model was asked about."""
    choices = [one for one in rows(database, ModeChoice) if one.run_id == run.id]
    return [told for one in choices if (told := next((v for v in one.scores.values() if _is_told(v)), None))]


def _is_told(value: object) -> bool:
    return isinstance(value, dict) and {"state", "why"} <= value.keys()


def conclusion(database: Database) -> dict[str, Any]:
    """What the nights left behind, but for the ids of runs and how often somebody tried."""
    with database.read() as session:
        staged = session.exec(select(CandidateRevision).order_by(CandidateRevision.candidate_id)).all()
        held = session.exec(select(Inference).where(Inference.verdict == "hypothesis")).all()
        kept = session.exec(select(ModelReply).where(ModelReply.state == "accepted")).all()
    return {
        "staged": [(one.candidate_id, one.content, one.drafter) for one in staged],
        "held": sorted((one.predicate_id, one.statement, str(one.next_step), str(one.ruled_out)) for one in held),
        "kept": sorted((one.prompt_hash, one.reply, str(one.inputs)) for one in kept),
    }
