"""Forms act only for the person, session and page that they were made for; pages carry their headers."""

from __future__ import annotations

import pytest
from sqlmodel import select
from starlette.testclient import TestClient

from storage.engine import Database
from storage.tables import Candidate
from support import factories
from support.review_pages import ORIGIN, SPACE, Browse, fields

LINK = f"/candidates/{SPACE}/cand-1"
ACTS = [f"{LINK}/approve", f"{LINK}/reject", f"/rules/{SPACE}/r/revoke", f"/rules/{SPACE}/r/versions/1/restore"]


@pytest.fixture
def candidate(database: Database, clock) -> tuple[str, str]:
    """A candidate that waits."""
    return factories.make_candidate(database, SPACE, "cand-1", clock())


def approval(browser: TestClient) -> dict[str, str]:
    return fields(browser.get(LINK).text, f"{LINK}/reject") | {"reason": "read"}


def state(database: Database) -> str:
    with database.read() as session:
        return session.exec(select(Candidate.state).where(Candidate.id == "cand-1")).one()


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://[testserver"},
        {"origin": ORIGIN, "sec-fetch-site": "cross-site"},
        {"origin": ORIGIN, "sec-fetch-site": "same-site"},
        {"origin": "http://testserver.evil.example"},
        {"origin": "http://testserver:8080"},
    ],
    ids=str,
)
def test_a_form_from_elsewhere_does_nothing(
    browse: Browse, database: Database, candidate: tuple[str, str], headers: dict[str, str]
) -> None:
    browser = browse()
    answer = browser.post(f"{LINK}/approve", data=approval(browser), headers=headers)
    assert answer.status_code == 403
    assert state(database) == "staged"


def test_a_form_that_does_not_say_where_it_comes_from_does_nothing(
    browse: Browse, database: Database, candidate: tuple[str, str]
) -> None:
    browser = browse()
    form = approval(browser)
    del browser.headers["origin"]
    assert browser.post(f"{LINK}/approve", data=form).status_code == 403
    assert browser.post(f"{LINK}/approve", data=form, headers={"sec-fetch-site": "same-origin"}).status_code == 303


def test_a_public_origin_behind_a_proxy_is_accepted(browse: Browse, app, candidate: tuple[str, str]) -> None:
    browser = browse()
    shield = app.build_middleware_stack()
    while type(shield).__name__ != "Shield":
        shield = shield.app
    shield.hosts.add("review.acme.example")
    assert shield._is_own({"origin": "https://review.acme.example", "host": "10.0.0.7"})
    assert not shield._is_own({"origin": "https://other.example", "host": "10.0.0.7"})
    assert browser.get(LINK).status_code == 200


@pytest.mark.parametrize("token", ["", "guess", None])
def test_a_form_without_this_sessions_token_does_nothing(
    browse: Browse, database: Database, candidate: tuple[str, str], token: str | None
) -> None:
    browser = browse()
    others = approval(browse("otto"))["csrf"]
    answer = browser.post(f"{LINK}/approve", data=approval(browser) | {"csrf": others if token is None else token})
    assert answer.status_code == 403
    assert state(database) == "staged"


@pytest.mark.parametrize("path", ACTS)
def test_an_auditor_reads_and_never_decides(
    browse: Browse, database: Database, candidate: tuple[str, str], path: str
) -> None:
    browser = browse("ada", role="auditor")
    csrf = fields(browser.get("/queue").text, "/logout")["csrf"]
    form = {"csrf": csrf, "content_hash": candidate[0], "packet_hash": candidate[1], "reason": "because"}
    assert browser.post(path, data=form).status_code == 403
    assert "Your role reads here" in browser.get(LINK).text
    assert state(database) == "staged"


def test_without_a_session_no_form_is_heard(anonymous: TestClient, database: Database, candidate) -> None:
    for path in [*ACTS, "/audit/verify", "/logout"]:
        answer = anonymous.post(path, data={"content_hash": candidate[0], "packet_hash": candidate[1]})
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert state(database) == "staged"


def test_every_answer_carries_the_strict_policy(browse: Browse, candidate: tuple[str, str]) -> None:
    browser = browse()
    for path in ("/queue", LINK, "/nope", "/health/live", "/static/slowwave.css", "/login"):
        headers = browser.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert browser.get("/queue").headers["cache-control"] == "no-store"


