"""The command that measures how long a revocation takes to reach every reader."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer
from sqlalchemy.exc import ArgumentError, DBAPIError

from storage.drills import keep_result
from storage.namespaces import parse_namespace
from storage.queries.drills import results_newest
from storage.tables import DrillResult
from tasks.revoke.drill import CONDITIONS, decisive
from worker.cli.output import (
    DONE,
    FAILED,
    USAGE,
    CommandFailed,
    JsonFlag,
    finish,
    note,
    print_json,
    print_paragraphs,
    say,
    when,
)
from worker.cli.stopping import StopSwitch
from worker.cli.store import Store, open_store

if TYPE_CHECKING:
    # Imported where it is used: the parts of a whole stack come along, which other commands need not wait for.
    from worker.drill import Plan

MODES = ("revoke", "incomplete")
LOADS = ("night", "ingest")
MOST_READERS = 2000
SHOWN = 30
BAR = 16


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("drill")(drill)


def drill(
    readers: Annotated[int, typer.Option("--readers", min=1, max=MOST_READERS, help="Clients that read.")] = 20,
    mode: Annotated[str, typer.Option(help=f"One of: {', '.join(MODES)}.")] = "revoke",
    conditions: Annotated[
        str, typer.Option(help=f"With commas, of: {', '.join(CONDITIONS)}.", show_default=False)
    ] = ",".join(CONDITIONS),
    limit: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds for readers that are told; 1, or 5 without Redis.")
    ] = None,
    lease: Annotated[
        float | None, typer.Option(min=1, max=300, help="Seconds of a lease; SLOWWAVE_LEASE_SECONDS if absent.")
    ] = None,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Above the drill's own.")] = "slowwave/drill",
    during: Annotated[str, typer.Option(help=f"What else goes on: {' or '.join(LOADS)}.")] = "",
    postgres: Annotated[
        str | None, typer.Option(help="URL of a database for drills alone; SQLite in a temporary folder if absent.")
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Show what the last drills found, and end.")] = False,
    json: JsonFlag = False,
) -> None:
    """Revoke a canary that readers have cached, and measure when each of them stopped serving it.

    It starts a stack of its own in a temporary folder, and stops parts of it.
    Exit code 1 over the limit, past a lease, or where a reader never stopped.

    Examples:
      slowwave drill --readers 200
      slowwave drill --conditions connected,redis-down --limit 2
      slowwave drill --readers 50 --during ingest --json
      slowwave drill --mode incomplete --readers 8
      slowwave drill --history
    """
    if history:
        with open_store() as store:
            _show_history(store, json)
        return
    named = _checked(mode, conditions, during, namespace)
    with open_store() as store:
        if postgres is not None and postgres == store.settings.database_url:
            now = "Give the URL of another one, an empty one at first."
            raise CommandFailed("A drill does not run in the database that agents read from.", now, USAGE)
        seconds = lease if lease is not None else store.settings.lease_seconds
        # Ended by a service manager it takes down what it started, and its folder, as after Ctrl-C.
        with StopSwitch(signal.SIGTERM, signal.SIGHUP, at_once=True):
            plans = [_plan(name, readers, seconds, limit, namespace, during, postgres) for name in named]
            kept = [_run(store, mode, plan) for plan in plans]
    _tell(kept, json)
    finish(DONE if all(each["passed"] for each in kept) else FAILED)


def _checked(mode: str, conditions: str, during: str, namespace: str) -> list[str]:
    """The conditions to run.

    Raises:
        CommandFailed: something is not among what there is.
    """
    parse_namespace(namespace)
    named = [each.strip() for each in conditions.split(",") if each.strip()] if mode == "revoke" else ["incomplete"]
    wrong = [each for each in named if each not in CONDITIONS] if mode == "revoke" else []
    wanted = ((wrong, CONDITIONS, "condition"), ([mode], MODES, "mode"), ([during], ("", *LOADS), "load"))
    for given, known, what in wanted:
        for each in given:
            if each not in known:
                raise CommandFailed(
                    f"There is no {what} {each!r}.", f"Choose of: {', '.join(filter(None, known))}.", USAGE
                )
    if during and mode != "revoke":
        raise CommandFailed(f"The mode {mode} takes no --during.", "Leave it out.", USAGE)
    if not named:
        raise CommandFailed("No condition is named.", f"Choose of: {', '.join(CONDITIONS)}.", USAGE)
    return named


def _plan(
    condition: str, readers: int, lease: float, limit: float | None, namespace: str, during: str, url: str | None
) -> Plan:
    from worker.drill import Plan

    return Plan(readers, condition, namespace, during, url, lease, limit)


def _run(store: Store, mode: str, plan: Plan) -> dict[str, Any]:
    """One drill, kept in the store of the settings; what it found.

    Raises:
        CommandFailed: it could not be done.
    """
    from worker import drill, drill_incomplete
    from worker.drill_readers import ReadersFailed
    from worker.drill_stack import NotForDrills, StackFailed

    try:
        found = (drill if mode == "revoke" else drill_incomplete).run(plan, note).as_dict()
    except (ReadersFailed, StackFailed) as failed:
        raise CommandFailed(f"The drill came to no figure: {failed}.", "See what it says, and try again.") from None
    except NotForDrills as refused:
        raise CommandFailed(str(refused), code=USAGE) from None
    except (ArgumentError, ImportError) as wrong:
        what = f"The address after --postgres cannot be used: {type(wrong).__name__}."
        raise CommandFailed(what, "Write it as postgresql+psycopg://user@host/name.", USAGE) from None
    except DBAPIError as lost:
        what = f"The drill's database failed: {str(lost.orig).strip().splitlines()[0]}."
        raise CommandFailed(what, "See that it is there and empty, and try again.") from None
    found |= {"mode": mode, "during": plan.during}
    with store.database.write() as session:
        keep_result(
            session, mode=mode, condition=plan.condition, during=plan.during, database=found["database"],
            readers=plan.readers, lease_seconds=plan.lease_seconds, limit_seconds=found["limit_seconds"],
            passed=found["passed"], summary=found, now=store.now,
        )  # fmt: skip
    return found


def _tell(found: list[dict[str, Any]], json: bool) -> None:
    if json:
        print_json({"passed": all(each["passed"] for each in found), "drills": found})
        return
    print_paragraphs("seconds from the commit of the revocation", [(_head(each), *_lines(each)) for each in found], "")


def _head(found: dict[str, Any]) -> str:
    told = "passed" if found["passed"] else "FAILED"
    what = f"{found['condition']}, {found['readers']} readers, {found['database']}"
    return f"{what}: {told}, limit {found['limit_seconds']:g} s"


def _lines(found: dict[str, Any]) -> list[str]:
    """Both ends of what is known: until when readers were given it, from when they were not; and what is wrong."""
    spreads = (("given it until", "served"), ("not given it from", "refused"), ("last action at", "acted"))
    lines = [f"{words:<18} {_figures(found[name])}" for words, name in spreads if found.get(name)]
    if "withdrawn" in found:
        told = ", ".join(f"{count} told: {verdict}" for verdict, count in found["verdicts"].items())
        lines += [
            f"index entries withdrawn: {', '.join(found['withdrawn'])}",
            f"actions: {found['done']} done ({found['done_after']} begun after it), {found['pending']} held back",
            f"sessions: {told}",
        ]
    return lines + [f"wrong: {each}" for each in found["wrong"]]


def _figures(spread: dict[str, float]) -> str:
    return "  ".join(f"{name} {seconds:.3f} s" for name, seconds in spread.items())


def _show_history(store: Store, json: bool) -> None:
    with store.database.read() as session:
        rows = results_newest(session, SHOWN)
    if json:
        print_json([_entry(row) for row in rows])
        return
    if not rows:
        say("No drill was run yet: slowwave drill --readers 20")
    for row in rows:
        during = f", during {row.during}" if row.during else ""
        what = f"{row.condition}, {row.readers} on {row.database}{during}"
        say(f"{when(row.at)[:16]} {_bar(row)} {_slow(row):>6} {'    ' if row.passed else 'FAIL'} {what}")


def _entry(row: DrillResult) -> dict[str, Any]:
    return {"id": row.id, "at": row.at.isoformat(), **row.summary}


def _slow(row: DrillResult) -> str:
    """The figure that the limit is about: the 99th percentile where readers are told, else the slowest."""
    found = decisive(row.mode, row.condition, row.summary)
    return "never" if found is None else f"{found:.3f}"


def _bar(row: DrillResult) -> str:
    """How much of the limit it took; a bar that ends in an arrow went past it."""
    found = decisive(row.mode, row.condition, row.summary)
    if found is None:
        return "█" * BAR + "▶"
    share = found / row.limit_seconds
    return "█" * BAR + "▶" if share > 1 else ("█" * round(share * BAR) or "▏").ljust(BAR, "·")
