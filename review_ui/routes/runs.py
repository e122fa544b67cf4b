"""Runs and their progress. A running run's page reloads itself; nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response
from sqlmodel import Session

from review_ui import links
from review_ui.access import Viewer, ViewerDep
from review_ui.errors import NotFound
from review_ui.paging import SIZE, offset_of, paged
from review_ui.site import SiteDep
from review_ui.views.choices import FIRST as FIRST_CHOICES
from review_ui.views.choices import choice_view
from review_ui.views.findings import FIRST as FIRST_FINDINGS
from review_ui.views.findings import KINDS, Drafts, SectionView, section_view
from review_ui.views.runs import run_row, run_view
from storage.queries import choices, pages, pages_runs
from storage.queries.rechecks import rechecks_of_run
from storage.tables import Inference, Run

router = APIRouter()


@router.get("/runs")
def show_runs(site: SiteDep, who: ViewerDep, namespace: str = "", page: Annotated[int, Query(ge=1)] = 1) -> Response:
    """Runs of the viewer's namespaces, the latest first."""
    with site.database.read() as session:
        found = pages_runs.runs_page(
            session, who.namespaces, namespace=namespace or None, offset=offset_of(page), limit=SIZE + 1
        )
        counts = pages_runs.step_counts(session, [run.id for run in found])
        namespaces = pages.visible_namespaces(session, who.namespaces)
    now = site.clock()
    rows, pager = paged("/runs", page, [run_row(run, counts[run.id], now) for run in found], namespace=namespace)
    return site.page(
        "runs.html",
        who=who,
        active="runs",
        rows=rows,
        pager=pager,
        namespaces=namespaces,
        chosen={"namespace": namespace},
        live=any(row.state == "running" for row in rows),
    )


@router.get("/runs/{run_id}")
def show_run(site: SiteDep, who: ViewerDep, run_id: str) -> Response:
    """A run: stages, problems, what was found and not found, how its clusters were taken up."""
    with site.database.read() as session:
        run = _run(session, who, run_id)
        shown = choices.choices_shown(session, run.namespace, run_id, limit=FIRST_CHOICES)
        view = run_view(
            run,
            pages_runs.steps_of_run(session, run_id),
            pages_runs.episodes_of_run(session, run_id),
            _sections(session, run),
            [choice_view(*one) for one in shown],
            choices.count_choices(session, run.namespace, run_id),
            rechecks_of_run(session, run.namespace, run_id),
            pages_runs.candidates_of_run(session, run.namespace, run_id),
            site.clock(),
        )
    return site.page("run.html", who=who, active="runs", view=view)


@router.get("/runs/{run_id}/findings/{name}")
def show_findings(
    site: SiteDep, who: ViewerDep, run_id: str, name: str, page: Annotated[int, Query(ge=1)] = 1
) -> Response:
    """Everything that a run concluded of one kind, fifty a page."""
    with site.database.read() as session:
        run = _run(session, who, run_id)
        if name not in KINDS:
            raise NotFound("A run concludes nothing of that kind.", "Go back to the run.")
        found = pages_runs.findings_of_run(
            session, run.namespace, run_id, KINDS[name].verdicts, offset=offset_of(page), limit=SIZE + 1
        )
        rows, pager = paged(links.findings(run_id, name), page, found)
        section = section_view(
            run_id, name, pages_runs.verdicts_of_run(session, run.namespace, run_id), rows, _drafts(session, run, rows)
        )
        row = run_row(run, pages_runs.step_counts(session, [run_id])[run_id], site.clock())
    return site.page("run_findings.html", who=who, active="runs", row=row, section=section, pager=pager)


@router.get("/runs/{run_id}/choices")
def show_choices(site: SiteDep, who: ViewerDep, run_id: str, page: Annotated[int, Query(ge=1)] = 1) -> Response:
    """How a run took up each of its clusters, fifty a page."""
    with site.database.read() as session:
        run = _run(session, who, run_id)
        shown = choices.choices_shown(session, run.namespace, run_id, offset=offset_of(page), limit=SIZE + 1)
        rows, pager = paged(links.choices(run_id), page, [choice_view(*one) for one in shown])
        row = run_row(run, pages_runs.step_counts(session, [run_id])[run_id], site.clock())
    return site.page("run_choices.html", who=who, active="runs", row=row, choices=rows, pager=pager)


def _run(session: Session, who: Viewer, run_id: str) -> Run:
    run = pages_runs.run_by_id(session, who.namespaces, run_id)
    if run is None:
        raise NotFound("There is no such run in the namespaces you review.", "Go back to the list of runs.")
    return run


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
