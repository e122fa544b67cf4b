"""Commands that run nights and set their hour."""

from __future__ import annotations

import time
from datetime import date, timedelta
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from storage.engine import database_now
from storage.namespaces import parse_namespace
from storage.queries import runs as queries
from storage.runs import set_schedule
from storage.tables import Run, Schedule
from tasks import pipeline
from worker import resources
from worker.cli.output import (
    DONE,
    FAILED,
    USAGE,
    CommandFailed,
    JsonFlag,
    NamespaceOption,
    errors,
    finish,
    note,
    print_json,
    print_paragraphs,
    print_table,
    run_counts,
    say,
    visible,
    when,
)
from worker.cli.reading import print_page
from worker.cli.run_detail import run_detail, run_page
from worker.cli.store import Store, known_namespace, open_store, operator
from worker.schedule import parse_hour
from worker.supervisor import is_running, running_at

WORKER_SILENT_SECONDS = 45.0
STARTING_SECONDS = 60.0
POLL_SECONDS = 0.25


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("consolidate")(consolidate)
    app.command("schedule")(schedule)
    app.command("runs")(runs)


def consolidate(
    namespace: NamespaceOption,
    night: Annotated[str | None, typer.Option(help="Date of the night, YYYY-MM-DD; today in UTC if absent.")] = None,
    local: Annotated[bool, typer.Option("--local", help="Work in this process: no worker, no broker.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Let the running worker do it, and wait.")] = False,
    json: JsonFlag = False,
) -> None:
    """Run one night: read the new episodes, find what separates success from failure, fill the review queue.

    A request joins a night that is running. Without --local or --wait it is handed to the worker and left.

    Examples:
      slowwave consolidate --namespace acme/support --local
      slowwave consolidate -n acme/support --night 2026-11-29 --wait --json
    """
    if local and wait:
        raise CommandFailed("--local and --wait exclude each other.", "Choose one.", USAGE)
    with open_store() as store:
        known_namespace(store, namespace)
        if wait:
            _worker_is_there(store)
        if local:
            _finish_repairs(store, namespace)
        run = pipeline.open_run(store.database, namespace, _night(night, store), operator(), store.now)
        if local:
            run = drive(store, run)
        elif run.state == "running":
            _hand_over(store, run)
            run = _await(store, run.id) if wait else run
    _tell(run, store, json)
    finish(FAILED if run.state in ("partial", "failed") else DONE)


def _night(text: str | None, store: Store) -> str:
    if text is None:
        return store.now.date().isoformat()
    try:
        # fromisoformat also takes weeks and dates without dashes, which name another night than their writer thinks.
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise CommandFailed(f"{text!r} is no date.", "Write it as YYYY-MM-DD.", USAGE)


def _finish_repairs(store: Store, namespace: str) -> None:
    """A revocation's repair that no worker finished goes first: the night should read what it leaves."""
    with store.database.read() as session:
        waiting = queries.repairs_open(session, namespace)
    for run in waiting:
        closed = drive(store, run)
        note(f"repair {closed.key}: {closed.state}")


def drive(store: Store, run: Run) -> Run:
    """Work on a run in this process, with progress on standard error."""
    with _bars() as bars:
        bar = bars.add_task("starting", total=None)

        def watch(progress: pipeline.Progress) -> None:
            shard = f" {progress.shard}" if progress.shard else ""
            words = f"{progress.stage}{shard}" + (f" ({progress.state})" if progress.error else "")
            bars.update(bar, description=words, completed=progress.closed, total=progress.total)
            if progress.error:
                bars.console.print(f"{words}: {visible(progress.error)}", markup=False)

        return pipeline.drive(store.database, run.id, resources.worker(store.settings, watch=watch))


def _bars() -> Bars:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Bars(*columns, console=errors(), transient=True, disable=not errors().is_terminal)


def _worker_is_there(store: Store) -> None:
    """Raise unless a worker got something done lately. A stack that is starting up is given some time.

    Raises:
        CommandFailed: naming how long it has been silent.
    """
    limit = timedelta(seconds=max(WORKER_SILENT_SECONDS, 4 * store.settings.reconcile_seconds))
    end = time.monotonic() + (STARTING_SECONDS if is_running(store.settings) else 0)
    while True:
        with store.database.read() as session:
            heart, now = queries.heartbeat_of(session, "worker"), database_now(session)
        if heart is not None and now - heart.at <= limit:
            return
        if time.monotonic() >= end:
            break
        time.sleep(POLL_SECONDS)
    silent = f"for {int((now - heart.at).total_seconds())} s" if heart else "ever"
    now_what = "Start one with: slowwave up (or slowwave worker and slowwave beat), or use --local."
    raise CommandFailed(f"No worker has got anything done {silent}.", now_what)


