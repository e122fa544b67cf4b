"""A namespace's policy: what it says, and what another one would do. Setting one stays with the command line."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response

from review_ui.access import CheckedViewer, Viewer, ViewerDep
from review_ui.errors import NotFound
from review_ui.site import Site, SiteDep
from review_ui.views.policy import DryRunView, dry_run_view, key_rows
from review_ui.words import _
from storage.queries import pages
from storage.queries.people import policy_of
from tasks.ingest.policy import BadPolicy, parse_policy
from tasks.verify.dry_run_step import try_policy

router = APIRouter()
QUOTING = ("redact_patterns",)
"""Keys that may quote what is secret; admins see them."""


@router.get("/people/policy")
def show_policy(site: SiteDep, who: ViewerDep, namespace: str = "") -> Response:
    """The policy of one of the viewer's namespaces."""
    return _page(site, who, namespace)


@router.post("/people/policy")
def try_out(
    site: SiteDep,
    who: CheckedViewer,
    namespace: Annotated[str, Form(max_length=200)],
    policy: Annotated[str, Form()] = "",
) -> Response:
    """What a policy would do to the queue if it were set. Nothing is changed by asking."""
    policy = policy.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    _check(site, who, namespace)
    try:
        proposed = parse_policy(policy.strip() or "{}")
    except BadPolicy as wrong:
        return _page(site, who, namespace, typed=policy, wrong=str(wrong))
    hidden = _hidden(who)
    with site.database.read() as session:
        current = policy_of(session, namespace)
    # Who is not shown a key does not mean to take it out by leaving it away.
    proposed |= {key: current[key] for key in hidden if key in current and key not in proposed}
    found = dry_run_view(namespace, try_policy(site.database, namespace, proposed), hidden)
    return _page(site, who, namespace, typed=policy, found=found)


def _hidden(who: Viewer) -> tuple[str, ...]:
    return () if who.role == "admin" else QUOTING


def _check(site: Site, who: Viewer, namespace: str) -> list[str]:
    """The viewer's namespaces, of which this is one.

    Raises:
        NotFound: if it is none.
    """
    with site.database.read() as session:
        namespaces = pages.visible_namespaces(session, who.namespaces)
    if namespace and namespace not in namespaces:
        raise NotFound(_("There is no such namespace among those you see."), _("Choose one of them."))
    return namespaces


def _page(
    site: Site, who: Viewer, namespace: str, *, typed: str = "", wrong: str = "", found: DryRunView | None = None
) -> Response:
    namespaces = _check(site, who, namespace)
    shown = namespace or (namespaces[0] if namespaces else "")
    with site.database.read() as session:
        policy = policy_of(session, shown)
    shown_policy = {key: value for key, value in policy.items() if key not in _hidden(who)}
    return site.page(
        "people.html",
        status=422 if wrong else 200,
        who=who,
        active="people",
        tab="policy",
        part="_people_policy.html",
        title=_("Policy"),
        said="",
        namespace=shown,
        namespaces=namespaces,
        keys=key_rows(policy, _hidden(who)),
        typed=typed or json.dumps(shown_policy, ensure_ascii=False, indent=2, sort_keys=True),
        wrong=wrong,
        found=found,
    )
