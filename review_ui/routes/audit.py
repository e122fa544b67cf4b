"""The audit log: search, export, and the check of its chain."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response, StreamingResponse
from sqlmodel import Session

from review_ui.access import CheckedViewer, Viewer, ViewerDep
from review_ui.document import LINES, only
from review_ui.errors import NotYours
from review_ui.links import with_query
from review_ui.paging import SIZE, edged
from review_ui.reader import zone
from review_ui.site import Site, SiteDep
from review_ui.text import span_words
from review_ui.views.audit import Report, audit_line, audit_row, day_start, why_words
from review_ui.views.listing import Box, Listing, Nothing, Select, values
from review_ui.words import _
from storage.audit import verify
from storage.queries import pages
from storage.queries.pages_audit import Wanted, audit_actions, audit_export, audit_page
from storage.queries.people import user_named
from storage.queries.sessions import user_names
from storage.tables import AuditEntry

router = APIRouter()
MOST_EXPORTED = 100_000
BATCH = 1000
FAR = 2**63 - 1


@dataclass(frozen=True)
class Asked:
    """The filters of the page, as they were typed."""

    namespace: str = ""
    actor: str = ""
    action: str = ""
    target: str = ""
    text: str = ""
    since: str = ""
    until: str = ""


def asked(
    namespace: str = "",
    actor: str = "",
    action: str = "",
    target: str = "",
    text: str = "",
    since: str = "",
    until: str = "",
) -> Asked:
    """The filters of a request."""
    return Asked(namespace, actor.strip(), action, target.strip(), text.strip(), since.strip(), until.strip())


AskedDep = Annotated[Asked, Depends(asked)]
Edge = Annotated[int | None, Query(ge=0, le=FAR)]


@router.get("/audit")
def show_audit(site: SiteDep, who: ViewerDep, wanted: AskedDep, older: Edge = None, newer: Edge = None) -> Response:
    """Acts in the viewer's namespaces, the latest first."""
    return _page(site, who, wanted, older=older, newer=newer)


@router.get("/audit/export", response_class=StreamingResponse, responses=only(LINES))
def export_audit(site: SiteDep, who: ViewerDep, wanted: AskedDep) -> Response:
    """What the page shows with these filters, whole, as lines of JSON; past the most, a last line says so."""
    name = f"audit-{site.clock():%Y%m%d-%H%M%S}.jsonl"
    with site.database.read() as session:
        search = _search(session, wanted)
    return StreamingResponse(
        _lines(site, who, search),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@router.post("/audit/verify")
def verify_audit(site: SiteDep, who: CheckedViewer) -> Response:
    """Walk the whole chain. It spans every namespace, so it takes somebody who sees them all."""
    if not who.sees_all:
        raise NotYours(
            _("The chain spans every namespace, and your account sees some of them."),
            _("Ask someone without that limit, or run: {command}").format(command="slowwave audit verify"),
        )
    began = time.perf_counter()
    with site.database.read() as session:
        found = verify(session)
    took = span_words(time.perf_counter() - began)
    report = Report(found.ok, found.entries, found.broken_at, why_words(found), found.head, took)
    return _page(site, who, Asked(), report=report)


def _page(
    site: Site,
    who: Viewer,
    wanted: Asked,
    *,
    older: int | None = None,
    newer: int | None = None,
    report: Report | None = None,
) -> Response:
    with site.database.read() as session:
        search = _search(session, wanted)
        found = audit_page(session, who.namespaces, search, older=older, newer=newer, limit=SIZE + 1)
        names = _names(session, found)
        namespaces = pages.visible_namespaces(session, who.namespaces)
        actions = audit_actions(session)
    given: dict[str, Any] = {key: value for key, value in vars(wanted).items() if value}
    rows, pager = edged(
        "/audit",
        found,
        lambda entry: str(entry.seq),
        older="" if older is None else str(older),
        newer="" if newer is None else str(newer),
        **given,
    )
    listing = Listing(
        title=_("Audit"),
        lead=_("Every act, append-only, each entry hashed over the one before."),
        path="/audit",
        row="_audit_row.html",
        rows=[audit_row(entry, names) for entry in rows],
        pager=pager,
        empty=Nothing(
            _("No act matches"),
            _("Nothing in the log is like this in the namespaces you see."),
            "/audit",
            _("Show all"),
        ),
        filters=_filters(wanted, namespaces, actions),
        head=[_("When"), _("Who"), _("Act"), _("Namespace"), _("Target"), _("Entry")],
        above="_audit_tools.html",
        extra={
            "report": report,
            "export": with_query("/audit/export", **given),
            "most": f"{MOST_EXPORTED:,}",
            "wrong_day": _wrong_day(wanted),
        },
    )
    return site.page("list.html", who=who, active="audit", list=listing)


def _filters(wanted: Asked, namespaces: Sequence[str], actions: Sequence[str]) -> list[Select | Box]:
    exact = [Box("target", _("Target"), wanted.target)] if wanted.target else []
    return [
        Select("namespace", _("Namespace"), values(namespaces), wanted.namespace, _("all")),
        Box("actor", _("Who"), wanted.actor),
        Select("action", _("Act"), values(actions), wanted.action, _("all")),
        *exact,
        Box("text", _("Text in the target"), wanted.text),
        Box("since", _("From day"), wanted.since, "date"),
        Box("until", _("To day"), wanted.until, "date"),
    ]


def _search(session: Session, wanted: Asked) -> Wanted:
    """The search that the filters ask for. A name is a person's, an operator's, or an actor as the log writes it."""
    actors: list[str] = []
    if wanted.actor:
        person = user_named(session, wanted.actor)
        actors = [wanted.actor, f"operator:{wanted.actor}", *([f"user:{person.id}"] if person else [])]
    return Wanted(
        namespace=wanted.namespace,
        actors=tuple(actors),
        action=wanted.action,
        target=wanted.target,
        text=wanted.text,
        since=day_start(wanted.since, zone()),
        until=day_start(wanted.until, zone(), after=True),
    )


def _wrong_day(wanted: Asked) -> str:
    for day in (wanted.since, wanted.until):
        if day and day_start(day, zone()) is None:
            return _("{text} is no day: write it as 2026-11-30. The list is as if it were not there.").format(text=day)
    return ""


def _names(session: Session, found: Sequence[AuditEntry]) -> dict[str, str]:
    people = {ref.removeprefix("user:") for entry in found for ref in (entry.actor, entry.target)}
    return user_names(session, sorted(people))


def _lines(site: Site, who: Viewer, search: Wanted) -> Iterator[str]:
    """The export, a batch at a time: none of it is held back for the rest."""
    with site.database.read() as session:
        batch: list[AuditEntry] = []
        written = 0
        for entry in audit_export(session, who.namespaces, search, most=MOST_EXPORTED + 1, batch=BATCH):
            batch.append(entry)
            if len(batch) == BATCH:
                yield from _batch(session, batch[: MOST_EXPORTED - written])
                written += len(batch)
                batch.clear()
                session.expunge_all()
        yield from _batch(session, batch[: max(MOST_EXPORTED - written, 0)])
        if written + len(batch) > MOST_EXPORTED:
            cut = _("There are more: narrow the search by day and export the rest.")
            yield json.dumps({"cut_off_after": MOST_EXPORTED, "what_now": cut}) + "\n"


def _batch(session: Session, entries: Sequence[AuditEntry]) -> Iterator[str]:
    names = _names(session, entries)
    yield "".join(audit_line(entry, names) for entry in entries)
