"""Commands that take episodes in."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Annotated

import typer

from tasks.ingest.importers.base import Importer
from tasks.ingest.importers.registry import AUTO, importers, unusable
from tasks.ingest.step import IngestReport, IngestStopped, StopAsked, ingest_paths
from worker.cli import following, letters
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
    line,
    note,
    place_of,
    print_json,
    print_paragraphs,
    print_table,
    say,
)
from worker.cli.progress import IngestProgress
from worker.cli.stopping import StopSwitch
from worker.cli.store import Store, open_store, operator

SHOWN_REJECTS = 20
BUILT_IN = "tasks.ingest.importers."
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

    Exit codes: 0 done, 1 done with something rejected, 2 wrong usage, 130 stopped.

    Examples:
      slowwave ingest runs/*.jsonl.gz --namespace acme/support
      cat run.json | slowwave ingest - -n acme/support --format canonical
      slowwave ingest --follow ~/.claude/projects -n acme/coding
      slowwave ingest --follow /mnt/runs --once -n acme/support --json
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
    taken = f"{counted(report.accepted, 'episode')} taken into [bold]{namespace}[/bold]"
    say(f"{taken}, {known}, {len(report.rejected)} rejected")
    if report.joined:
        say(f"{counted(report.joined, 'file is', 'files are')} part of these")
    if not report.rejected:
        return
    rows = [(place_of(each.file, each.line), each.reason) for each in report.rejected[:SHOWN_REJECTS]]
    print_paragraphs("rejected", rows, "")
    if len(report.rejected) > SHOWN_REJECTS:
        say(f"… and {len(report.rejected) - SHOWN_REJECTS} more: --json lists all of them")
    say(letters.what_next(namespace))


def formats(json: JsonFlag = False) -> None:
    """List the formats that ingest reads: the built-in ones, and those of installed plug-ins.

    Examples:
      slowwave formats
      slowwave formats --json
    """
    known = [
        {"name": name, "version": each.version, "origin": _origin(each), "about": str(each.about)}
        for name, each in importers().items()
    ]
    for name, why in unusable().items():
        errors().print(line(f"installed, and not usable: {name}: {why}"), markup=False)
    if json:
        print_json(known)
        return
    print_table("formats", ("name", "version", "origin", "about"), [tuple(each.values()) for each in known], "none")


def _origin(importer: Importer) -> str:
    return "built-in" if type(importer).__module__.startswith(BUILT_IN) else "plug-in"
