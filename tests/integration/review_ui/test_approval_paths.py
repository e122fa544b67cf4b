"""Every way by which something can be approved, and every check that each of them has to make.

A way that is not in ``PATHS`` fails the first two tests; a check that a way skips fails the third.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.routing import APIRoute
from sqlmodel import col, select
from starlette.testclient import TestClient

from read_api.app import create_app as read_app
from review_ui.access import viewer
from review_ui.routes.candidates import _seen
from storage.engine import Database
from storage.people import add_token
from storage.settings import Settings
from storage.tables import ApiToken, Candidate, CandidateRevision, Decision, OutboxEvent, RuleVersion, User
from support import factories
from support.review_pages import SPACE, Browse, Clock, fields
from tasks.promote.errors import DecisionRefused
from tasks.promote.people import Reviewer
from tasks.promote.step import approve
from worker.cli.root import run as command

ROOT = Path(__file__).resolve().parents[3]

APPROVING = {"/candidates/{namespace:path}/{candidate_id}/approve", "/queue/bulk"}
"""Routes that approve. Every other route that changes something is in ``OTHERS``."""

OTHERS = {
    "/login", "/logout", "/preferences", "/queue/next", "/audit/verify",
    "/candidates/{namespace:path}/{candidate_id}/reject", "/candidates/{namespace:path}/{candidate_id}/release",
    "/candidates/{namespace:path}/{candidate_id}/edit", "/candidates/{namespace:path}/{candidate_id}/take-back",
    "/candidates/{namespace:path}/{candidate_id}/ask", "/candidates/{namespace:path}/{candidate_id}/resume",
    "/candidates/{namespace:path}/{candidate_id}/split", "/candidates/{namespace:path}/{candidate_id}/merge",
    "/conflicts/{namespace:path}/{conflict_id}/resolve", "/rules/{namespace:path}/{rule_id}/revoke",
    "/rules/{namespace:path}/{rule_id}/versions/{version}/restore",
    "/rules/{namespace:path}/{rule_id}/versions/{number}/propose",
    "/people/policy", "/people/tokens", "/people/tokens/{token_id}/revoke", "/people/sessions/end",
    "/people/sessions/end-others", "/people/accounts/{user_id}/end-sessions", "/people/accounts/{user_id}/disable",
    "/people/accounts/{user_id}/enable",
    "/v1/acks", "/v1/sessions/{session_id}", "/v1/rules/search", "/v1/exemplars/search", "/v1/episodes",
}  # fmt: skip
DOORS = {"review_ui/routes/candidates.py", "review_ui/routes/bulk.py", "worker/cli/decide.py",
         "tasks/revoke/drill_step.py"}  # fmt: skip
"""Files that call the step which approves; a drill approves its own canary, in a store that is no deployment's."""


@dataclass(frozen=True)
class Ask:
    """An approval as somebody sends it. What a check is about differs from what is right."""

    candidate_id: str
    content_hash: str
    packet_hash: str
    who: str = "rosa"
    reason: str = "seen the evidence"
    extra: dict[str, str] = field(default_factory=dict)


@dataclass
class Town:
    """A store with its people, the review pages over it, and a terminal."""

    database: Database
    app: FastAPI
    browse: Browse
    clock: Clock
    secret: bytes
    environment: Callable[[str], None]
    browsers: dict[str, TestClient] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def person(self, name: str, role: str = "reviewer", namespaces: tuple[str, ...] = ()) -> None:
        """An account, a browser in which it is logged in, and a personal token."""
        self.browsers[name] = self.browse(name, role, namespaces)
        user = self.user(name)
        with self.database.write() as session:
            _, token = add_token(session, role=role, namespaces=list(namespaces), user_id=user.id, now=self.clock())
        self.tokens[name] = token

    def user(self, name: str) -> User:
        with self.database.read() as session:
            return session.exec(select(User).where(User.name == name)).one()

    def candidate(self, tier: str = "low", **given: Any) -> Ask:
        """A candidate that may be approved by every path: of the low tier, short and whole."""
        hashes = factories.make_candidate(self.database, SPACE, "cand-1", self.clock(), tier=tier, **given)
        return Ask("cand-1", *hashes)

    def state(self) -> tuple[str, int, int]:
        """The candidate's state, how many approvals stand, and how many versions there are."""
        with self.database.read() as session:
            live = col(Decision.voided_at).is_(None)
            votes = session.exec(select(Decision).where(Decision.verdict == "approve", live)).all()
            versions = session.exec(select(RuleVersion)).all()
            assert len(session.exec(select(OutboxEvent)).all()) == len(versions)
            return session.exec(select(Candidate.state)).one(), len(votes), len(versions)


