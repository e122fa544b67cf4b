"""Commands that take episodes in."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Annotated

import typer

from tasks.ingest.importers.registry import AUTO, importers
from tasks.ingest.step import IngestReport, IngestStopped, StopAsked, ingest_paths
from worker.cli import following, letters
from worker.cli.output import (
    DONE,
    FAILED,
    USAGE,
    CommandFailed,
    JsonFlag,
    NamespaceOption,
    finish,
    note,
    print_json,
    print_table,
    say,
)
from worker.cli.progress import IngestProgress
from worker.cli.stopping import StopSwitch
from worker.cli.store import Store, open_store, operator

SHOWN_REJECTS = 20
STOPPED = 130


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("ingest")(ingest)
    app.command("formats")(formats)


def ingest(
    namespace: NamespaceOption,
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files, folders or globs; - reads standard input.", show_default=False)
    ] = None,
    format_name: Annotated[str, typer.Option("--format", help="Importer; see: slowwave formats.")] = AUTO,
    follow: Annotated[bool, typer.Option("--follow", help="Watch these folders; read what is finished.")] = False,
    once: Annotated[bool, typer.Option("--once", help="With --follow: read what is finished now, and end.")] = False,
    settle: Annotated[
        float, typer.Option(min=0, help="With --follow: seconds without a change after which a file is finished.")
    ] = 30.0,
    rescan: Annotated[
        float, typer.Option(min=0.1, help="With --follow: most seconds between two looks at the folders.")
    ] = 30.0,
    retry_rejected: Annotated[
        bool, typer.Option("--retry-rejected", help="Try again what was refused; see: slowwave rejected.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Take recorded episodes in. Doing it again is harmless: what is known is counted as a duplicate.

    With --follow --json, one JSON object a line for each file that was read.

    Examples:
      slowwave ingest runs/*.jsonl.gz --namespace acme/support
      cat run.json | slowwave ingest - -n acme/support --format canonical
      slowwave ingest --follow ~/.claude/projects -n acme/coding
      slowwave ingest --follow /mnt/runs --once --settle 60 -n acme/support --json >> taken.ndjson
      slowwave ingest --retry-rejected -n acme/support
    """
    _check_usage(paths or [], follow=follow, once=once, retry_rejected=retry_rejected)
    if retry_rejected:
        letters.retry(namespace, json=json)
    elif follow:
        following.follow(paths or [], namespace, format_name, settle=settle, rescan=rescan, once=once, json=json)
    else:
        _ingest(paths or [], namespace, format_name, json=json)


def _check_usage(paths: list[str], *, follow: bool, once: bool, retry_rejected: bool) -> None:
    wrong = ""
    if retry_rejected and (paths or follow):
        wrong = "--retry-rejected takes no paths and no --follow: it knows what was refused."
    elif once and not follow:
        wrong = "--once goes with --follow."
    elif not paths and not retry_rejected:
        wrong = "There is nothing to ingest: name files or folders, or - for standard input."
    if wrong:
        raise CommandFailed(wrong, "See: slowwave ingest --help", USAGE)


def _ingest(paths: list[str], namespace: str, format_name: str, *, json: bool) -> None:
    with open_store() as store, StopSwitch(signal.SIGINT, at_once="-" in paths) as switch:
        try:
            report, stopped = take_in(store, paths, namespace, format_name, should_stop=switch.is_on), False
        except IngestStopped as ended:
            report, stopped = ended.report, True
    if json:
        print_json({**report.as_dict(), "stopped": True} if stopped else report.as_dict())
    else:
        _tell(report, namespace)
    if stopped:
        note("Stopped. Running it again finishes it: what was taken is known by then.")
    finish(STOPPED if stopped else FAILED if report.rejected else DONE)


def take_in(
    store: Store,
    paths: list[str],
    namespace: str,
    format_name: str = AUTO,
    *,
    scope: str | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> IngestReport:
    """Ingest with progress on standard error.

    Raises:
        IngestStopped: after the batch during which ``should_stop`` came true, and on Ctrl-C.
    """
    with IngestProgress(paths) as progress:

        def watch(report: IngestReport, source: str) -> None:
            progress.batch(report, source)
            if should_stop():
                raise StopAsked

        return ingest_paths(
            store.database,
            paths,
            namespace,
            importer=format_name,
            principal=operator(),
            now=store.now,
            secret=store.secret,
            progress=watch,
            opened=progress.opened,
            scope=scope,
        )


def _tell(report: IngestReport, namespace: str) -> None:
    known = f"{report.duplicates} known before, {report.revised} revised"
    say(f"{report.accepted} episodes taken into [bold]{namespace}[/bold], {known}, {len(report.rejected)} rejected")
    if report.rejected:
        rows = [(each.file, each.line, each.reason) for each in report.rejected[:SHOWN_REJECTS]]
        print_table("rejected", ("file", "line", "reason"), rows, "")
        if len(report.rejected) > SHOWN_REJECTS:
            say(f"… and {len(report.rejected) - SHOWN_REJECTS} more: --json lists all of them")


def formats(json: JsonFlag = False) -> None:
    """List the formats that ``ingest`` reads. Others can be added as plug-ins."""
    known = importers()
    if json:
        print_json([{"name": name, "version": each.version} for name, each in known.items()])
        return
    print_table("formats", ("name", "version"), [(name, each.version) for name, each in known.items()], "none")
