"""The command that erases: episodes whose text has to go, for privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from storage.purging import compact as rewrite_files
from storage.queries import purging as queries
from storage.queries import runs
from storage.tables import Run
from worker.cli.nights import drive
from worker.cli.output import (
    DONE,
    FAILED,
    USAGE,
    CommandFailed,
    JsonFlag,
    NamespaceOption,
    counted,
    finish,
    print_json,
    say,
    visible,
    when,
)
from worker.cli.store import Store, known_namespace, open_store, operator

if TYPE_CHECKING:
    # Imported where they are used: SciPy comes along and takes a second that other commands need not wait for.
    from tasks.revoke.purge_step import PurgePlan, PurgeResult

SHOWN = 20
BY_SERVER = (
    "PostgreSQL keeps what was erased until its files are written anew: VACUUM FULL, CHECKPOINT, "
    "SELECT pg_switch_wal(), CHECKPOINT, and backups and archived logs by their own rules; see docs/privacy.md"
)


@dataclass
class Told:
    """What all lots of one purge came to."""

    results: list[PurgeResult] = field(default_factory=list)
    repairs: list[Run | None] = field(default_factory=list)

    def failed(self) -> bool:
        """Whether some text is still there."""
        return any(run is not None and run.state != "completed" for run in self.repairs)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("purge")(purge)


def purge(
    namespace: NamespaceOption,
    reason: Annotated[str, typer.Option("--reason", "-r", help="Why; kept as a keyed digest, not in words.")],
    episodes: Annotated[list[str] | None, typer.Argument(metavar="EPISODE_ID", help="The episodes.")] = None,
    session: Annotated[str | None, typer.Option("--session", help="Every episode of this session.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Every episode by this agent.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and do nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    compact: Annotated[
        bool, typer.Option("--compact/--no-compact", help="Write the SQLite file anew, so that no byte stays in it.")
    ] = True,
    json: JsonFlag = False,
) -> None:
    """Erase episodes for good: text, key, and every place that repeats it. What leans on them is withdrawn first.

    Every revision of a record goes with it. A tombstone stays: when, by whom, a digest of why.

    Examples:
      slowwave purge EPISODE_ID -n acme/support --reason "asked to" --dry-run
      slowwave purge -n acme/support --session s-901 --reason "asked to" --yes
      slowwave purge EPISODE_ID -n acme/support -r "asked to" --yes --json
    """
    if sum((bool(episodes), session is not None, agent is not None)) != 1:
        raise CommandFailed("Say which episodes: by id, or --session, or --agent.", "Exactly one of them.", USAGE)
    with open_store() as store:
        known_namespace(store, namespace)
        ids = _chosen(store, namespace, episodes, session, agent)
        plans = _plans(store, namespace, ids)
        if dry_run:
            _tell_plan(plans, json)
            return
        if not yes:
            _confirm(plans, json)
        told = _purged(store, namespace, ids, reason)
        is_compact = compact and rewrite_files(store.database)
        exports = _exports(store, namespace, plans)
    if json:
        print_json(_document(told, is_compact, exports))
    else:
        _tell(told, is_compact, store.database.dialect, exports)
    finish(FAILED if told.failed() else DONE)


def _chosen(
    store: Store, namespace: str, episodes: Sequence[str] | None, session_id: str | None, agent: str | None
) -> list[str]:
    if episodes:
        return sorted(set(episodes))
    with store.database.read() as session:
        found = queries.ids_of(session, namespace, session_id=session_id, agent=agent)
    if not found:
        which = f"of session {session_id}" if session_id is not None else f"by agent {agent}"
        now = "A tombstone names neither: what was purged before is not found so."
        raise CommandFailed(f"There is no episode {visible(which)} in {namespace}.", now)
    return found


def _lots(ids: Sequence[str]) -> list[Sequence[str]]:
    from tasks.revoke.purge_step import MOST

    return [ids[start : start + MOST] for start in range(0, len(ids), MOST)]


def _plans(store: Store, namespace: str, ids: Sequence[str]) -> list[PurgePlan]:
    from tasks.revoke.purge_step import EpisodeUnknown, plan

    try:
        return [plan(store.database, namespace, lot) for lot in _lots(ids)]
    except EpisodeUnknown as unknown:
        raise CommandFailed(f"{unknown}.", "", USAGE) from None


def _purged(store: Store, namespace: str, ids: Sequence[str], reason: str) -> Told:
    """Lot by lot: withdraw and mark, then erase, in this process."""
    from tasks.revoke.purge_step import purge as purge_step

    told = Told()
    for lot in _lots(ids):
        act: dict[str, Any] = {"actor": operator(), "now": store.now, "secret": store.secret}
        result = purge_step(store.database, namespace, lot, reason=reason, **act)
        told.results.append(result)
        told.repairs.append(_erased(store, result.run_id))
    return told


def _erased(store: Store, run_id: str | None) -> Run | None:
    if run_id is None:
        return None
    with store.database.read() as session:
        run = runs.run_by_id(session, run_id)
    return drive(store, run) if run is not None and run.state == "running" else run


def _exports(store: Store, namespace: str, plans: Sequence[PurgePlan]) -> list[str]:
    """Copies outside of what is withdrawn, which nobody but their owner can erase."""
    keys = {key for one in plans for key in (*one.expired, *one.quarantined)}
    with store.database.read() as session:
        found = queries.exports_holding(session, namespace, keys)
    return [f"export {row.target} of {when(row.at)} by {row.actor}" for row in found]


def _counts(plans: Sequence[PurgePlan]) -> dict[str, Any]:
    rows = [row for one in plans for row in one.rows]
    return {
        "episodes": [row.id for row in rows],
        "purged_before": sorted(row.id for row in rows if row.purged_at is not None),
        "expires": sorted({f"{rule}@{number}" for one in plans for rule, number in one.expired}),
        "quarantines": sorted({f"{rule}@{number}" for one in plans for rule, number in one.quarantined}),
        "recounts": sorted({f"{rule}@{number}" for one in plans for rule, number in one.recounted}),
    }


def _tell_plan(plans: Sequence[PurgePlan], json: bool) -> None:
    found = _counts(plans)
    if json:
        print_json(found)
        return
    for name, words in (
        ("episodes", "would be erased, other revisions of the same records among them"),
        ("purged_before", "of them were purged before"),
        ("expires", "would be withdrawn for good"),
        ("quarantines", "would be withdrawn until they were looked at"),
        ("recounts", "would be told with new figures"),
    ):
        shown = ", ".join(found[name][:SHOWN]) + (" …" if len(found[name]) > SHOWN else "")
        say(f"{len(found[name])} {words}" + (f": {visible(shown)}" if shown else ""))


def _confirm(plans: Sequence[PurgePlan], json: bool) -> None:
    if json:
        raise CommandFailed("Nobody can be asked with --json.", "Add --yes, or --dry-run to look first.", USAGE)
    _tell_plan(plans, json)
    typer.confirm("Erase them? Nothing brings them back.", abort=True)


def _document(told: Told, is_compact: bool, exports: Sequence[str]) -> dict[str, Any]:
    return {
        "episodes": [one for result in told.results for one in result.episodes],
        "changed": any(result.changed for result in told.results),
        "expired": [key for result in told.results for key in result.expired],
        "quarantined": [key for result in told.results for key in result.quarantined],
        "epochs": [result.epoch for result in told.results if result.epoch is not None],
        "repairs": [{"run_id": run.id, "state": run.state, "problems": run.problems} for run in told.repairs if run],
        "compacted": is_compact,
        "exports": list(exports),
    }


def _tell(told: Told, is_compact: bool, dialect: str, exports: Sequence[str]) -> None:
    found = _document(told, is_compact, exports)
    if not found["changed"] and not found["repairs"]:
        say("purged before: nothing is left to erase")
    else:
        withdrawn = len(found["expired"]) + len(found["quarantined"])
        say(f"purged {counted(len(found['episodes']), 'episode')}; {counted(withdrawn, 'version')} withdrawn")
    for repair in found["repairs"]:
        say(f"erasing is {repair['state']}: slowwave show {repair['run_id']}")
        for problem in repair["problems"]:
            say(f"    {visible(str(problem.get('error', '')))}")
    if dialect == "postgresql":
        say(BY_SERVER)
    elif not is_compact:
        say("the SQLite file may still hold what was erased: run it again with --compact")
    for export in exports[-SHOWN:]:
        say(f"a copy is outside: {visible(export)}")
