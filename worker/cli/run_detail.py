"""What one run did, found and made of its clusters: the document that ``show`` and ``runs`` print, and its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from sqlmodel import Session

from storage.queries import choices as queries
from storage.queries import pages_runs
from storage.queries.runs import run_by_id, steps_of_run
from storage.tables import Cluster, ModeChoice, RunStep
from tasks import pipeline
from worker.cli.output import run_counts, table
from worker.cli.reading import Page, body, heading, plain, rows

VERDICTS = (
    "confirmed", "unconfirmed", "insufficient", "confounded", "agent-confounded", "consequence", "hypothesis",
)  # fmt: skip
MOST = 500
"""Conclusions and choices that are told; a page of the review UI has the rest."""


def run_detail(session: Session, run_id: str) -> dict[str, Any] | None:
    """A run with its steps, its conclusions and the mode of each cluster; None if there is no such run."""
    run = run_by_id(session, run_id)
    if run is None:
        return None
    found = pages_runs.findings_of_run(session, run.namespace, run.id, VERDICTS, limit=MOST)
    taken = queries.choices_shown(session, run.namespace, run.id, limit=MOST)
    steps = steps_of_run(session, run.id)
    draft = next((step.result for step in steps if step.stage == "draft" and step.result), {})
    return {
        "namespace": run.namespace,
        "kind": run.kind,
        "seq": run.seq,
        **pipeline.result_of(run),
        "stats": run.stats,
        "regime": draft.get("regime"),
        "cost": {name.removeprefix("model_"): draft.get(name, 0) for name in ("model_calls", "model_tokens")},
        "findings": [
            {"id": one.id, "verdict": one.verdict, "statement": one.statement, "next_step": one.next_step,
             "ruled_out": one.ruled_out, "predicate": one.predicate}
            for one in found
        ],
        "choices": [_choice(choice, cluster) for choice, cluster in taken],
        "steps": [_step(step) for step in steps],
    }  # fmt: skip


def _choice(choice: ModeChoice, cluster: Cluster) -> dict[str, Any]:
    return {
        "cluster": choice.cluster_id, "label": cluster.label, "action": choice.action, "mode": choice.mode,
        "regime": choice.regime, "why": choice.why, "profile": choice.profile, "scores": choice.scores,
        "calls": choice.calls, "model": choice.scores.get("model") or None, "reward": choice.reward,
        "reward_why": choice.reward_why,
    }  # fmt: skip


def _step(step: RunStep) -> dict[str, Any]:
    return {
        "stage": step.stage, "shard": step.shard, "state": step.state, "attempts": step.attempts,
        "result": step.result, "error": step.error,
    }  # fmt: skip


def run_page(shown: Mapping[str, Any]) -> Page:
    """What went wrong, what was found, how each cluster was taken up, and the steps."""
    forced = "An experiment: text was forced; what came of it is marked."
    parts: list[RenderableType | None] = [
        heading(f"{shown['kind']} {shown['night']} of {shown['namespace']}", f"{shown['state']} · {run_counts(shown)}"),
        plain(forced) if shown["regime"] == "force" else None,
        rows("Problems", [(each["stage"], each["shard"], each["error"]) for each in shown["problems"]]),
        _findings(shown),
        _choices(shown),
        _model(shown),
        rows("Steps", [_step_cells(each) for each in shown["steps"]]),
        rows("", [("run", shown["run_id"])]),
    ]
    return Page(body(parts))


def _findings(shown: Mapping[str, Any]) -> RenderableType:
    told = [(one["verdict"], one["statement"], one["next_step"]) for one in shown["findings"]]
    return table("found, and not found", ("verdict", "finding", "next step"), told) or plain("It concluded nothing.")


def _choices(shown: Mapping[str, Any]) -> RenderableType:
    told = [
        (one["label"], one["action"], one["mode"], _scores(one), _reward(one), one["why"]) for one in shown["choices"]
    ]
    columns = ("cluster", "action", "mode", "score of each mode", "reward", "why")
    return table("how each cluster was taken up", columns, told) or plain("No cluster was taken up.")


def _model(shown: Mapping[str, Any]) -> RenderableType | None:
    """What the model said of each cluster it was asked about, or was to be: worded, hypothesis, refused and so on."""
    asked = [(one["label"], one["model"]) for one in shown["choices"] if one["model"]]
    told = [(label, said.get("state"), f"{said.get('calls') or 0} calls", said.get("why")) for label, said in asked]
    return rows("What the model said of each cluster", told) if told else None


def _scores(choice: Mapping[str, Any]) -> str:
    return ", ".join(f"{one['mode']} {one['score']:.2f}" for one in choice["scores"].get("modes") or ())


def _reward(choice: Mapping[str, Any]) -> str:
    return "not known yet" if choice["reward"] is None else f"{choice['reward']:.2f}"


def _step_cells(step: Mapping[str, Any]) -> tuple[object, ...]:
    return step["stage"], step["shard"], step["state"], f"attempt {step['attempts']}", step["error"]