def by_page(town: Town, ask: Ask) -> bool:
    """The form on the candidate's page."""
    browser = town.browsers[ask.who]
    csrf = fields(browser.get("/queue").text, "/logout")["csrf"]
    with town.database.read() as session:
        row = session.get_one(Candidate, (SPACE, ask.candidate_id))
        revision = session.get_one(CandidateRevision, (SPACE, row.id, row.number))
        viewed = viewer(_request(browser), town.app.state.site)
    form = {
        "csrf": csrf, "content_hash": ask.content_hash, "packet_hash": ask.packet_hash, "reason": ask.reason,
        "seen": _seen(town.app.state.site, viewed, revision, 1),
    }  # fmt: skip
    answer = browser.post(f"/candidates/{SPACE}/{ask.candidate_id}/approve", data=form | ask.extra)
    assert answer.status_code < 500, answer.text
    return answer.status_code == 303 and "/login" not in answer.headers["location"]


def in_bulk(town: Town, ask: Ask) -> bool:
    """A checked box of the queue."""
    browser = town.browsers[ask.who]
    csrf = fields(browser.get("/queue").text, "/logout")["csrf"]
    pick = json.dumps([SPACE, ask.candidate_id, ask.content_hash, ask.packet_hash])
    form = {"csrf": csrf, "verdict": "approve", "pick": pick, "reason": ask.reason}
    answer = browser.post("/queue/bulk", data=form | ask.extra)
    assert answer.status_code < 500, answer.text
    return answer.status_code == 200 and "1 candidate decided" in answer.text


def by_command(town: Town, ask: Ask) -> bool:
    """The command line, as the person behind a token."""
    town.environment(town.tokens[ask.who])
    arguments = ["approve", ask.candidate_id, "--hash", ask.content_hash, "--packet-hash", ask.packet_hash]
    return command([*arguments, "--reason", ask.reason, "--namespace", SPACE]) == 0


def by_step(town: Town, ask: Ask) -> bool:
    """The step under all of them."""
    user = town.user(ask.who)
    who = Reviewer(user.id, user.name, user.role, tuple(user.namespaces))
    given = {"content_hash": ask.content_hash, "packet_hash": ask.packet_hash, "reviewer": who, "reason": ask.reason}
    try:
        approve(town.database, SPACE, ask.candidate_id, now=town.clock(), secret=town.secret, **given)
    except DecisionRefused:
        return False
    return True


PATHS = {"page": by_page, "bulk": in_bulk, "command": by_command, "step": by_step}


def other_content(town: Town) -> Ask:
    return replace(town.candidate(), content_hash="0" * 64)


def other_packet(town: Town) -> Ask:
    return replace(town.candidate(), packet_hash="0" * 64)


def a_role_that_reads(town: Town) -> Ask:
    town.person("otto", "auditor")
    return replace(town.candidate(), who="otto")


def another_namespace(town: Town) -> Ask:
    town.person("otto", namespaces=(f"{SPACE}/below", "acme/supportive"))
    return replace(town.candidate(), who="otto")


def ones_own_text(town: Town) -> Ask:
    return town.candidate(author=town.user("rosa").id)


def a_text_of_ones_own_token(town: Town) -> Ask:
    with town.database.read() as session:
        token = session.exec(select(ApiToken.id).where(ApiToken.user_id == town.user("rosa").id)).first()
    return town.candidate(author=token)


def an_admins_own_text(town: Town) -> Ask:
    town.person("otto", "admin")
    return replace(town.candidate(author=town.user("otto").id), who="otto")


def no_reason(town: Town) -> Ask:
    return replace(town.candidate(), reason="  ")


def an_incomplete_packet(town: Town) -> Ask:
    return town.candidate(packet={**factories.packet_for(), "counter_example": None})


def a_failed_check(town: Town) -> Ask:
    failed = {"name": "secrets", "verdict": "fail", "detail": "a key", "fix": "take it out"}
    return town.candidate(packet={**factories.packet_for(), "checks": [failed]})


def a_candidate_that_waits_for_evidence(town: Town) -> Ask:
    return town.candidate(parked_at=town.clock(), parked_by=town.user("rosa").id, wanted={"runs": 3})


def a_rejected_candidate(town: Town) -> Ask:
    return town.candidate(state="rejected")


def a_withdrawn_candidate(town: Town) -> Ask:
    return town.candidate(state="void")


def a_disabled_person(town: Town) -> Ask:
    with town.database.write() as session:
        session.execute(sa.update(User).where(col(User.name) == "rosa").values(disabled_at=town.clock()))
    return town.candidate()


CHECKS = [
    other_content, other_packet, a_role_that_reads, another_namespace, ones_own_text, a_text_of_ones_own_token,
    an_admins_own_text, no_reason, an_incomplete_packet, a_failed_check, a_candidate_that_waits_for_evidence,
    a_rejected_candidate, a_withdrawn_candidate,
]  # fmt: skip


