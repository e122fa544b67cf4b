"""Commands that tell how things are: ``doctor`` for people, ``health`` for containers."""

from __future__ import annotations

from typing import Annotated

import typer

from worker.cli.output import DONE, FAILED, USAGE, CommandFailed, JsonFlag, finish, print_json, print_table, say
from worker.cli.store import load_settings, open_store
from worker.doctor import SERVICES, examine, is_healthy

MARKS = {"pass": "ok", "warn": "look", "fail": "FAIL"}


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("doctor")(doctor)
    app.command("health")(health)


def doctor(json: JsonFlag = False) -> None:
    """Examine the installation: settings, database, broker, services, overdue nights. Exit code 1 if one fails."""
    checks = examine(load_settings())
    ok = all(check.verdict != "fail" for check in checks)
    if json:
        print_json({"ok": ok, "checks": [check.as_dict() for check in checks]})
    else:
        rows = [(MARKS[check.verdict], check.name, check.detail, check.fix) for check in checks]
        print_table("doctor", ("", "what", "how it is", "what to do"), rows, "")
    finish(DONE if ok else FAILED)


def health(
    service: Annotated[str, typer.Option(help=f"One of: {', '.join(SERVICES)}.")],
    json: JsonFlag = False,
) -> None:
    """Say whether one service gets its work done; exit code 0 if so. For container health checks."""
    if service not in SERVICES:
        raise CommandFailed(f"There is no service {service!r}.", f"Choose one of: {', '.join(SERVICES)}.", USAGE)
    with open_store() as store:
        check = is_healthy(store.settings, store.database, service)
    if json:
        print_json({"service": service, "ok": check.verdict == "pass", "detail": check.detail})
    else:
        say(f"{service}: {check.detail}")
    finish(DONE if check.verdict == "pass" else FAILED)
