"""What a reviewer does to a candidate besides deciding, on a desk: edit it, ask for evidence."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from storage.queries import candidates as candidate_queries
from storage.tables import Candidate, CandidateRevision
from support.reviewing import Desk, Found
from tasks.stage.edit_step import Edited, edit, propose_version, take_back
from tasks.stage.park_step import Parked, ask, unpark
from tasks.stage.wanted import Wanted


def current(desk: Desk, candidate_id: str) -> tuple[Candidate, CandidateRevision]:
    """A candidate in whatever state, with its current revision."""
    with desk.database.read() as session:
        candidate = candidate_queries.candidate_by_id(session, desk.namespace, candidate_id)
        assert candidate is not None
        revision = candidate_queries.revision(session, desk.namespace, candidate_id, candidate.number)
        assert revision is not None
    return candidate, revision


def form_of(desk: Desk, candidate: Candidate) -> dict[str, Any]:
    """The text of a candidate as a form would send it back, and the hash that was shown."""
    content = current(desk, candidate.id)[1].content
    return {
        "content_hash": candidate.content_hash, "when_to_use": content["when_to_use"],
        "guidance": list(content["guidance"]), "scope": dict(content["scope"]),
    }  # fmt: skip


def act(desk: Desk, name: str) -> dict[str, Any]:
    """Who acts, why and when."""
    return {"reviewer": desk.people[name], "reason": "it reads better so", "now": desk.now, "secret": desk.secret}


def edit_as(desk: Desk, candidate: Candidate, name: str = "ana", **changes: Any) -> Edited:
    """Edit what is shown now."""
    return edit(desk.database, desk.namespace, candidate.id, **form_of(desk, candidate) | act(desk, name) | changes)


def take_back_as(desk: Desk, candidate: Candidate, name: str = "bo") -> Edited:
    """Take the night's text back."""
    shown = {"content_hash": candidate.content_hash}
    return take_back(desk.database, desk.namespace, candidate.id, **shown, **act(desk, name))


def propose_as(desk: Desk, rule: tuple[str, int], content: dict[str, Any], name: str = "ana", **changes: Any) -> Edited:
    """Propose a new version of a rule. ``content`` is the version's, with its hash under ``hash``."""
    shown = {name: content[name] for name in ("when_to_use", "guidance", "scope")} | {"content_hash": content["hash"]}
    return propose_version(desk.database, desk.namespace, *rule, **shown | act(desk, name) | changes)


def ask_as(desk: Desk, candidate: Candidate, wanted: Wanted, name: str = "ana", **changes: Any) -> Parked:
    """Ask for evidence on what is shown now."""
    shown = {"content_hash": candidate.content_hash, "wanted": wanted}
    return ask(desk.database, desk.namespace, candidate.id, **shown | act(desk, name) | changes)


def unpark_as(desk: Desk, candidate: Candidate, name: str = "bo") -> Parked:
    """Take a request back."""
    shown = {"content_hash": candidate.content_hash}
    return unpark(desk.database, desk.namespace, candidate.id, **shown, **act(desk, name))


def again(desk: Desk, found: Found, **changes: Any) -> Desk:
    """The next night, which finds the same, or the same with some changes; returns the desk of that day."""
    later = replace(desk, now=desk.now + timedelta(days=1))
    later.night(replace(found, **changes))
    return later
