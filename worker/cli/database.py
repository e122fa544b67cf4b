"""Commands on the schema."""

from __future__ import annotations

import typer
from sqlalchemy.exc import DBAPIError

from storage import grants, migrate
from storage.engine import Database
from worker.cli.grants import put_in_place
from worker.cli.output import JsonFlag, note, print_json, say
from worker.cli.store import Store, load_settings, lost_database, make_database
from worker.logs import configure


def register(app: typer.Typer) -> None:
    """Add the group of this file."""
    group = typer.Typer(help="The database's schema.", no_args_is_help=True)
    group.command("upgrade")(upgrade)
    group.command("current")(current)
    group.command("grants")(put_in_place)
    app.add_typer(group, name="db")


def upgrade(json: JsonFlag = False) -> None:
    """Bring the schema to what this version needs. Doing it again is harmless.

    Where the roles' grants were made before, the agents' views are taken away for the time of a change and made anew.
    """
    _tell(json, change=True)


def current(json: JsonFlag = False) -> None:
    """Show which revision the schema is at, and which this version needs."""
    _tell(json, change=False)


def _upgrade(database: Database) -> None:
    """Upgrade; and where there are grants, put them in place again: a new table has none, a view stands in its way."""
    granted = grants.applied(database)
    if granted and migrate.current(database) != migrate.head(database):
        grants.drop_reader(database)
    migrate.upgrade(database)
    if granted:
        grants.apply(database)
        note("the roles' grants were put in place again, as by: slowwave db grants")


def _tell(json: bool, *, change: bool) -> None:
    settings = load_settings()
    configure(settings, level="WARNING")
    store = Store(settings, make_database(settings))
    try:
        if change:
            _upgrade(store.database)
        document = {"current": migrate.current(store.database), "head": migrate.head(store.database)}
    except DBAPIError as error:
        raise lost_database(settings, error) from error
    finally:
        store.database.dispose()
    if json:
        print_json(document)
    else:
        say(f"schema {document['current'] or 'empty'}, this version needs {document['head']}")
