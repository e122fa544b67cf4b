"""Runs: the list, one with how far it is and what came of it, two side by side, and all that one found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response
from sqlmodel import Session

from review_ui import links
from review_ui.access import Viewer, ViewerDep
from review_ui.errors import NotFound
from review_ui.paging import SIZE, offset_of, paged
from review_ui.routes import run_events
from review_ui.site import SiteDep
from review_ui.views.choices import FIRST as FIRST_CHOICES
from review_ui.views.choices import choice_view
from review_ui.views.compare import Comparison, Night, compare
from review_ui.views.findings import FIRST as FIRST_FINDINGS
from review_ui.views.findings import KINDS, Drafts, SectionView, section_view
from review_ui.views.listing import Listing, Nothing, Select, values
from review_ui.views.names import RUN_STATES, options
from review_ui.views.outcome import Behind, ids_told, result_of
from review_ui.views.runs import RUN_KINDS, Found, name_of, no_such_run, run_row, run_view
from review_ui.views.stages import seconds_by_stage
from review_ui.words import _, ngettext
from storage.queries import choices, pages, pages_runs
from storage.queries.candidates import candidates_by_ids
from storage.queries.rechecks import rechecks_of_run
from storage.queries.sessions import user_names
from storage.tables import Inference, Run, RunStep

router = APIRouter()
router.include_router(run_events.router)


@router.get("/runs")
def show_runs(
    site: SiteDep,
    who: ViewerDep,
    namespace: str = "",
    state: str = "",
    kind: str = "",
    page: Annotated[int, Query(ge=1)] = 1,
) -> Response:
    """Runs of the viewer's namespaces, the latest first."""
    state, kind = state if state in RUN_STATES else "", kind if kind in RUN_KINDS else ""
    with site.database.read() as session:
        found = pages_runs.runs_page(
            session,
            who.namespaces,
            namespace=namespace or None,
            state=state or None,
            kind=kind or None,
            offset=offset_of(page),
            limit=SIZE + 1,
        )
        counts = pages_runs.step_counts(session, [run.id for run in found])
        namespaces = pages.visible_namespaces(session, who.namespaces)
    now = site.clock()
    rows = [run_row(run, counts[run.id], now) for run in found]
    shown, pager = paged("/runs", page, rows, namespace=namespace, state=state, kind=kind)
    filtered = bool(namespace or state or kind)
    listing = Listing(
        title=_("Runs"),
        lead=_("One night of one namespace each, and the repairs after a revocation."),
        path="/runs",
        row="_run_row.html",
        rows=shown,
        pager=pager,
        empty=Nothing(_("No run with this filter"), _("Other filters may show more."), "/runs", _("Show all runs"))
        if filtered
        else Nothing("", ""),
        filters=(
            Select("namespace", _("Namespace"), values(namespaces), namespace, _("all")),
            Select("state", _("State"), options(RUN_STATES), state, _("all")),
            Select("kind", _("Kind"), options(RUN_KINDS), kind, _("all")),
        ),
        below="" if rows or filtered else "_how_it_flows.html",
        live=any(row.state == "running" for row in shown),
    )
    return site.page("list.html", who=who, active="runs", list=listing)


@router.get("/runs/{run_id}")
def show_run(
    site: SiteDep,
    who: ViewerDep,
    run_id: str,
    against: str = "",
    told: Annotated[str, Query(max_length=100)] = "",
    hx_request: Annotated[str, Header(max_length=10)] = "",
) -> Response:
    """A run: stages, problems, what was found and not found, what came of it; or beside another run.

    A page that is open asks for what changes while the run is under way; it has the rest already.
    """
    again = hx_request == "true"
    with site.database.read() as session:
        run = _run(session, who, run_id)
        found = _under_way(session, run) if again and run.state == "running" else _whole(session, who, run, against)
    view = run_view(found, site.clock(), again=again, told=told)
    return site.page("run.html", who=who, active="runs", view=view)


@router.get("/runs/{run_id}/findings/{name}")
def show_findings(
    site: SiteDep, who: ViewerDep, run_id: str, name: str, page: Annotated[int, Query(ge=1)] = 1
) -> Response:
    """Everything that a run concluded of one kind, fifty a page."""
    with site.database.read() as session:
        run = _run(session, who, run_id)
        if name not in KINDS:
            raise NotFound(_("A run concludes nothing of that kind."), _("Go back to the run."))
        found = pages_runs.findings_of_run(
            session, run.namespace, run_id, KINDS[name].verdicts, offset=offset_of(page), limit=SIZE + 1
        )
        rows, pager = paged(links.findings(run_id, name), page, found)
        section = section_view(
            run_id, name, pages_runs.verdicts_of_run(session, run.namespace, run_id), rows, _drafts(session, run, rows)
        )
    listing = Listing(
        title=section.heading,
        lead=section.meaning,
        path=links.findings(run_id, name),
        row="_finding.html",
        rows=section.shown,
        pager=pager,
        empty=_nothing(run),
        crumbs=_crumbs(run),
    )
    return site.page("list.html", who=who, active="runs", list=listing)


