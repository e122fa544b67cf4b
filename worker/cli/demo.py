"""The command that shows everything at once, on invented episodes."""

from __future__ import annotations

import json as jsonlib
import tempfile
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from storage.episodes import ensure_namespace
from storage.passwords import hash_password
from storage.people import set_password
from storage.queries import episodes as episode_queries
from storage.queries.candidates import queue
from storage.queries.people import user_named
from tasks import pipeline
from worker.cli.episodes import take_in
from worker.cli.nights import drive
from worker.cli.output import FAILED, JsonFlag, counted, finish, note, print_json, say
from worker.cli.people import generated_password, new_user
from worker.cli.store import Store, open_store
from worker.schedule import night_of

WORLDS = ("shopping", "travel", "support")
SEED = 7
EPISODES = 1200
BEFORE = timedelta(days=14)
"""How long before the demo its runs began: lately, so that candidates reach sessions, and go on to for two weeks."""
REVIEWER = "reviewer"
SEES = "This login sees demo/* only; for your own: slowwave user add NAME --namespace YOURS"


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("demo")(demo)


def demo(
    no_up: Annotated[bool, typer.Option("--no-up", help="Prepare everything, start nothing.")] = False,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port of the review page.")] = None,
    episodes: Annotated[int, typer.Option(min=1, max=100_000, help="Episodes to make, over three worlds.")] = EPISODES,
    seed: Annotated[int, typer.Option(help="Same seed, same episodes.")] = SEED,
    json: JsonFlag = False,
) -> None:
    """Run scripted agents in three small worlds, consolidate their episodes, and start the stack for review.

    Doing it again is harmless: what is there stays, and the reviewer gets a new password.

    Example:
      slowwave demo --port 8500
    """
    with open_store() as store:
        if port is not None:
            store = Store(store.settings.model_copy(update={"port": port}), store.database)
        if not no_up:
            _check_port(store)
        runs = [_night(store, world, episodes // len(WORLDS), seed) for world in WORLDS]
        password = _reviewer(store)
    waiting = sum(run["waiting"] for run in runs)
    if json and no_up:
        print_json({"namespaces": runs, "login": {"name": REVIEWER, "password": password}})
    elif no_up:
        say(f"Waiting for review: {counted(waiting, 'candidate')}. {SEES}.")
        say(f"Login: {REVIEWER} / {password}. Start the page: slowwave up")
    failed = any(run["state"] in ("partial", "failed") for run in runs)
    if no_up:
        finish(FAILED if failed else 0)
        return
    from worker.supervisor import run_stack

    login = f"login        {REVIEWER} / {password}   (shown once; a new one with: slowwave demo)"
    waits = f"waiting      {counted(waiting, 'candidate')}"
    finish(run_stack(store.settings, notes=[login, f"             {SEES}", waits]))


def _check_port(store: Store) -> None:
    """A taken port is told before minutes of work, not after."""
    from worker.ports import check_free

    if store.settings.port:
        check_free(store.settings.host, store.settings.port)


def _night(store: Store, world: str, episodes: int, seed: int) -> dict[str, Any]:
    from worlds import generate

    namespace = f"demo/{world}"
    note(f"{world}: running {counted(episodes, 'episode')}")
    made = generate(seed, max(1, episodes), worlds=(world,), start=first_start(store, namespace))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{world}-{seed}.jsonl"
        path.write_text("".join(jsonlib.dumps(each) + "\n" for each in made), encoding="utf-8")
        # A scope of its own, since the folder has another name each time: a second demo adds nothing.
        report = take_in(store, [str(path)], namespace, scope=f"demo/{world}/{seed}")
    run = pipeline.open_run(store.database, namespace, night_of(store.now), "demo", store.now)
    run = drive(store, run)
    with store.database.read() as session:
        waiting = len(queue(session, namespace))
    taken, waits = counted(report.accepted, "new episode"), counted(waiting, "candidate")
    note(f"{world}: {taken}, night {run.state}, waiting: {waits}")
    return {"namespace": namespace, "accepted": report.accepted, "waiting": waiting, **pipeline.result_of(run)}


def first_start(store: Store, namespace: str) -> datetime:
    """When the first run started. It hangs on when the namespace was made, so that a later demo makes the same runs."""
    with store.database.write() as session:
        ensure_namespace(session, namespace, store.now)
        row = episode_queries.namespace(session, namespace)
    assert row is not None
    return datetime.combine(row.created_at.date(), time(8), row.created_at.tzinfo) - BEFORE


def _reviewer(store: Store) -> str:
    """The account that may review the demo, with a new password."""
    password = generated_password()
    hashed = hash_password(password)
    with store.database.write() as session:
        user = user_named(session, REVIEWER)
        if user is None:
            user, _ = new_user(session, store, REVIEWER, "reviewer", ["demo"])
        set_password(session, user, hashed)
    return password