def _hand_over(store: Store, run: Run) -> None:
    from worker.app import make_app
    from worker.base_task import send_steps

    with store.database.read() as session:
        steps = queries.steps_to_enqueue(session, run.id)
    if steps and not send_steps(make_app(store.settings), store.database, steps):
        note("The broker does not answer; the run is in the ledger, and the worker takes it up from there.")


def _await(store: Store, run_id: str) -> Run:
    """Watch the ledger until the run is closed."""
    with _bars() as bars:
        bar = bars.add_task("waiting", total=None)
        looks = 0
        while True:
            with store.database.read() as session:
                run = queries.run_by_id(session, run_id)
                steps = queries.steps_of_run(session, run_id)
            assert run is not None
            if run.state != "running":
                return run
            open_stages = sorted({step.stage for step in steps if step.state in ("pending", "leased")})
            closed = sum(step.state in ("done", "parked") for step in steps)
            bars.update(bar, description=", ".join(open_stages) or "waiting", completed=closed, total=len(steps))
            looks += 1
            if looks % 40 == 0:
                _worker_is_there(store)
            # The ledger is all that a command may ask: it polls, and only here.
            time.sleep(POLL_SECONDS)


def _tell(run: Run, store: Store, json: bool) -> None:
    result = pipeline.result_of(run)
    if json:
        print_json(result)
        return
    say(f"night {run.key} of [bold]{run.namespace}[/bold]: {run.state} ({run_counts(result)})")
    if run.problems:
        rows = [(each["stage"], each["shard"], each["error"]) for each in run.problems]
        print_table("problems", ("stage", "shard", "error"), rows, "")
    if run.state != "running":
        say(f"What it found, and what it did not: slowwave show {run.id}")
    if run.state == "completed" and result["candidates"]:
        page = running_at(store.settings) or "slowwave up"
        say(f"Review it: slowwave queue -n {run.namespace}, or in the browser: {page}")


def schedule(
    namespace: Annotated[str, typer.Argument(help="Partition, such as acme/support.")],
    at: Annotated[str | None, typer.Option(help="Hour of the night in UTC, HH:MM.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Run no nights by themselves any more.")] = False,
    json: JsonFlag = False,
) -> None:
    """Set, switch off or show the hour at which a namespace's night runs.

    Examples:
      slowwave schedule acme/support --at 02:30
      slowwave schedule acme/support --off
    """
    with open_store() as store:
        known_namespace(store, namespace)
        row = _set(store, namespace, at, off)
    found = {"namespace": namespace, "at": row.at if row else None, "enabled": bool(row and row.enabled)}
    if json:
        print_json(found)
    elif row is None or not row.enabled:
        say(f"{namespace} has no nightly hour. Set one with: slowwave schedule {namespace} --at 02:30")
    else:
        say(f"The night of {namespace} runs at {row.at} UTC, while slowwave up (or a worker with beat) is running.")


def _set(store: Store, namespace: str, at: str | None, off: bool) -> Schedule | None:
    with store.database.write() as session:
        known = queries.schedule_of(session, namespace)
        if at is None and not off:
            return known
        hour = parse_hour(at) if at is not None else known.at if known else "02:30"
        return set_schedule(session, namespace, hour, enabled=not off, now=database_now(session))


def runs(
    run: Annotated[str | None, typer.Argument(help="A run's id: the same as slowwave show RUN_ID.")] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Only this partition.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20,
    json: JsonFlag = False,
) -> None:
    """List the newest runs with their counts and problems, or show one whole.

    Examples:
      slowwave runs -n acme/support
      slowwave runs RUN_ID --json
    """
    with open_store() as store, store.database.read() as session:
        detail = run_detail(session, run) if run is not None else None
        found = queries.runs_recent(session, parse_namespace(namespace) if namespace else None, limit)
    if run is not None:
        _tell_whole(run, detail, json)
    elif json:
        print_json([_listed(one) for one in found])
    else:
        print_paragraphs("runs, newest first", [_paragraph(one) for one in found], "No run yet.")


def _tell_whole(name: str, detail: dict[str, Any] | None, json: bool) -> None:
    if detail is None:
        raise CommandFailed(f"There is no run {name}.", "List them with: slowwave runs")
    if json:
        print_json(detail)
    else:
        print_page(run_page(detail))


def _paragraph(run: Run) -> list[str]:
    return [
        f"{run.id}  {run.kind} {run.key} of {run.namespace}: {run.state}",
        f"{run_counts(pipeline.result_of(run))}; started {when(run.started_at)}",
        *(f"problem in {each['stage']} {each['shard']}: {each['error']}" for each in run.problems),
    ]


def _listed(run: Run) -> dict[str, Any]:
    return {"namespace": run.namespace, "kind": run.kind, "seq": run.seq, **pipeline.result_of(run)}
