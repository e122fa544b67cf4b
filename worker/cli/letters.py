"""What was refused at the door: the list, and another try."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from storage.queries import episodes as queries
from storage.tables import DeadLetter
from worker.cli.output import DONE, FAILED, JsonFlag, NamespaceOption, finish, print_json, print_table, say, when
from worker.cli.progress import IngestProgress
from worker.cli.store import Store, known_namespace, open_store, operator

if TYPE_CHECKING:
    from worker.retry import RetryReport, Told

SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("rejected")(rejected)


def rejected(
    namespace: NamespaceOption,
    everything: Annotated[bool, typer.Option("--all", help="Those that were resolved as well.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="How many, newest first.")] = 50,
    json: JsonFlag = False,
) -> None:
    """List what was refused at the door, whether a file or a request brought it. Try again: ingest --retry-rejected.

    Examples:
      slowwave rejected --namespace acme/support
      slowwave rejected -n acme/support --all --limit 1000 --json
    """
    with open_store() as store:
        known_namespace(store, namespace)
        with store.database.read() as session:
            found = queries.dead_letters(session, namespace, unresolved=not everything, limit=limit)
            total = queries.count_letters(session, namespace, unresolved=not everything)
    if json:
        print_json([letter_entry(each) for each in found])
        return
    rows = [(each.file, each.line, each.reason, when(each.at), each.attempts, _became(each)) for each in found]
    columns = ("file", "line", "reason", "first refused", "attempts", "what became of it")
    print_table(f"rejected in {namespace}", columns, rows, f"Nothing that was refused in {namespace} waits.")
    if total > len(found):
        say(f"… and {total - len(found)} more: --limit {total} lists all of them")


def letter_entry(letter: DeadLetter) -> dict[str, Any]:
    """The documented JSON shape of one refused record. Its bytes stay in the store."""
    return {
        "id": letter.id,
        "file": letter.file,
        "line": letter.line,
        "reason": letter.reason,
        "importer": letter.importer,
        "by": letter.principal,
        "at": letter.at.isoformat(),
        "attempts": letter.attempts,
        "tried_at": letter.tried_at.isoformat(),
        "resolved_at": letter.resolved_at.isoformat() if letter.resolved_at else None,
        "resolution": letter.resolution,
        "bytes_kept": len(letter.data) if letter.data is not None else None,
    }


def retry(namespace: str, *, json: bool) -> None:
    """``slowwave ingest --retry-rejected``."""
    with open_store() as store:
        known_namespace(store, namespace)
        report = _retried(store, namespace)
    if json:
        print_json(report.as_dict())
    else:
        _tell(report, namespace)
    finish(FAILED if report.still_refused or report.nothing_to_retry_from else DONE)


def _retried(store: Store, namespace: str) -> RetryReport:
    from worker.retry import Retry

    with IngestProgress(["-"]) as progress:
        retry = Retry(
            store.database, namespace, operator(), store.secret, lambda: store.now,
            progress=progress.batch, opened=progress.opened,
        )  # fmt: skip
        return retry.run()


def _tell(report: RetryReport, namespace: str) -> None:
    if not report.retried and not report.nothing_to_retry_from:
        say(f"Nothing that was refused in {namespace} waits.")
        return
    say(
        f"{report.retried} retried: {report.taken} taken, {len(report.still_refused)} still refused; "
        f"{len(report.nothing_to_retry_from)} with nothing to retry from"
    )
    _table("still refused", report.still_refused)
    _table("nothing to retry from", report.nothing_to_retry_from)


def _table(title: str, told: list[Told]) -> None:
    if told:
        rows = [(each.file, each.line, each.reason, each.attempts) for each in told[:SHOWN]]
        print_table(title, ("file", "line", "reason", "attempts"), rows, "")
    if len(told) > SHOWN:
        say(f"… and {len(told) - SHOWN} more: --json lists all of them")


def _became(letter: DeadLetter) -> str:
    if letter.resolved_at is None:
        return "waits"
    return f"{letter.resolution or 'resolved'} {when(letter.resolved_at)}"
