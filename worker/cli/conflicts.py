"""What cannot both be followed or both be current: the list, and a person's decision about one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from storage.namespaces import parse_namespace
from storage.queries import conflicts as queries
from storage.tables import Conflict
from tasks.conflict.resolve.errors import ConflictGone
from tasks.conflict.resolve.shown import KEEPS, shown_hash
from tasks.conflict.resolve.step import resolve as resolve_step
from worker.cli.decide import Reason
from worker.cli.output import CommandFailed, JsonFlag, print_json, print_paragraphs, say
from worker.cli.queue import OptionalNamespace
from worker.cli.store import Store, open_store, person

group = typer.Typer(help="List conflicts, and resolve one.")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.add_typer(group, name="conflicts")


@group.callback(invoke_without_command=True)
def conflicts(
    context: typer.Context,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Only this partition's.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that were resolved or closed as well.")] = False,
    json: JsonFlag = False,
) -> None:
    """List conflicts that are open, contradictions first, each with both of its sides.

    Examples:
      slowwave conflicts --namespace acme/support
      slowwave conflicts -n acme/support --all --json
      slowwave conflicts resolve ID --keep right --reason "the move is done"
    """
    if context.invoked_subcommand is not None:
        return
    if namespace is not None:
        parse_namespace(namespace)
    with open_store() as store, store.database.read() as session:
        found = queries.conflicts_page(session, (), namespace=namespace, state=None if everything else "open")
        entries = [entry(row, name) for row, name in found]
    if json:
        print_json(entries)
        return
    where = f" in {namespace}" if namespace else ""
    print_paragraphs(f"conflicts{where}", [_paragraph(each) for each in entries], f"No open conflict{where}.")


def entry(row: Conflict, resolved_by: str | None) -> dict[str, Any]:
    """One conflict as it is printed."""
    return {
        "id": row.id,
        "namespace": row.namespace,
        "kind": row.kind,
        "form": row.sides.get("form") or None,
        "state": row.state,
        "detail": row.detail,
        "left": _side(row, "left", row.left_ref),
        "right": _side(row, "right", row.right_ref),
        "proposes": row.sides.get("stands") or None,
        "shown": shown_hash(row.kind, row.sides),
        "resolution": row.resolution,
        "reason": row.reason,
        "resolved_by": resolved_by,
        "resolved_at": row.resolved_at.isoformat() if row.resolved_at else None,
        "before": row.sides.get("before"),
        "at": row.at.isoformat(),
    }


def _side(row: Conflict, side: str, ref: str) -> dict[str, Any]:
    shown = row.sides.get(side) or {}
    counts = {name: int(shown.get(name) or 0) for name in ("support", "counter")}
    return {"ref": ref, "title": shown.get("title") or ref, **counts, "episodes": list(shown.get("episodes") or ())}


def _paragraph(each: Mapping[str, Any]) -> list[str]:
    head = f"{each['id']}  {each['kind']}{' (' + each['form'] + ')' if each['form'] else ''}  {each['namespace']}"
    proposed = f"proposed: {each['proposes']} stands" if each["proposes"] else ""
    return [
        head,
        each["detail"],
        _words("left", each["left"]),
        _words("right", each["right"]),
        proposed,
        _outcome(each),
    ]


def _words(side: str, shown: Mapping[str, Any]) -> str:
    against = f", {shown['counter']} against" if shown["counter"] else ""
    return f"{side}: {shown['title']}  [{shown['ref']}; {shown['support']} for{against}]"


def _outcome(each: Mapping[str, Any]) -> str:
    if each["state"] == "open":
        return f"open again: {each['before']['why']}" if each["before"] else ""
    who = f" by {each['resolved_by']}" if each["resolved_by"] else ""
    return f"resolved{who}, keeping {each['resolution']}: {each['reason']}" if who else f"closed: {each['reason']}"


@group.command("resolve")
def resolve(
    conflict: Annotated[str, typer.Argument(metavar="ID", help="The conflict.")],
    keep: Annotated[str, typer.Option(help=f"What stands: {', '.join(KEEPS)}.")],
    reason: Reason,
    shown: Annotated[
        str | None, typer.Option(help="The mark of what you read; refused if a side changed since.")
    ] = None,
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Record which side of a conflict stands, and why. It promotes and revokes nothing.

    Runs that did the same and ended differently (mixed-outcome) can only be noted: --keep both.

    Examples:
      export SLOWWAVE_TOKEN=sw_…
      slowwave conflicts resolve ID --keep right --reason "the move is done"
    """
    if keep not in KEEPS:
        raise CommandFailed(f"There is no side {keep!r}.", f"Keep one of: {', '.join(KEEPS)}.", 2)
    with open_store() as store:
        who = person(store)
        result = resolve_step(
            store.database, _namespace_of(store, conflict, namespace), conflict, keep=keep, reviewer=who,
            reason=reason, now=store.now, secret=store.secret, shown=shown,
        )  # fmt: skip
    if json:
        print_json(asdict(result))
    elif result.changed:
        say(f"resolved {conflict}, keeping {keep}")
    else:
        say(f"{conflict} had been resolved so before")


def _namespace_of(store: Store, conflict: str, namespace: str | None) -> str:
    with store.database.read() as session:
        rows = queries.conflicts_named(session, conflict, namespace)
    if not rows:
        raise ConflictGone(f"there is no conflict {conflict!r}; list them: slowwave conflicts -n NAMESPACE")
    if len(rows) > 1:
        where = ", ".join(row.namespace for row in rows)
        raise CommandFailed(f"{conflict!r} is in {where}.", "Say which with --namespace.", 2)
    return rows[0].namespace
