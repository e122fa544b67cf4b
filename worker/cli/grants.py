"""``slowwave db grants``: the roles that services connect as, and what each may do in the database."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy.exc import DBAPIError

from storage import grants
from worker.cli.output import USAGE, CommandFailed, JsonFlag, finish, note, print_json, say
from worker.cli.store import Store, ensure_schema, load_settings, lost_database, make_database
from worker.logs import configure


def put_in_place(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the SQL, and do nothing.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare with what is there; 1 if it differs.")] = False,
    password_file: Annotated[
        Path | None, typer.Option(help="File with a line ROLE=PASSWORD for each role; only its owner may read it.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Make the roles of the services and give each what it needs. PostgreSQL only; again, it changes nothing.

    Run it as the owner of the tables, after every upgrade. Passwords come from the environment
    (SLOWWAVE_READER_PASSWORD, …_INGEST_…, …_REVIEWER_…, …_WORKER_…) or from a file; a role that is
    given none keeps the one it has, and a new role without one cannot log in.

    Examples:
      slowwave db grants --dry-run
      slowwave db grants --password-file roles.txt
      slowwave db grants --check
    """
    settings = load_settings()
    configure(settings, level="WARNING")
    store = Store(settings, make_database(settings))
    try:
        wanted = grants.statements(store.database)
        if dry_run:
            _print(wanted, json)
            return
        ensure_schema(store)
        if check:
            _compare(store, json)
            return
        passwords = _passwords(password_file)
        grants.apply(store.database, passwords)
    except grants.NotPostgres as wrong:
        raise CommandFailed(f"{wrong}.", "Set SLOWWAVE_DATABASE_URL to a PostgreSQL database.", USAGE) from None
    except DBAPIError as error:
        raise lost_database(settings, error) from error
    finally:
        store.database.dispose()
    roles = [login.role for login in grants.LOGINS]
    if json:
        print_json({"roles": roles, "passwords_set": sorted(passwords)})
        return
    for login in grants.LOGINS:
        say(f"{login.role}: {login.what}{'' if login.role in passwords else ' (password as it was)'}")


def _print(wanted: list[str], json: bool) -> None:
    if json:
        print_json({"statements": wanted})
        return
    say("BEGIN;")
    for statement in wanted:
        say(f"{statement};")
    say("COMMIT;")


def _compare(store: Store, json: bool) -> None:
    different = grants.check(store.database)
    if json:
        print_json({"differs": different})
    for line in [] if json else different:
        say(line)
    if different:
        note("what differs is put right by: slowwave db grants")
    elif not json:
        say("the grants are as they should be")
    finish(1 if different else 0)


def _passwords(file: Path | None) -> dict[str, str]:
    """By role: from the environment, and from the file, which counts where both have one."""
    found = {each.role: os.environ[each.variable] for each in grants.LOGINS if os.environ.get(each.variable)}
    if file is not None:
        found |= _from_file(file)
    for role, password in found.items():
        if len(password) < 16:
            what = f"The password for {role} has fewer than 16 characters."
            raise CommandFailed(what, "Make one with: openssl rand -hex 32", USAGE)
    return found


def _from_file(file: Path) -> dict[str, str]:
    try:
        if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise CommandFailed(f"{file} may be read by others than its owner.", f"chmod 600 {file}", USAGE)
        lines = [line.strip() for line in file.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as problem:
        what = f"{file} cannot be read: {type(problem).__name__}."
        raise CommandFailed(what, "Give a file with a line ROLE=PASSWORD for each role.", USAGE) from None
    found = {}
    known = {login.role for login in grants.LOGINS}
    for line in lines:
        if not line or line.startswith("#"):
            continue
        role, is_pair, password = line.partition("=")
        if not is_pair or role.strip() not in known:  # the line itself is not told: it may be a password
            what = f"{file} holds a line that is no ROLE=PASSWORD of a role that there is."
            raise CommandFailed(what, f"Roles: {', '.join(sorted(known))}.", USAGE)
        found[role.strip()] = password.strip()
    return found
