"""Runs and their progress. A running run's page reloads itself; nothing else does."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from review_ui.access import ViewerDep
from review_ui.errors import NotFound
from review_ui.paging import SIZE, offset_of, paged
from review_ui.site import SiteDep
from review_ui.views.runs import run_row, run_view
from storage.queries import pages, pages_runs

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
    """A run: stages, problems, what was found and not found."""
    with site.database.read() as session:
        run = pages_runs.run_by_id(session, who.namespaces, run_id)
        if run is None:
            raise NotFound("There is no such run in the namespaces you review.", "Go back to the list of runs.")
        view = run_view(
            run,
            pages_runs.steps_of_run(session, run_id),
            pages_runs.episodes_of_run(session, run_id),
            pages_runs.verdicts_of_run(session, run.namespace, run_id),
            pages_runs.findings_of_run(session, run.namespace, run_id),
            pages_runs.candidates_of_run(session, run.namespace, run_id),
            site.clock(),
        )
    return site.page("run.html", who=who, active="runs", view=view)
