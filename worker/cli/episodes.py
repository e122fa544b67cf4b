"""Commands that take episodes in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tasks.ingest.importers.registry import AUTO, importers
from worker.cli.output import (
    DONE,
    FAILED,
    JsonFlag,
    NamespaceOption,
    errors,
    finish,
    print_json,
    print_table,
    say,
    visible,
)
from worker.cli.store import Store, open_store, operator

if TYPE_CHECKING:
    from tasks.ingest.step import IngestReport

SHOWN_REJECTS = 20


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("ingest")(ingest)
    app.command("formats")(formats)


def ingest(
    paths: Annotated[list[str], typer.Argument(help="Files, folders or globs; - reads standard input.")],
    namespace: NamespaceOption,
    format_name: Annotated[str, typer.Option("--format", help="Importer; see: slowwave formats.")] = AUTO,
    json: JsonFlag = False,
) -> None:
    """Take recorded episodes in. Doing it again is harmless: what is known is counted as a duplicate.

    Examples:
      slowwave ingest runs/*.jsonl.gz --namespace acme/support
      cat run.json | slowwave ingest - -n acme/support --format canonical
    """
    with open_store() as store:
        report = take_in(store, paths, namespace, format_name)
    if json:
        print_json(report.as_dict())
    else:
        _tell(report, namespace)
    finish(FAILED if report.rejected else DONE)


def take_in(
    store: Store, paths: list[str], namespace: str, format_name: str = AUTO, *, scope: str | None = None
) -> IngestReport:
    """Ingest with progress on standard error."""
    from tasks.ingest.step import ingest_paths

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=errors(), transient=True, disable=not errors().is_terminal) as progress:
        bar = progress.add_task("reading", total=None)

        def show(report: IngestReport, source: str) -> None:
            progress.update(bar, description=f"{report.seen} records, now {visible(source)}")

        return ingest_paths(
            store.database,
            paths,
            namespace,
            importer=format_name,
            principal=operator(),
            now=store.now,
            secret=store.secret,
            progress=show,
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