@pytest.fixture
def town(
    app: FastAPI, browse: Browse, database: Database, clock: Clock, secret: bytes,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> Town:  # fmt: skip
    def act_as(token: str) -> None:
        monkeypatch.setenv("SLOWWAVE_HOME", str(tmp_path))
        monkeypatch.setenv("SLOWWAVE_DATABASE_URL", database.url)
        monkeypatch.setenv("SLOWWAVE_SECRET_KEY", secret.decode())
        monkeypatch.setenv("SLOWWAVE_TOKEN", token)

    town = Town(database, app, browse, clock, secret, act_as)
    town.person("rosa")
    return town


def _request(browser: TestClient) -> Any:
    """A request as this browser sends it, for what asks who is looking."""
    from starlette.requests import Request

    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    return Request({"type": "http", "headers": [(b"cookie", cookies.encode())], "client": ("testclient", 1)})


def routes_that_write(app: FastAPI) -> set[str]:
    safe = {"GET", "HEAD", "OPTIONS"}
    found, waiting = set(), list(app.routes)
    while waiting:
        route: Any = waiting.pop()
        included = getattr(route, "original_router", None)
        waiting += included.routes if included is not None else ()
        if isinstance(route, APIRoute) and route.methods - safe:
            found.add(route.path)
    return found


def test_every_route_that_changes_something_is_known_to_approve_or_not(
    app: FastAPI, database: Database, tmp_path: Path
) -> None:
    agents_side = read_app(Settings(home=tmp_path), database)
    written = routes_that_write(app) | routes_that_write(agents_side)
    assert written == APPROVING | OTHERS


def test_nothing_else_calls_the_step_that_approves() -> None:
    found = set()
    for folder in ("worker", "review_ui", "read_api", "tasks"):
        for file in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            if any(_imports_approve(node) for node in ast.walk(tree)):
                found.add(str(file.relative_to(ROOT)))
    assert found == DOORS


def _imports_approve(node: ast.AST) -> bool:
    """Whether this takes the approving step in: by its name, or the whole module with it."""
    if not isinstance(node, ast.ImportFrom):
        return isinstance(node, ast.Import) and any(one.name == "tasks.promote.step" for one in node.names)
    names = {one.name for one in node.names}
    if node.module == "tasks.promote.step":
        return bool(names & {"approve", "_decide", "_promote", "*"})
    return node.module == "tasks.promote" and "step" in names


@pytest.mark.parametrize("path", PATHS)
def test_what_is_right_is_approved_by_each_path(town: Town, path: str) -> None:
    assert PATHS[path](town, town.candidate())
    assert town.state() == ("promoted", 1, 1)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("path", PATHS)
def test_no_path_skips_a_check(town: Town, path: str, check: Callable[[Town], Ask]) -> None:
    ask = check(town)
    before = town.state()
    assert not PATHS[path](town, ask)
    assert town.state() == before


@pytest.mark.parametrize("path", ["page", "command", "step"])
def test_by_no_path_does_one_person_make_a_quorum_of_the_high_tier(town: Town, path: str) -> None:
    ask = town.candidate(tier="high")
    assert PATHS[path](town, ask)
    assert PATHS[path](town, ask)  # the same decision again is no second one
    assert town.state() == ("approved", 1, 0)
    town.person("otto")
    assert PATHS[path](town, replace(ask, who="otto"))
    assert town.state() == ("promoted", 2, 1)


@pytest.mark.parametrize("tier", ["standard", "high"])
def test_in_bulk_nothing_but_the_low_tier_is_approved(town: Town, tier: str) -> None:
    assert not in_bulk(town, town.candidate(tier=tier))
    assert town.state() == ("staged", 0, 0)


@pytest.mark.parametrize("path", ["page", "bulk", "command"])
def test_a_disabled_person_approves_by_no_path(town: Town, path: str) -> None:
    ask = a_disabled_person(town)
    with town.database.read() as session:
        assert session.exec(select(Candidate.state)).one() == "staged"
    assert not _approved_anyhow(town, path, ask)
    assert town.state() == ("staged", 0, 0)


def _approved_anyhow(town: Town, path: str, ask: Ask) -> bool:
    """A disabled person sees no form any more: what they kept from before is sent."""
    if path == "command":
        return by_command(town, ask)
    form = {"csrf": "kept", "content_hash": ask.content_hash, "packet_hash": ask.packet_hash, "reason": "mine"}
    to = f"/candidates/{SPACE}/{ask.candidate_id}/approve" if path == "page" else "/queue/bulk"
    pick = json.dumps([SPACE, ask.candidate_id, ask.content_hash, ask.packet_hash])
    answer = town.browsers["rosa"].post(to, data=form | {"verdict": "approve", "pick": pick})
    return answer.status_code == 303 and "/login" not in answer.headers["location"]


@pytest.mark.parametrize("path", ["page", "bulk"])
def test_no_page_approves_without_a_token_made_for_this_session(town: Town, path: str) -> None:
    assert not PATHS[path](town, replace(town.candidate(), extra={"csrf": "forged"}))
    assert town.state() == ("staged", 0, 0)


@pytest.mark.parametrize("path", ["page", "bulk"])
def test_no_page_approves_what_was_not_shown_to_its_end(town: Town, path: str) -> None:
    long = factories.content_for(SPACE, guidance=["Read this. " * 20_000])
    ask = replace(town.candidate(content=long), extra={"seen": "0" * 32})
    assert not PATHS[path](town, ask)
    assert town.state() == ("staged", 0, 0)
