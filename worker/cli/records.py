"""Commands that look at episodes: the list, and one in full."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from typing import Annotated, Any, get_args

import typer
from rich.console import Console, Group, RenderableType
from rich.text import Text
from sqlmodel import Session

from storage.bodies import load_bodies
from storage.queries import episodes as queries
from storage.queries.taint import tainted_among
from storage.tables import Episode
from tasks.ingest.episode import Outcome
from tasks.ingest.importers.registry import importers
from tasks.ingest.notes import notes_of
from tasks.ingest.outcome import source_words
from worker.cli.output import (
    USAGE,
    CommandFailed,
    JsonFlag,
    NamespaceOption,
    counted,
    line,
    place_of,
    print_json,
    visible,
)
from worker.cli.store import known_namespace, open_store

OUTCOMES: tuple[str, ...] = get_args(Outcome)
TASK_SHOWN = 100
TEXT_SHOWN = 2_000


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("episodes")(episodes)
    app.command("episode")(episode)


def episodes(
    namespace: NamespaceOption,
    outcome: Annotated[str | None, typer.Option(help=f"Only those that ended in: {', '.join(OUTCOMES)}.")] = None,
    importer: Annotated[str | None, typer.Option(help="Only what this importer read; see: slowwave formats.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many, newest first.")] = 50,
    json: JsonFlag = False,
) -> None:
    """List episodes, newest first: what was asked, how it ended and who says so, where it came from.

    Examples:
      slowwave episodes --namespace acme/support --outcome failure
      slowwave episodes -n acme/support --importer tau2 --limit 1000 --json
    """
    if outcome is not None and outcome not in OUTCOMES:
        raise CommandFailed(f"There is no outcome {outcome!r}.", f"Choose one of: {', '.join(OUTCOMES)}.", USAGE)
    with open_store() as store:
        known_namespace(store, namespace)
        with store.database.read() as session:
            found = queries.listed(session, namespace, outcome=outcome, importer=importer, limit=limit)
    if not found and importer is not None and importer not in importers():
        # Looked for first: what a plug-in read stays, though the plug-in is gone.
        raise CommandFailed(f"There is no importer {importer!r}.", f"Choose one of: {', '.join(importers())}.", USAGE)
    if json:
        print_json([episode_entry(row) for row in found])
        return
    out = Console(highlight=False, soft_wrap=True)
    for row in found:
        lines = _line(f"{row.id}  {row.outcome}", "bold"), _line(_told(row)), _line(f"    {_short(row.task)}")
        out.print(*lines, sep="\n")
    if not found:
        out.print(f"No such episode in {namespace}.")


def episode(
    name: Annotated[str, typer.Argument(metavar="ID", help="The episode; its list: slowwave episodes.")],
    namespace: NamespaceOption,
    json: JsonFlag = False,
) -> None:
    """Show one episode whole: its steps and whose word each is, its outcome and where that came from, its revisions.

    Example:
      slowwave episode EPISODE_ID --namespace acme/support --json
    """
    with open_store() as store:
        known_namespace(store, namespace)
        with store.database.read() as session:
            shown = _shown(session, namespace, name)
    if json:
        print_json(shown)
    else:
        # As wide as the longest line: a terminal folds, a pipe gets lines whole.
        Console(highlight=False, soft_wrap=True).print(_page(shown))


def episode_entry(row: Episode) -> dict[str, Any]:
    """The documented JSON shape of one episode in a list."""
    return {
        "id": row.id,
        "task": row.task,
        "task_key": row.task_key,
        "session_id": row.session_id,
        "agent": row.agent,
        "model": row.model,
        "outcome": row.outcome,
        "outcome_source": row.outcome_source,
        "reward": row.reward,
        "trust": row.trust,
        "importer": row.importer,
        "importer_version": row.importer_version,
        "n_steps": row.n_steps,
        "n_calls": row.n_calls,
        "redactions": row.redactions,
        "file": row.source_file,
        "line": row.source_line,
        "revision": row.revision,
        "is_current": row.is_current,
        "ingested_at": row.ingested_at.isoformat(),
        "purged_at": row.purged_at.isoformat() if row.purged_at else None,
    }


def _shown(session: Session, namespace: str, name: str) -> dict[str, Any]:
    row = queries.get(session, namespace, name)
    if row is None:
        raise CommandFailed(f"There is no episode {name!r} in {namespace}.", "See: slowwave episodes -n " + namespace)
    body = load_bodies(session, namespace, [name]).get(name) or {}
    every = [row]
    if row.source_id is not None:
        every = queries.revisions(session, namespace, row.importer, row.source_scope, row.source_id)
    return {
        **episode_entry(row),
        "steps": body.get("steps", []),
        "started_at": row.started_at.isoformat() if row.started_at else None,
        "ended_at": row.ended_at.isoformat() if row.ended_at else None,
        "environment": row.environment,
        "tools_offered": row.tools_offered,
        "by": row.principal,
        "tainted": bool(tainted_among(session, namespace, [name])),
        "details": row.details,
        "revisions": [
            {
                "id": each.id, "revision": each.revision, "is_current": each.is_current, "outcome": each.outcome,
                "ingested_at": each.ingested_at.isoformat(),
            }
            for each in every
        ],
    }  # fmt: skip


def _page(shown: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [_line(shown["task"], "bold"), *_facts(shown), *_notes(shown["details"]), _line("")]
    if shown["purged_at"]:
        parts.append(_line(f"Its text was purged on {shown['purged_at']}."))
    for step in shown["steps"]:
        parts += _step(step, shown["trust"])
    return Group(*parts)


def _facts(shown: dict[str, Any]) -> list[RenderableType]:
    details = shown["details"]
    redacted = ", ".join(f"{kind}: {count}" for kind, count in sorted(shown["redactions"].items()))
    revisions = [
        f"{each['revision']}{' (current)' if each['is_current'] else ''}: {each['outcome']}, {each['id']}"
        for each in shown["revisions"]
    ]
    told = [
        ("outcome", f"{shown['outcome']}: {source_words(shown['outcome'], shown['outcome_source'])}"),
        ("from", details.get("outcome_from")),
        ("overruled", details.get("outcome_overruled")),
        ("reward", shown["reward"]),
        ("trust", shown["trust"]),
        ("agent", shown["agent"]),
        ("model", shown["model"]),
        ("session", shown["session_id"]),
        ("importer", f"{shown['importer']} {shown['importer_version']}"),
        ("source", place_of(shown["file"], shown["line"])),
        ("redacted", redacted or "nothing"),
        ("tainted", "yes: it may have read a rule that was revoked later" if shown["tainted"] else None),
        ("revisions", "; ".join(revisions)),
    ]
    return [_line(f"{name:<10} {value}", "dim") for name, value in told if value not in (None, "")]


def _notes(details: dict[str, Any]) -> list[RenderableType]:
    notes = [(name, line(words)) for name, words in notes_of(details)]
    told = [f"  {line(name)}: {_cut(words, 'all of it')}" for name, words in notes]
    return [_line("Notes", "dim"), *(_line(each, "dim") for each in told)] if told else []


def _step(step: dict[str, Any], trust: str) -> list[RenderableType]:
    marks = [
        str(step.get("trust") or trust),
        *([f"by {step['agent']}"] if step.get("agent") else []),
        *([f"exit code {step['exit_code']}"] if step.get("exit_code") is not None else []),
        *(["error"] if step.get("is_error") else []),
        *(["copied context: not counted again"] if step.get("is_copied_context") else []),
        *([f"source {step['uri']}"] if step.get("uri") else []),
    ]
    name = f" {step['name']}" if step.get("name") else ""
    of = f" of {step['of']}" if step.get("of") else ""
    head = _line(f"[{step.get('id')}] {step.get('kind')}{name}{of} · {' · '.join(marks)}", "bold cyan")
    return [head, *(_line(f"    {line}") for line in _texts(step))]


def _texts(step: dict[str, Any]) -> Sequence[str]:
    said = [str(step[name]) for name in ("text", "raw_arguments", "snapshot") if step.get(name)]
    if step.get("arguments") is not None:
        said.append(jsonlib.dumps(step["arguments"], ensure_ascii=False, indent=2))
    return _cut("\n".join(said), "all of them").splitlines()


def _cut(text: str, whole: str) -> str:
    left = len(text) - TEXT_SHOWN
    return f"{text[:TEXT_SHOWN]}\n… {left:,} more characters: --json has {whole}" if left > 0 else text


def _line(text: object, style: str = "") -> Text:
    """Text of others is hostile: no markup is read in it, and what does not print is written out."""
    return Text(visible(str(text)), style=style)


def _short(task: str) -> str:
    line = " ".join(task.split())
    return line if len(line) <= TASK_SHOWN else f"{line[: TASK_SHOWN - 1]}…"


def _told(row: Episode) -> str:
    told = [
        source_words(row.outcome, row.outcome_source),
        row.importer,
        counted(row.n_steps, "step"),
        f"{sum(row.redactions.values())} redacted",
        f"revision {row.revision}",
        place_of(row.source_file, row.source_line),
    ]
    return "    " + " · ".join(filter(None, told))
