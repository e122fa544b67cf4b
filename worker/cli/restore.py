"""The command that serves a quarantined version again, on a person's word."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from storage.queries import rules
from tasks.promote.errors import WrongState
from worker.cli.decide import Reason, namespace_of_rule
from worker.cli.output import USAGE, CommandFailed, JsonFlag, print_json, say
from worker.cli.queue import OptionalNamespace
from worker.cli.store import Store, open_store, person

Version = Annotated[int | None, typer.Option("--version", min=1, help="Which version, where several are withheld.")]


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("restore")(restore)


def restore(
    rule: Annotated[str, typer.Argument(metavar="RULE_ID", help="The rule that is withheld.")],
    reason: Reason,
    version: Version = None,
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Serve a quarantined version again, as one that stands without what was revoked.

    What was revoked or has expired never comes back, and nobody restores what they wrote or edited.

    Examples:
      export SLOWWAVE_TOKEN=sw_…
      slowwave restore RULE_ID --reason "its own nine runs bear it out"
      slowwave restore RULE_ID --version 2 --reason "it never read the other"
    """
    # Imported here: SciPy comes along and takes a second that other commands need not wait for.
    from tasks.promote.step import restore as restore_step

    with open_store() as store:
        who = person(store)
        where = namespace_of_rule(store, rule, namespace)
        number = version if version is not None else _withheld(store, where, rule)
        result = restore_step(
            store.database, where, rule, number, reviewer=who, reason=reason, now=store.now, secret=store.secret
        )
    if json:
        print_json(asdict(result))
    elif result.changed:
        say(f"restored {rule} version {number} (epoch {result.epoch}): agents are served it again")
    else:
        say(f"{rule} version {number} is active already (since epoch {result.epoch}); nothing was changed")


def _withheld(store: Store, namespace: str, rule: str) -> int:
    """The version that is meant where none is named: the quarantined one, else the active one, as a repeat of the act.

    Raises:
        CommandFailed: if several versions are quarantined.
        WrongState: if none is quarantined or active.
    """
    with store.database.read() as session:
        states = {row.version: row.state for row in rules.versions_of(session, namespace, rule)}
    withheld = sorted(number for number, state in states.items() if state == "quarantined")
    if len(withheld) > 1:
        named = ", ".join(map(str, withheld))
        raise CommandFailed(f"Versions {named} of {rule} are quarantined.", "Say which with --version.", USAGE)
    active = [number for number, state in states.items() if state == "active"]
    if not withheld and not active:
        told = ", ".join(f"version {number} is {state}" for number, state in sorted(states.items()))
        raise WrongState(f"no version of {rule} is quarantined, and nothing else can be restored: {told}")
    return (withheld or active)[0]
