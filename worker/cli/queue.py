"""Commands that look at what waits for review and at what was promoted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, cast, get_args

import typer
from sqlmodel import Session

from storage.namespaces import parse_namespace
from storage.queries import candidates, find
from storage.queries import rechecks as recheck_queries
from storage.queries import rules as rule_queries
from storage.queries.pages import decisions_on
from storage.queries.queue import Order, Standing, queue_pairs
from storage.queries.runs import namespaces_all
from storage.tables import RuleVersion
from storage.tables.review import TIERS
from worker.cli import reading, shapes
from worker.cli.output import CommandFailed, JsonFlag, print_json, print_table
from worker.cli.run_detail import run_detail, run_page
from worker.cli.store import open_store

ORDERS: tuple[str, ...] = get_args(Order)
STANDINGS: tuple[Standing, ...] = ("waiting", "parked")
STATES = ("active", "superseded", "quarantined", "revoked", "expired")
PageOf = Callable[[Mapping[str, Any]], reading.Page]
AnyNamespace = Annotated[str | None, typer.Option("--namespace", "-n", help="Only this partition.")]
OptionalNamespace = Annotated[str | None, typer.Option("--namespace", "-n", help="Needed only if the id is in two.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("queue")(queue)
    app.command("show")(show)
    app.command("rules")(rules)


def queue(
    namespace: AnyNamespace = None,
    tier: Annotated[str | None, typer.Option(help=f"Only one of: {', '.join(TIERS)}.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only one kind: rule, exemplar, removal or correction.")] = None,
    sort: Annotated[str, typer.Option(help=f"Which come first: {', '.join(ORDERS)}.")] = ORDERS[0],
    json: JsonFlag = False,
) -> None:
    """List the candidates that wait for a reviewer, best first. Empty for a namespace nothing was ingested into.

    Those that wait for evidence that somebody asked for come after the others, with what it is.

    Examples:
      slowwave queue --namespace acme/support --tier high --sort oldest
      slowwave queue -n acme/support --json | jq '.[0].content_hash'
    """
    for given, known, what in ((tier, TIERS, "tier"), (sort, ORDERS, "order")):
        if given is not None and given not in known:
            raise CommandFailed(f"There is no {what} {given!r}.", f"Choose one of: {', '.join(known)}.", 2)
    order, only = cast(Order, sort), {"tier": tier, "kind": kind}
    with open_store() as store, store.database.read() as session:
        spaces = _spaces(session, namespace)
        waiting, parked = (
            [
                {**shapes.queue_entry(*pair), "namespace": each}
                for each in spaces
                for pair in queue_pairs(session, each, order, standing=standing, **only)
            ]
            for standing in STANDINGS
        )
    if json:
        print_json([*waiting, *parked])
        return
    columns = ("id", "tier", "when to use", "odds ratio", "groups")
    _print("waiting", namespace, columns, waiting, _waiting_cells, "Nothing waits for review")
    if parked:
        heads = ("id", "tier", "when to use", "waits for")
        _print("waiting for evidence", namespace, heads, parked, _parked_cells, "")


def _parked_cells(each: Mapping[str, Any]) -> Sequence[object]:
    return each["id"], each["tier"], each["when_to_use"], each["parked"]["for"]


def _waiting_cells(each: Mapping[str, Any]) -> Sequence[object]:
    return each["id"], each["tier"], each["when_to_use"], _ratio(each), each["evidence"]["independent_groups"]


def _spaces(session: Session, namespace: str | None) -> Sequence[str]:
    return namespaces_all(session) if namespace is None else [parse_namespace(namespace)]


def _print(
    title: str, namespace: str | None, columns: Sequence[str], entries: Sequence[Mapping[str, Any]],
    cells: Callable[[Mapping[str, Any]], Sequence[object]], empty: str,
) -> None:  # fmt: skip
    """A table for each namespace that has something, or the sentence that there is nothing."""
    by_space = groupby(entries, key=lambda each: str(each["namespace"]))
    tables: list[tuple[str | None, list[Sequence[object]]]] = [
        (space, [cells(each) for each in found]) for space, found in by_space
    ]
    for space, rows in tables or [(namespace, [])]:
        where = f" in {space}" if space else ""
        print_table(f"{title}{where}", columns, rows, f"{empty}{where}.")


def _ratio(entry: Mapping[str, Any]) -> str:
    """In words where it is endless: only the interval's lower end is a number then."""
    effect = entry["effect"]
    if effect["odds_ratio"] is None:
        return "" if effect["low"] is None else f"infinite (from {effect['low']:.2f})"
    return f"{effect['odds_ratio']:.2f}"


def rules(
    namespace: AnyNamespace = None,
    state: Annotated[str | None, typer.Option(help=f"Only versions that are one of: {', '.join(STATES)}.")] = None,
    json: JsonFlag = False,
) -> None:
    """List what was promoted: of each rule the active version, or its newest. Agents are served the active ones only.

    Example:
      slowwave rules --namespace acme/support --json
    """
    if state is not None and state not in STATES:
        raise CommandFailed(f"There is no state {state!r}.", f"Choose one of: {', '.join(STATES)}.", 2)
    with open_store() as store, store.database.read() as session:
        entries = [entry for each in _spaces(session, namespace) for entry in _rule_entries(session, each, state)]
    if json:
        print_json(entries)
        return
    columns = ("id", "version", "state", "recheck", "when to use")
    _print("rules", namespace, columns, entries, _rule_cells, "No rule yet")


def _rule_cells(each: Mapping[str, Any]) -> Sequence[object]:
    verdict = (each["recheck"] or {}).get("verdict", "")
    return each["id"], each["version"], each["state"], verdict, each["when_to_use"]


def _rule_entries(session: Session, namespace: str, state: str | None) -> list[dict[str, Any]]:
    found = rule_queries.versions_in(session, namespace, (state,) if state else STATES)
    rows = list(found) if state else _current(found)
    looks = recheck_queries.latest_rechecks(session, namespace, [(row.rule_id, row.version) for row in rows])
    return [{**shapes.rule_entry(row, looks.get((row.rule_id, row.version))), "namespace": namespace} for row in rows]


def _current(found: Sequence[RuleVersion]) -> list[RuleVersion]:
    return [shapes.current_version(list(rows)) for _, rows in groupby(found, key=lambda row: row.rule_id)]


def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="A candidate, a rule or a run.")],
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Show one thing whole: a candidate with its packet, a rule with its history, a run with all it found.

    Examples:
      slowwave show CANDIDATE_ID --json
      slowwave show RUN_ID
    """
    with open_store() as store, store.database.read() as session:
        found = _found(session, name, namespace)
    if found is None:
        raise CommandFailed(f"There is no candidate, rule or run {name!r}.", "See: slowwave queue, rules, runs.")
    shown, page = found
    if json:
        print_json(shown)
    else:
        reading.print_page(page(shown))


def _found(session: Session, name: str, namespace: str | None) -> tuple[dict[str, Any], PageOf] | None:
    """What has this id, and the page that shows it to people."""
    if candidate := _candidate(session, name, namespace):
        return candidate, reading.candidate_page
    if rule := _rule(session, name, namespace):
        return rule, reading.rule_page
    run = run_detail(session, name)
    return (run, run_page) if run else None


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
