"""What was refused at the door: the list, and another try."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from storage import audit, letters
from storage.queries import episodes as queries
from storage.tables import DeadLetter
from tasks.ingest.reader import shown
from worker.cli.output import (
    DONE,
    FAILED,
    JsonFlag,
    NamespaceOption,
    counted,
    finish,
    place_of,
    print_json,
    print_paragraphs,
    say,
    visible,
    when,
)
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
    dismiss: Annotated[
        str | None, typer.Option(help="Stop waiting for all that this file had refused, or this id; needs --reason.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why it is dismissed; kept with it.")] = None,
    json: JsonFlag = False,
) -> None:
    """List what was refused at the door, whether a file or a request brought it. Try again: ingest --retry-rejected.

    Examples:
      slowwave rejected --namespace acme/support
      slowwave rejected -n acme/support --all --limit 1000 --json
      slowwave rejected -n acme/lab --dismiss NOTES.md --reason "no episode"
    """
    if dismiss is not None and not (reason or "").strip():
        raise typer.BadParameter("say why: --reason TEXT", param_hint="--dismiss")
    with open_store() as store:
        known_namespace(store, namespace)
        if dismiss is not None:
            _dismiss(store, namespace, dismiss, str(reason))
        with store.database.read() as session:
            found = queries.dead_letters(session, namespace, unresolved=not everything, limit=limit)
            total = queries.count_letters(session, namespace, unresolved=not everything)
    if json:
        print_json([letter_entry(each) for each in found])
        return
    told = [(place_of(each.file, each.line), each.reason, _history(each)) for each in found]
    print_paragraphs(f"rejected in {namespace}", told, f"Nothing that was refused in {namespace} waits.")
    if total > len(found):
        say(f"… and {total - len(found)} more: --limit {total} lists all of them")


def _dismiss(store: Store, namespace: str, what: str, reason: str) -> None:
    """Resolve letters by hand, on record: by a letter's id, or by the file as it is listed or as it is reached."""
    names = {what, str(Path(what).absolute()), shown(Path(what))}
    with store.database.write() as session:
        ids = queries.letters_of(session, namespace, names)
        if not ids:
            raise typer.BadParameter(f"nothing waits under {visible(what)}", param_hint="--dismiss")
        letters.resolve(session, ids, now=store.now, resolution=f"dismissed: {reason}")
        audit.record(
            session, actor=operator(), action="rejects.dismissed", namespace=namespace, target=f"namespace:{namespace}",
            detail={"letters": len(ids)}, now=store.now,
        )  # fmt: skip


def what_next(namespace: str) -> str:
    """What a person does about rejected records."""
    return f"see: slowwave rejected -n {namespace}; mend, then slowwave ingest --retry-rejected -n {namespace}"


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
        shown = told[:SHOWN]
        rows = [(place_of(each.file, each.line), each.reason, counted(each.attempts, "attempt")) for each in shown]
        print_paragraphs(title, rows, "")
    if len(told) > SHOWN:
        say(f"… and {len(told) - SHOWN} more: --json lists all of them")


def _history(letter: DeadLetter) -> str:
    became = f"{letter.resolution or 'resolved'} {when(letter.resolved_at)}" if letter.resolved_at else "waits"
    return f"first refused {when(letter.at)} · {counted(letter.attempts, 'attempt')} · {became}"
