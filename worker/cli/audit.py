"""Commands on the audit log."""

from __future__ import annotations

from dataclasses import asdict

import typer

from storage import audit
from worker.cli.output import DONE, FAILED, JsonFlag, finish, print_json, say
from worker.cli.store import open_store


def register(app: typer.Typer) -> None:
    """Add the group of this file."""
    group = typer.Typer(help="The hash-chained log of every decision.", no_args_is_help=True)
    group.command("verify")(verify)
    # With a callback Typer keeps the group although it has one command.
    group.callback()(lambda: None)
    app.add_typer(group, name="audit")


def verify(json: JsonFlag = False) -> None:
    """Check that no entry was changed, removed or put in between. Exit code 1 if one was."""
    with open_store() as store, store.database.read() as session:
        report = audit.verify(session)
    if json:
        print_json(asdict(report))
    elif report.ok:
        say(f"The audit log is whole: {report.entries} entries.")
    else:
        say(f"The audit log is broken at entry {report.broken_at}: {report.why}. Keep a copy of the database.")
    finish(DONE if report.ok else FAILED)
