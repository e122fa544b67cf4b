"""What one run found and how it took up its clusters, in words and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session

from storage.queries import choices as queries
from storage.queries import pages_runs
from storage.queries.runs import run_by_id, steps_of_run
from storage.tables import Cluster, Inference, ModeChoice, Run
from tasks import pipeline
from worker.cli.output import CommandFailed, print_json, print_table, say

VERDICTS = (
    "confirmed", "unconfirmed", "insufficient", "confounded", "agent-confounded", "consequence", "hypothesis",
)  # fmt: skip
MOST = 500
"""Conclusions and choices that are told; a page of the review UI has the rest."""


def show_run(session: Session, run_id: str, *, json: bool) -> None:
    """Tell of one run.

    Raises:
        CommandFailed: if there is no such run.
    """
    run = run_by_id(session, run_id)
    if run is None:
        raise CommandFailed(f"There is no run {run_id}.", "List them with: slowwave runs")
    found = pages_runs.findings_of_run(session, run.namespace, run.id, VERDICTS, limit=MOST)
    taken = queries.choices_shown(session, run.namespace, run.id, limit=MOST)
    steps = steps_of_run(session, run.id)
    draft = next((step.result for step in steps if step.stage == "draft" and step.result), {})
    if json:
        print_json(_as_json(run, found, taken, draft))
    else:
        _tell(run, found, taken, draft)


def _as_json(
    run: Run, found: Sequence[Inference], taken: Sequence[tuple[ModeChoice, Cluster]], draft: dict[str, Any]
) -> dict[str, Any]:
    return {
        "namespace": run.namespace,
        "kind": run.kind,
        "seq": run.seq,
        **pipeline.result_of(run),
        "regime": draft.get("regime"),
        "cost": {name.removeprefix("model_"): draft.get(name, 0) for name in ("model_calls", "model_tokens")},
        "findings": [
            {"id": one.id, "verdict": one.verdict, "statement": one.statement, "next_step": one.next_step,
             "ruled_out": one.ruled_out, "predicate": one.predicate}
            for one in found
        ],
        "choices": [_choice(choice, cluster) for choice, cluster in taken],
    }  # fmt: skip


def _choice(choice: ModeChoice, cluster: Cluster) -> dict[str, Any]:
    return {
        "cluster": choice.cluster_id, "label": cluster.label, "action": choice.action, "mode": choice.mode,
        "regime": choice.regime, "why": choice.why, "profile": choice.profile, "scores": choice.scores,
        "calls": choice.calls, "reward": choice.reward, "reward_why": choice.reward_why,
    }  # fmt: skip


def _tell(
    run: Run, found: Sequence[Inference], taken: Sequence[tuple[ModeChoice, Cluster]], draft: dict[str, Any]
) -> None:
    say(f"{run.kind} {run.key} of [bold]{run.namespace}[/bold]: {run.state}")
    if draft.get("regime") == "force":
        say("An experiment: text was forced; what came of it is marked.")
    told = [(one.verdict, one.statement, one.next_step or "") for one in found]
    print_table("found, and not found", ("verdict", "finding", "next step"), told, "It concluded nothing.")
    rows = [
        (cluster.label, choice.action, choice.mode, _scores(choice), _reward(choice), choice.why)
        for choice, cluster in taken
    ]
    columns = ("cluster", "action", "mode", "score of each mode", "reward", "why")
    print_table("how each cluster was taken up", columns, rows, "No cluster was taken up.")


def _scores(choice: ModeChoice) -> str:
    return ", ".join(f"{one['mode']} {one['score']:.2f}" for one in choice.scores.get("modes") or ())


def _reward(choice: ModeChoice) -> str:
    return "not known yet" if choice.reward is None else f"{choice.reward:.2f}"
