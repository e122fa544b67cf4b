"""The command ``slowwave``: its groups, and what becomes of an error."""

from __future__ import annotations

import sys
from typing import Any

import typer
from sqlalchemy.exc import DBAPIError

from storage.lifecycle import StateRefused
from storage.namespaces import NamespaceMalformed
from storage.outbox import NamespaceUnknown
from storage.people import NameTaken
from storage.trouble import is_full, trouble_of
from tasks.ingest.importers.registry import UnknownFormat
from tasks.ingest.namespace import BadNamespace
from tasks.ingest.secret_rules import BadPattern
from tasks.ingest.trust import BadTrustPolicy
from tasks.promote.errors import DecisionRefused
from worker.broker import BrokerMissing
from worker.cli import (
    audit,
    changes,
    conflicts,
    database,
    decide,
    demo,
    drill,
    episodes,
    export,
    following,
    letters,
    nights,
    parts,
    people,
    policies,
    purge,
    queue,
    records,
    restore,
    services,
    status,
)
from worker.cli.output import DONE, FAILED, USAGE, CommandFailed, errors, print_json
from worker.ports import PortTaken
from worker.schedule import HourMalformed
from worker.supervisor import AlreadyRunning

HELP = (
    "Consolidates what agents lived through into rules that people approved.\n\n"
    "Typical: slowwave ingest runs/*.jsonl -n acme/support, then slowwave consolidate -n acme/support --local, "
    "then slowwave up, and review in the browser.\n\n"
    "Everything local lives in the folder SLOWWAVE_HOME (default .slowwave). "
    "Exit codes: 0 done, 1 done with something rejected or failed, 2 wrong usage, 130 stopped."
)
USAGE_ERRORS = (
    NamespaceMalformed, NamespaceUnknown, BadNamespace, UnknownFormat, HourMalformed, BadPattern, BadTrustPolicy,
)  # fmt: skip
REFUSALS = (DecisionRefused, StateRefused, NameTaken, PortTaken, AlreadyRunning, BrokerMissing)

UsageError: Any = typer.BadParameter.__base__
"""Typer has click within itself by now and does not name this class in public."""

app = typer.Typer(
    name="slowwave", help=HELP, rich_markup_mode="rich", no_args_is_help=True, add_completion=False,
    pretty_exceptions_enable=False,
)  # fmt: skip
for group in (
    demo, services, episodes, letters, following, records, policies, nights, queue, decide, restore, changes, parts,
    conflicts, export, people, audit, database, status, drill, purge,
):  # fmt: skip
    group.register(app)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and end the process with its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(given))


def run(arguments: list[str]) -> int:
    """Run a command; returns its exit code. No error leaves as a traceback unless it is a defect of ours."""
    wants_json = "--json" in arguments
    try:
        code = app(arguments, standalone_mode=False)
        return int(code or DONE)
    except typer.Exit as end:
        return end.exit_code
    except UsageError as wrong:
        wrong.show()
        return _fail(wrong.format_message(), "See: slowwave --help", USAGE, wants_json, shown=True)
    except (typer.Abort, KeyboardInterrupt):
        return _fail("Stopped.", "Run it again: what was done stays done.", 130, wants_json)
    except CommandFailed as failed:
        return _fail(failed.what, failed.now, failed.code, wants_json)
    except USAGE_ERRORS as wrong:
        return _fail(str(wrong), "", USAGE, wants_json)
    except REFUSALS as refused:
        return _fail(str(refused), "", FAILED, wants_json)
    except DBAPIError as lost:
        from worker.cli.store import load_settings, lost_database

        told = lost_database(load_settings(), lost)
        return _fail(told.what, told.now, told.code, wants_json)
    except OSError as error:
        if not is_full(error):
            raise
        where = f" ({error.filename})" if error.filename else ""
        return _fail(f"The disk is full{where}: {error.strerror}.", trouble_of(error).now, FAILED, wants_json)


def _fail(what: str, now: str, code: int, wants_json: bool, *, shown: bool = False) -> int:
    if not shown:
        errors().print("[bold red]error[/bold red] ", end="")
        errors().print(f"{what} {now}".strip(), markup=False)
    if wants_json:
        print_json({"error": {"what": what, "now": now, "code": code}})
    return code
