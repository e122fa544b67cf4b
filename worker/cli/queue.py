"""Commands that look at what waits for review and at what was promoted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from sqlmodel import Session

from storage.namespaces import parse_namespace
from storage.queries import candidates, find, runs
from storage.queries import rechecks as recheck_queries
from storage.queries import rules as rule_queries
from storage.queries.pages import decisions_on
from storage.tables import RuleVersion
from tasks import pipeline
from worker.cli import reading, shapes
from worker.cli.output import CommandFailed, JsonFlag, NamespaceOption, print_json, print_table
from worker.cli.store import open_store

STATES = ("active", "superseded", "quarantined", "revoked", "expired")
PageOf = Callable[[Mapping[str, Any]], reading.Page]
OptionalNamespace = Annotated[str | None, typer.Option("--namespace", "-n", help="Needed only if the id is in two.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("queue")(queue)
    app.command("show")(show)
    app.command("rules")(rules)


def queue(namespace: NamespaceOption, json: JsonFlag = False) -> None:
    """List the candidates that wait for a reviewer, best first. Empty for a namespace nothing was ingested into.

    Examples:
      slowwave queue --namespace acme/support
      slowwave queue -n acme/support --json | jq '.[0].content_hash'
    """
    parse_namespace(namespace)
    with open_store() as store, store.database.read() as session:
        entries = [shapes.queue_entry(*pair) for pair in candidates.queue(session, namespace)]
    if json:
        print_json(entries)
        return
    rows = [(each["id"], each["tier"], each["when_to_use"], _ratio(each), _groups(each)) for each in entries]
    columns = ("id", "tier", "when to use", "odds ratio", "groups")
    print_table(f"waiting in {namespace}", columns, rows, f"Nothing waits for review in {namespace}.")


def _ratio(entry: dict[str, Any]) -> str:
    ratio = entry["effect"]["odds_ratio"]
    return "" if ratio is None else f"{ratio:.2f}"


def _groups(entry: dict[str, Any]) -> Any:
    return entry["evidence"]["independent_groups"]


def rules(
    namespace: NamespaceOption,
    state: Annotated[str | None, typer.Option(help=f"Only versions that are one of: {', '.join(STATES)}.")] = None,
    json: JsonFlag = False,
) -> None:
    """List what was promoted: of each rule the active version, or its newest. Agents are served the active ones only.

    Example:
      slowwave rules --namespace acme/support --json
    """
    parse_namespace(namespace)
    if state is not None and state not in STATES:
        raise CommandFailed(f"There is no state {state!r}.", f"Choose one of: {', '.join(STATES)}.", 2)
    with open_store() as store, store.database.read() as session:
        found = rule_queries.versions_in(session, namespace, (state,) if state else STATES)
        rows = list(found) if state else _current(found)
        looks = recheck_queries.latest_rechecks(session, namespace, [(row.rule_id, row.version) for row in rows])
    entries = [shapes.rule_entry(row, looks.get((row.rule_id, row.version))) for row in rows]
    if json:
        print_json(entries)
        return
    table = [
        (each["id"], each["version"], each["state"], (each["recheck"] or {}).get("verdict", ""), each["when_to_use"])
        for each in entries
    ]
    columns = ("id", "version", "state", "recheck", "when to use")
    print_table(f"rules of {namespace}", columns, table, f"No rule in {namespace} yet.")


def _current(found: Sequence[RuleVersion]) -> list[RuleVersion]:
    return [shapes.current_version(list(rows)) for _, rows in groupby(found, key=lambda row: row.rule_id)]


def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="A candidate, a rule or a run.")],
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Show one thing whole: a candidate with its packet, a rule with its history, a run with its steps.

    Example:
      slowwave show CANDIDATE_ID --json
    """
    with open_store() as store, store.database.read() as session:
        found = _found(session, name, namespace)
    if found is None:
        raise CommandFailed(f"There is no candidate, rule or run {name!r}.", "See: slowwave queue, rules, runs.")
    shown, page = found
    if json:
        print_json(shown)
    else:
        _print_page(page(shown))


def _print_page(page: reading.Page) -> None:
    console = Console(highlight=False)
    console.print(page.body)
    if page.command is not None:
        console.print(Text(page.command, style="cyan"), soft_wrap=True)


def _found(session: Session, name: str, namespace: str | None) -> tuple[dict[str, Any], PageOf] | None:
    """What has this id, and the page that shows it to people."""
    if candidate := _candidate(session, name, namespace):
        return candidate, reading.candidate_page
    if rule := _rule(session, name, namespace):
        return rule, reading.rule_page
    run = _run(session, name)
    return (run, reading.run_page) if run else None


def _candidate(session: Session, name: str, namespace: str | None) -> dict[str, Any] | None:
    rows = find.candidates_named(session, name, namespace)
    if not rows:
        return None
    row = rows[0]
    revision = candidates.revision(session, row.namespace, row.id, row.number)
    assert revision is not None, "a candidate has its current revision: a foreign key sees to it"
    return shapes.candidate_detail(row, revision, decisions_on(session, row.namespace, [row.id]))


def _rule(session: Session, name: str, namespace: str | None) -> dict[str, Any] | None:
    rows = find.rules_named(session, name, namespace)
    versions = rule_queries.versions_of(session, rows[0].namespace, rows[0].id) if rows else []
    if not versions:
        return None
    current = shapes.current_version(list(versions))
    looks = recheck_queries.rechecks_of(session, current.namespace, current.rule_id, current.version)
    return shapes.rule_detail(versions, looks)


def _run(session: Session, name: str) -> dict[str, Any] | None:
    run = runs.run_by_id(session, name)
    if run is None:
        return None
    steps = [
        {
            "stage": step.stage,
            "shard": step.shard,
            "state": step.state,
            "attempts": step.attempts,
            "result": step.result,
            "error": step.error,
        }
        for step in runs.steps_of_run(session, name)
    ]
    return {"kind": run.kind, "namespace": run.namespace, **pipeline.result_of(run), "stats": run.stats, "steps": steps}