def test_an_oversized_or_endless_form_is_refused_before_it_is_read(anonymous: TestClient) -> None:
    assert anonymous.post("/login", data={"name": "x" * 70_000}).status_code == 413
    assert anonymous.post("/login", content=(b"x" for _ in range(3))).status_code == 411


def test_a_form_of_another_kind_is_refused_before_it_is_read(
    browse: Browse, database: Database, candidate: tuple[str, str]
) -> None:
    browser = browse()
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in (approval(browser) | {"seen": "\\ud800"}).items()
    )
    kind = {"content-type": "multipart/form-data; boundary=x; charset=unicode_escape"}
    assert browser.post(f"{LINK}/approve", content=f"{parts}--x--\r\n", headers=kind).status_code == 415
    assert browser.post(f"{LINK}/approve", json=approval(browser)).status_code == 415
    assert state(database) == "staged"


@pytest.mark.parametrize("page", [2**31, 2**63, 10**30])
def test_a_page_of_evidence_that_cannot_be_counted_to_is_an_empty_one(
    browse: Browse, candidate: tuple[str, str], page: int
) -> None:
    browser = browse()
    for stance in ("support", "counter"):
        assert browser.get(f"{LINK}?{stance}={page}").status_code == 200


def test_a_missing_value_and_an_unknown_page_are_told_in_words(browse: Browse, candidate: tuple[str, str]) -> None:
    browser = browse()
    csrf = fields(browser.get("/queue").text, "/logout")["csrf"]
    answer = browser.post(f"{LINK}/approve", data={"csrf": csrf})
    assert answer.status_code == 422
    assert "content_hash" in answer.text
    assert browser.get("/nope").status_code == 404
    assert browser.get("/queue?page=0").status_code == 422
    assert browser.get("/queue?namespace=%00").status_code == 404
    assert browser.get("/candidates/a%00b/c").status_code == 404


@pytest.mark.parametrize(
    "address", ["http://[::1", "http://a]b/", "//evil.example/", "http://testserver//evil.example"]
)
def test_a_malformed_address_of_the_open_page_leads_home_and_nowhere_else(
    browse: Browse, anonymous: TestClient, address: str
) -> None:
    kept = browse().post("/preferences", data={"language": "en"}, headers={"referer": address})
    assert kept.status_code == 303
    assert kept.headers["location"] in ("/queue", "/")
    part = anonymous.get("/queue", headers={"hx-request": "true", "hx-current-url": address})
    assert part.status_code == 401
    assert part.headers["hx-redirect"].startswith("/login")


def test_a_length_of_more_digits_than_python_reads_is_too_long(anonymous: TestClient) -> None:
    answer = anonymous.post("/preferences", data={"language": "en"}, headers={"content-length": "9" * 5000})
    assert answer.status_code == 413


@pytest.mark.parametrize("number", ["0", "-1", str(2**63), "9" * 30])
def test_a_version_that_no_database_could_hold_is_refused(browse: Browse, number: str) -> None:
    browser, link = browse(), f"/rules/{SPACE}/r/versions/{number}"
    form = {"csrf": fields(browser.get("/queue").text, "/logout")["csrf"], "reason": "x", "content_hash": "y"}
    assert browser.get(f"{link}/propose").status_code == 422
    assert browser.post(f"{link}/propose", data=form).status_code == 422
    assert browser.post(f"{link}/restore", data=form).status_code == 422


@pytest.mark.parametrize("verdict", ["approve", "reject"])
@pytest.mark.parametrize(
    "pick", ["[" * 15_000, "9" * 5000, f'["{SPACE}", "\\ud800", "a", "b"]', f'["{SPACE}", "cand\\u0000", "a", "b"]'],
    ids=["deep", "huge", "surrogate", "nul"],
)  # fmt: skip
def test_a_choice_that_no_box_of_ours_sends_is_refused(
    browse: Browse, database: Database, candidate: tuple[str, str], pick: str, verdict: str
) -> None:
    browser = browse()
    csrf = fields(browser.get("/queue").text, "/logout")["csrf"]
    form = {"csrf": csrf, "verdict": verdict, "pick": pick, "reason": "x"}
    answer = browser.post("/queue/bulk", data=form)
    assert answer.status_code < 500
    assert "malformed" in answer.text
    assert state(database) == "staged"