@router.get("/runs/{run_id}/choices")
def show_choices(site: SiteDep, who: ViewerDep, run_id: str, page: Annotated[int, Query(ge=1)] = 1) -> Response:
    """How a run took up each of its clusters, fifty a page."""
    with site.database.read() as session:
        run = _run(session, who, run_id)
        shown = choices.choices_shown(session, run.namespace, run_id, offset=offset_of(page), limit=SIZE + 1)
        total = choices.count_choices(session, run.namespace, run_id)
    rows, pager = paged(links.choices(run_id), page, [choice_view(*one) for one in shown])
    listing = Listing(
        title=_("How each cluster was taken up"),
        lead=ngettext("{n} cluster.", "{n} clusters.", total).format(n=total),
        path=links.choices(run_id),
        row="_choice.html",
        rows=rows,
        pager=pager,
        empty=_nothing(run),
        crumbs=_crumbs(run),
    )
    return site.page("list.html", who=who, active="runs", list=listing)


def _crumbs(run: Run) -> list[tuple[str, str]]:
    return [("/runs", _("Runs")), (links.run(run.id), name_of(run))]


def _nothing(run: Run) -> Nothing:
    return Nothing(_("There is nothing here."), _("The run has nothing of this kind."), links.run(run.id), _("Back"))


def _run(session: Session, who: Viewer, run_id: str) -> Run:
    run = pages_runs.run_by_id(session, who.namespaces, run_id)
    if run is None:
        raise no_such_run()
    return run


def _under_way(session: Session, run: Run) -> Found:
    return Found(run, pages_runs.steps_of_run(session, run.id), pages_runs.episodes_of_run(session, run.id))


def _whole(session: Session, who: Viewer, run: Run, against: str) -> Found:
    steps = pages_runs.steps_of_run(session, run.id)
    others, asker = pages_runs.runs_beside(session, run), _asker(session, run)
    if against:
        comparison = _compared(session, who, run, steps, against)
        return Found(run, steps, others=others, other=against, comparison=comparison, asker=asker)
    shown = choices.choices_shown(session, run.namespace, run.id, limit=FIRST_CHOICES)
    return Found(
        run,
        steps,
        episodes=pages_runs.episodes_of_run(session, run.id),
        sections=_sections(session, run),
        choices=[choice_view(*one) for one in shown],
        choices_total=choices.count_choices(session, run.namespace, run.id),
        rechecks=rechecks_of_run(session, run.namespace, run.id),
        behind=_behind(session, run, steps),
        conflicts=pages_runs.conflicts_of_run(session, run.namespace, run.id),
        others=others,
        other=pages_runs.run_before(session, run) or (others[0].id if others else ""),
        asker=asker,
    )


def _asker(session: Session, run: Run) -> str:
    user_id = run.requested_by.removeprefix("user:")
    return user_names(session, [user_id]).get(user_id, "") if user_id != run.requested_by else ""


def _behind(session: Session, run: Run, steps: Sequence[RunStep]) -> Behind:
    """What names the candidates that the run told of."""
    ids = {one for each in ids_told(steps).values() for one in each}
    known = candidates_by_ids(session, run.namespace, ids) if ids else {}
    lost = ids - set(known)
    words = pages_runs.drafted_words(session, run.namespace, run.id, lost) if lost else {}
    return Behind(pages_runs.written_by_run(session, run.namespace, run.id), known, words)


def _compared(session: Session, who: Viewer, run: Run, steps: Sequence[RunStep], against: str) -> Comparison:
    other = pages_runs.run_by_id(session, who.namespaces, against)
    if other is None or other.namespace != run.namespace or other.id == run.id:
        what = _("There is no such other run in this namespace to compare with.")
        raise NotFound(what, _("Go back to the run and choose one."))
    this = _night(session, run, steps)
    that = _night(session, other, pages_runs.steps_of_run(session, other.id))
    before, after = (that, this) if other.id < run.id else (this, that)
    return compare(run.namespace, before, after)


def _night(session: Session, run: Run, steps: Sequence[RunStep]) -> Night:
    behind, told = _behind(session, run, steps), ids_told(steps)
    draft = result_of(steps, "draft")
    return Night(
        name=name_of(run),
        link=links.run(run.id),
        episodes=pages_runs.episodes_of_run(session, run.id),
        stages=seconds_by_stage(steps),
        findings=pages_runs.figures_of_run(session, run.namespace, run.id),
        families=frozenset(step.shard for step in steps if step.stage == "contrast" and step.state == "done"),
        written=behind.written,
        withdrawn=[(one, behind.candidates[one].title) for one in told["voided"] if one in behind.candidates],
        spent={name: float(draft.get(f"model_{name}") or 0) for name in ("calls", "tokens", "seconds")},
    )


def _sections(session: Session, run: Run) -> list[SectionView]:
    """The kinds of conclusion that the run has, the first few of each."""
    verdicts = pages_runs.verdicts_of_run(session, run.namespace, run.id)
    made = []
    for name, kind in KINDS.items():
        found = pages_runs.findings_of_run(session, run.namespace, run.id, kind.verdicts, limit=FIRST_FINDINGS)
        made.append(section_view(run.id, name, verdicts, found, _drafts(session, run, found)))
    return [section for section in made if section.total]


def _drafts(session: Session, run: Run, found: Sequence[Inference]) -> Drafts:
    """What was made of those that may be drafted."""
    confirmed = [one.id for one in found if one.verdict == "confirmed"]
    return pages_runs.drafts_of_findings(session, run.namespace, confirmed) if confirmed else {}
