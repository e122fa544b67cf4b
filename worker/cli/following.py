"""``slowwave ingest --follow``, and what is remembered of the files it read."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import typer

from storage.queries import episodes as queries
from storage.tables import FollowedFile
from tasks.ingest.importers.registry import AUTO, importers, unknown_format
from tasks.ingest.namespace import check_namespace
from worker.cli.letters import what_next
from worker.cli.output import (
    DONE,
    FAILED,
    USAGE,
    CommandFailed,
    JsonFlag,
    NamespaceOption,
    counted,
    errors,
    finish,
    note,
    print_json,
    print_paragraphs,
    say,
    visible,
    when,
)
from worker.cli.stopping import StopSwitch
from worker.cli.store import Store, known_namespace, open_store, operator

if TYPE_CHECKING:
    from worker.following.loop import FileRead, Summary


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("followed")(followed)


def follow(
    paths: Sequence[str], namespace: str, format_name: str, *, settle: float, rescan: float, once: bool, json: bool
) -> None:
    """The loop behind ``slowwave ingest --follow`` until a signal ends it, or with ``once`` one look."""
    folders = _folders(paths)
    check_namespace(namespace)
    if format_name != AUTO and format_name not in importers():
        raise unknown_format(format_name)
    with open_store() as store, StopSwitch(signal.SIGINT, signal.SIGTERM) as switch:
        summary = _follow(store, folders, namespace, format_name, settle, rescan, once, json, switch)
    _sum_up(summary, namespace, json=json, stopped=switch.asked)
    went_wrong = bool(summary.rejected or summary.failing)
    finish(FAILED if once and went_wrong and not switch.asked else DONE)


def _follow(
    store: Store,
    folders: list[Path],
    namespace: str,
    format_name: str,
    settle: float,
    rescan: float,
    once: bool,
    json: bool,
    switch: StopSwitch,
) -> Summary:
    from worker.following.loop import Follower
    from worker.following.wake import LEAST_PAUSE, Waiter

    with Waiter(folders, _note, switch.is_on, min(LEAST_PAUSE, settle)) as waiter:
        follower = Follower(
            database=store.database,
            namespace=namespace,
            folders=folders,
            principal=operator(),
            secret=store.secret,
            clock=lambda: store.now,
            wait=waiter,
            tell=_tell_json if json else _tell,
            note=_note,
            should_stop=switch.is_on,
            settle=settle,
            rescan=rescan,
            format=format_name,
            leave_out=store.settings.home.resolve(),
        )
        if not once:
            _note(f"Following {', '.join(map(str, folders))} into {namespace}; Ctrl-C ends it.")
        return follower.run(once=once)


def _folders(paths: Sequence[str]) -> list[Path]:
    """The folders to follow.

    Raises:
        CommandFailed: for what is no folder; one that is not there yet may come.
    """
    folders = [Path(path).expanduser().absolute() for path in paths]
    wrong = [path for path in folders if path.exists() and not path.is_dir()]
    if wrong:
        raise CommandFailed(f"{wrong[0]} is no folder.", "--follow takes folders; name the one it is in.", USAGE)
    if not any(path.exists() for path in folders):
        missing = ", ".join(map(str, folders))
        raise CommandFailed(f"There is no folder {missing}.", "Make it, or check its spelling.", USAGE)
    return folders


def _tell(read: FileRead) -> None:
    if read.error is not None:
        return  # it was noted
    report = read.report
    belong = "file that belongs" if len(read.parts) == 1 else "files that belong"
    joined = f", with {len(read.parts)} {belong} to it" if read.parts else ""
    say(
        f"{visible(read.file)}: {report.accepted} taken, {report.duplicates} known, {report.revised} revised, "
        f"{len(report.rejected)} rejected{joined}"
    )


def _tell_json(read: FileRead) -> None:
    sys.stdout.buffer.write(orjson.dumps(read.as_dict()) + b"\n")
    sys.stdout.buffer.flush()


def _note(text: str) -> None:
    errors().print(visible(text), markup=False)


def _sum_up(summary: Summary, namespace: str, *, json: bool, stopped: bool) -> None:
    """What it came to, on standard error where standard output is a program's."""
    told = note if json else say
    end = "Stopped. " if stopped else ""
    told(
        f"{end}{counted(summary.files, 'file')} read into {namespace}: {counted(summary.accepted, 'episode')} taken, "
        f"{summary.duplicates} known before, {summary.revised} revised, {summary.rejected} rejected"
    )
    if summary.growing:
        told(f"{counted(summary.growing, 'file is', 'files are')} not finished yet: changed a moment ago")
    if summary.rejected:
        told(what_next(namespace))
    for path, why in sorted(summary.failing.items()):
        _note(f"not read: {path}: {why}")


def followed(namespace: NamespaceOption, json: JsonFlag = False) -> None:
    """List the files that ingest --follow read, and those that it could not read and keeps trying.

    Example:
      slowwave followed --namespace acme/support
    """
    with open_store() as store:
        known_namespace(store, namespace)
        with store.database.read() as session:
            found = sorted(queries.followed(session, namespace), key=lambda row: (row.state != "failed", row.path))
    if json:
        print_json([_entry(row) for row in found])
        return
    told = [(row.path, " · ".join(filter(None, (row.state, when(row.at), _how(row))))) for row in found]
    print_paragraphs(f"followed into {namespace}", told, "No file was followed yet.")


def _entry(row: FollowedFile) -> dict[str, Any]:
    return {
        "file": row.path, "state": row.state, "at": row.at.isoformat(), "size": row.size, "part_of": row.owner,
        "attempts": row.attempts, "error": row.error, "counts": row.counts,
    }  # fmt: skip


def _how(row: FollowedFile) -> str:
    if row.state == "failed":
        return f"{row.error} (tried {counted(row.attempts, 'time')})"
    if row.state == "joined":
        return f"read with {row.owner}"
    names = {"accepted": "taken", "duplicates": "known", "revised": "revised", "rejected": "rejected"}
    return ", ".join(f"{row.counts[key]} {name}" for key, name in names.items() if row.counts.get(key))
