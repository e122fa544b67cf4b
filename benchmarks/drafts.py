"""Calls and tokens of the model drafter per 1,000 episodes, and of one call an episode: ``benchmarks/drafts.py``.

No model is asked: a stand-in counts what it is sent and answers with a claim about a call it was shown. Tokens are
estimated in the same way on both sides (four ASCII characters, or one other, a token), so compare the ratio.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from storage import migrate  # noqa: E402 - the path above comes first
from storage.engine import Database  # noqa: E402
from tasks import pipeline  # noqa: E402
from tasks.context import PipelineSettings  # noqa: E402
from tasks.draft.model.brief import ClusterBrief, read_episode  # noqa: E402
from tasks.draft.model.budget import Drafting  # noqa: E402
from tasks.draft.model.chat import Question, Said  # noqa: E402
from tasks.draft.model.mask import Mask  # noqa: E402
from tasks.draft.model.prompt import build  # noqa: E402
from tasks.draft.model.shorten import tokens  # noqa: E402
from tasks.ingest.episode import Episode  # noqa: E402
from tasks.ingest.step import ingest_records  # noqa: E402
from worlds import WORLDS, generate  # noqa: E402

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
SECRET = b"benchmark" * 4
ANSWER_TOKENS = 350
"""What a whole answer takes, about."""


@dataclass
class StandIn:
    """Counts what it is asked."""

    name: str = "stand-in/1"
    asked: list[int] = field(default_factory=list)

    def ask(self, question: Question, seconds: float) -> Said:  # noqa: ARG002 - the protocol's
        """An answer that claims the first call shown."""
        taken = tokens(question.system) + tokens(question.user)
        self.asked.append(taken)
        steps = [json.loads(line) for line in question.user.split("\n")[1:-1] if '"step":' in line]
        step = next(step for step in steps if step["kind"] == "tool_call")
        draft = {
            "when_to_use": "w", "guidance": ["g"], "rationale": "r", "counter_example": "c", "scope": "s",
            "verification_method": "v", "citations": [{"step": step["step"], "quote": step["name"]}],
            "predicate": {"required": [step["name"]]},
        }  # fmt: skip
        return Said(json.dumps({"draft": draft, "reason": ""}), "stopped", taken, ANSWER_TOKENS)


def main() -> None:
    """Count, then print a table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--episodes", type=int, default=2_000, help="how many, over the three worlds")
    asked.add_argument("--seed", type=int, default=7)
    given = asked.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    made = list(generate(given.seed, given.episodes, worlds=tuple(WORLDS), start=START))
    print(f"{given.episodes} episodes of {len(WORLDS)} worlds, seed {given.seed}; per 1,000 episodes")
    each = sum(_alone(record) for record in made)
    print(f"{'':34} {'calls':>8} {'tokens':>12} {'of one call an episode':>24}")
    _row("one call an episode", given.episodes, each, given.episodes, each)
    for repeat in (False, True):
        night = _night(made, repeat=repeat)
        spent = sum(night.asked) + ANSWER_TOKENS * len(night.asked)
        name = "a night, two drafts a cluster" if repeat else "a night, one draft a cluster"
        _row(name, len(night.asked), spent, given.episodes, each)


def _row(name: str, calls: int, spent: int, episodes: int, each: int) -> None:
    per = 1_000 / episodes
    print(f"{name:34} {calls * per:8.1f} {spent * per:12,.0f} {spent / each:24.3f}")


def _alone(record: dict[str, Any]) -> int:
    """Tokens of one prompt with this episode alone, cut like any other, and of an answer to it."""
    shown = read_episode("e", Episode.model_validate(record), str(record.get("outcome", "unknown")), Mask())
    prompt = build(ClusterBrief("bench", "one", "strategic", (shown,)), SECRET, Drafting().prompt_tokens, 0)
    return tokens(prompt.system) + tokens(prompt.user) + ANSWER_TOKENS


def _night(made: list[dict[str, Any]], *, repeat: bool) -> StandIn:
    """One night over all of them, without any budget."""
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as home:
        database = Database(f"sqlite:///{home}/bench.db")
        migrate.upgrade(database)
        body = io.BytesIO(b"".join(json.dumps(record).encode() + b"\n" for record in made))
        ingest_records(database, body, "bench", principal="operator", now=START, secret=SECRET)
        model = StandIn()
        drafting = Drafting("model", calls=10**9, tokens=10**12, seconds=10**9, repeat=repeat)
        worker = pipeline.Worker(
            "bench", SECRET, clock=lambda: START, settings=PipelineSettings(drafting=drafting), model=model
        )
        run = pipeline.open_run(database, "bench", "2026-01-06", "bench", START)
        closed = pipeline.drive(database, run.id, worker)
        if closed.state != "completed":
            raise SystemExit(f"the night ended {closed.state}: {closed.problems}")
        database.dispose()
    return model


if __name__ == "__main__":
    main()
