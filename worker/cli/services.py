"""Commands that run one service in the foreground, for containers and for the supervisor; and the whole stack."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from storage.namespaces import namespace_allows
from storage.queries.people import users_all
from storage.queries.runs import namespaces_all
from storage.tables import User
from worker.cli.output import USAGE, CommandFailed, JsonFlag, finish, note, print_json, print_table
from worker.cli.store import load_settings, open_store

NOBODY = "no account yet: make one with: slowwave user add NAME --role reviewer"
APPS = ("review", "read", "both")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("up")(up)
    app.command("worker")(worker)
    app.command("beat")(beat)
    app.command("relay")(relay)
    app.command("web")(web)
    app.command("reconcile")(reconcile)


def up(
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port of the web apps; 0 picks one.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Steps worked on at once.")] = 2,
) -> None:
    """Run the local stack in this terminal: broker, worker, beat, relay, review page and agents' side.

    Ctrl-C stops everything. SLOWWAVE_DATABASE_URL and SLOWWAVE_REDIS_URL point at servers of your own instead.

    Examples:
      slowwave up
      slowwave up --port 8500
    """
    from worker.supervisor import run_stack

    with open_store() as store:
        settings = store.settings if port is None else store.settings.model_copy(update={"port": port})
        with store.database.read() as session:
            notes = unseen(users_all(session), namespaces_all(session))
    finish(run_stack(settings, concurrency=concurrency, notes=notes))


def unseen(people: Sequence[User], namespaces: Sequence[str]) -> list[str]:
    """What nobody's login shows, and what to do: a line, or none."""
    active = [person for person in people if person.disabled_at is None]
    if not active:
        return [NOBODY]
    missed = [path for path in namespaces if not any(namespace_allows(one.namespaces, path) for one in active)]
    if not missed:
        return []
    more = f" and {len(missed) - 1} more" if len(missed) > 1 else ""
    return [f"no account sees {missed[0]}{more}: make one with: slowwave user add NAME --namespace {missed[0]}"]


def worker(
    concurrency: Annotated[int, typer.Option(min=1, help="Steps worked on at once.")] = 2,
) -> None:
    """Run one worker. More of them, on other machines too, share the work."""
    _needs_schema()
    # No gossip, mingle or remote control: nothing here asks workers, and their keys would grow in Redis.
    options = ["--concurrency", str(concurrency), "--without-gossip", "--without-mingle", "--without-heartbeat"]
    _become("worker", *options, "--hostname", f"slowwave-{os.getpid()}@%h")


def beat() -> None:
    """Run beat: the clock that has schedules compared with the ledger. Two of them do no harm."""
    _needs_schema()
    _become("beat", "--scheduler", "worker.beat:HeartScheduler", "--pidfile", "")


def _needs_schema() -> None:
    with open_store():
        pass


def _become(command: str, *options: str) -> None:
    """Turn this process into Celery's, so that signals reach it without a middleman."""
    level = load_settings().log_level
    argv = [sys.executable, "-m", "celery", "--quiet", "--app=worker.app", command, "--loglevel", level, *options]
    # SIGTERM starts the soft shutdown: finish within the limit, else give the step back.
    os.execve(sys.executable, argv, {**os.environ, "REMAP_SIGTERM": "SIGQUIT"})  # noqa: S606 - our own interpreter


def relay(
    once: Annotated[bool, typer.Option("--once", help="Send what waits, then end.")] = False,
    ready_file: Annotated[Path | None, typer.Option(help="File written once the relay has reached Redis.")] = None,
    json: JsonFlag = False,
) -> None:
    """Run the relay: what changed for readers goes from the outbox to Redis, at least once and in order."""
    from worker.relay import Relay, connect

    with open_store(quiet=once) as store:
        client = connect(store.settings.resolved_redis_url)
        sender = Relay(store.database, client, ready_file=ready_file)
        if once:
            _once(sender, json)
            return
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        sender.run(stop, every_seconds=store.settings.relay_seconds)


def _once(sender: object, json: bool) -> None:
    from redis.exceptions import RedisError

    from worker.relay import Relay

    try:
        passed = cast(Relay, sender).pass_once()
    except RedisError as error:
        now = "Start it or set SLOWWAVE_REDIS_URL right; nothing was lost, the outbox keeps it."
        raise CommandFailed(f"Redis does not answer: {error}.", now) from error
    if json:
        print_json({"sent": passed.sent, "refused": passed.refused})
    finish(1 if passed.refused else 0)


def web(
    app: Annotated[str, typer.Option(help="review, read, or both on one port.")] = "both",
    host: Annotated[str | None, typer.Option(help="Address to bind to; loopback if absent.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535)] = None,
) -> None:
    """Run the web apps: the reviewers' pages, the agents' side, or both."""
    from worker.local_app import serve
    from worker.ports import check_free

    if app not in APPS:
        raise CommandFailed(f"There is no app {app!r}.", f"Choose one of: {', '.join(APPS)}.", USAGE)
    with open_store(quiet=False) as store:
        address = host or store.settings.host
        number = store.settings.port if port is None else port
        check_free(address, number)
        which = cast(Literal["review", "read", "both"], app)
        serve(store.settings, store.database, which, host=address, port=number)


def reconcile(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    json: JsonFlag = False,
) -> None:
    """Compare the ledger with what is under way: free dead workers' steps, park, move on, send again.

    The worker does the same every few seconds; this is for looking, and for when it is not running.
    """
    from worker import identity
    from worker.app import make_app
    from worker.base_task import send_steps
    from worker.reconcile import reconcile as sweep

    with open_store() as store:
        report = sweep(
            store.database,
            max_attempts=store.settings.step_attempts,
            is_dead=identity.is_dead,
            send=lambda steps: send_steps(make_app(store.settings), store.database, steps) if steps else 0,
            dry_run=dry_run,
        )
    document = {"dry_run": dry_run, **report.as_dict()}
    if json:
        print_json(document)
        return
    rows = [(name, len(found)) for name, found in report.as_dict().items()]
    note("dry run: nothing was changed" if dry_run else "done")
    print_table("reconcile", ("what", "how many"), rows, "")
