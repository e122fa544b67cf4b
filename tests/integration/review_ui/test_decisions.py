"""Approve, reject, revoke, restore through the pages: exactly what was shown, by whoever may, once."""

from __future__ import annotations

from typing import Any

import pytest
from sqlmodel import col, select
from starlette.testclient import TestClient

from storage.engine import Database
from storage.queries.sessions import user_by_name
from storage.tables import AuditEntry, Candidate, Decision, OutboxEvent, RuleVersion
from support import factories
from support.review_pages import SPACE, Browse, Clock, fields

LINK = f"/candidates/{SPACE}/cand-1"


def form_of(browser: TestClient, link: str = LINK) -> dict[str, str]:
    return fields(browser.get(link).text, f"{link}/reject") | {"reason": "The evidence shows it."}


def state(database: Database, candidate_id: str = "cand-1") -> str:
    with database.read() as session:
        return session.exec(select(Candidate.state).where(Candidate.id == candidate_id)).one()


def all_rows(database: Database, table: Any) -> list[Any]:
    with database.read() as session:
        return list(session.exec(select(table)))


@pytest.fixture
def staged(database: Database, app: object, clock: Clock) -> tuple[str, str]:
    """A standard-tier candidate that waits."""
    return factories.make_candidate(database, SPACE, "cand-1", clock())


def test_an_approval_promotes_exactly_the_hash_that_was_shown(
    browse: Browse, database: Database, staged: tuple[str, str]
) -> None:
    rosa = browse()
    answer = rosa.post(f"{LINK}/approve", data=form_of(rosa))
    assert (answer.status_code, answer.headers["location"]) == (303, f"{LINK}?said=promoted")
    assert "Approved and promoted" in rosa.get(answer.headers["location"]).text
    version = all_rows(database, RuleVersion)[0]
    assert (version.state, version.content_hash) == ("active", staged[0])
    assert f'href="/rules/{SPACE}/{version.rule_id}"' in rosa.get(LINK).text
    decision = all_rows(database, Decision)[0]
    assert (decision.content_hash, decision.packet_hash, decision.verdict) == (*staged, "approve")
    assert [event.changes[0]["event"] for event in all_rows(database, OutboxEvent)] == ["promoted"]


def test_a_rejection_closes_the_candidate_with_its_reason(
    browse: Browse, database: Database, staged: tuple[str, str]
) -> None:
    rosa = browse()
    form = form_of(rosa) | {"preset": "The evidence does not show it.", "reason": "Two sessions only.\x00"}
    assert rosa.post(f"{LINK}/reject", data=form).headers["location"] == f"{LINK}?said=rejected"
    assert all_rows(database, Decision)[0].reason == "The evidence does not show it. Two sessions only.�"
    page = rosa.get(LINK).text
    assert "Two sessions only." in page
    assert "Approve this hash" not in page


@pytest.mark.parametrize("verdict", ["approve", "reject"])
@pytest.mark.parametrize("reason", ["", "   "])
def test_a_decision_without_a_reason_is_refused(
    browse: Browse, database: Database, staged: tuple[str, str], verdict: str, reason: str
) -> None:
    rosa = browse()
    answer = rosa.post(f"{LINK}/{verdict}", data=form_of(rosa) | {"reason": reason})
    assert answer.status_code == 422
    assert "reason" in answer.text
    assert state(database) == "staged"


def test_a_reason_that_contradicts_the_verdict_is_refused(
    browse: Browse, database: Database, staged: tuple[str, str]
) -> None:
    rosa = browse()
    wrong = {"preset": "The evidence does not show it."}
    assert rosa.post(f"{LINK}/approve", data=form_of(rosa) | wrong).status_code == 400
    assert state(database) == "staged"


def test_content_that_changed_since_it_was_shown_is_not_approved(
    browse: Browse, database: Database, staged: tuple[str, str], clock: Clock
) -> None:
    rosa = browse()
    form = form_of(rosa)
    factories.revise_candidate(
        database, SPACE, "cand-1", clock(), content=factories.content_for(SPACE, guidance=["Go."])
    )
    answer = rosa.post(f"{LINK}/approve", data=form)
    assert answer.status_code == 409
    assert "other content now" in answer.text
    assert "Reload its page" in answer.text
    assert LINK in answer.text
    assert state(database) == "staged"


def test_the_same_approval_twice_has_one_effect(browse: Browse, database: Database, staged: tuple[str, str]) -> None:
    rosa = browse()
    form = form_of(rosa)
    first, second = (rosa.post(f"{LINK}/approve", data=form) for _ in range(2))
    assert first.headers["location"] == second.headers["location"]
    assert len(all_rows(database, Decision)) == len(all_rows(database, OutboxEvent)) == 1


def test_the_opposite_decision_after_a_promotion_loses_with_409(
    browse: Browse, database: Database, staged: tuple[str, str]
) -> None:
    rosa, otto = browse("rosa"), browse("otto")
    ottos = form_of(otto)
    rosa.post(f"{LINK}/approve", data=form_of(rosa))
    answer = otto.post(f"{LINK}/reject", data=ottos)
    assert answer.status_code == 409
    assert "promoted already" in answer.text
    assert state(database) == "promoted"


def test_a_high_tier_asks_for_two_different_reviewers(browse: Browse, database: Database, clock: Clock) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock(), tier="high", tier_why="it touches money")
    rosa, otto = browse("rosa"), browse("otto")
    assert "two" not in rosa.get(LINK).text or "2 different reviewers" in rosa.get(LINK).text
    assert rosa.post(f"{LINK}/approve", data=form_of(rosa)).headers["location"].endswith("said=approved")
    assert rosa.post(f"{LINK}/approve", data=form_of(rosa)).headers["location"].endswith("said=approved")
    assert all_rows(database, RuleVersion) == []
    assert "one more approval needed" in otto.get("/queue").text
    assert otto.post(f"{LINK}/approve", data=form_of(otto)).headers["location"].endswith("said=promoted")


def test_nobody_approves_what_they_wrote(browse: Browse, database: Database, clock: Clock) -> None:
    rosa = browse("rosa", role="admin")
    with database.read() as session:
        user = user_by_name(session, "rosa")
    assert user is not None
    factories.make_candidate(database, SPACE, "cand-1", clock(), author=user.id)
    assert rosa.post(f"{LINK}/approve", data=form_of(rosa)).status_code == 403
    assert state(database) == "staged"


def test_an_incomplete_packet_shows_what_is_missing_and_offers_no_approval(
    browse: Browse, database: Database, clock: Clock
) -> None:
    factories.make_candidate(database, SPACE, "cand-1", clock(), packet=factories.packet_for(owner=""))
    rosa = browse()
    page = rosa.get(LINK).text
    assert "It cannot be approved yet" in page
    assert "owner is missing" in page
    assert "Approve this hash" not in page
    assert rosa.post(f"{LINK}/approve", data=form_of(rosa)).status_code == 422
    assert rosa.post(f"{LINK}/reject", data=form_of(rosa)).status_code == 303


def test_a_long_text_is_approved_only_after_its_last_part_was_shown(
    browse: Browse, database: Database, clock: Clock
) -> None:
    content = factories.content_for(SPACE, guidance=["word " * 10_000, "Send the order number."])
    factories.make_candidate(database, SPACE, "cand-1", clock(), content=content)
    rosa, otto = browse("rosa"), browse("otto")
    page, form = rosa.get(LINK).text, form_of(rosa)
    assert "part 1 of 3" in page
    assert "Approve this hash" not in page
    assert "Send the order number." not in page
    assert rosa.post(f"{LINK}/approve", data=form).status_code == 400
    assert rosa.get(f"{LINK}?part=3").headers["location"] == LINK
    second = rosa.get(f"{LINK}?part=2&seen={form['seen']}").text
    last = rosa.get(f"{LINK}?part=3&seen={fields(second, f'{LINK}/reject')['seen']}").text
    assert "Send the order number." in last
    whole = fields(last, f"{LINK}/reject") | {"reason": "Read to its end."}
    stolen = form_of(otto) | {"seen": whole["seen"]}
    assert otto.post(f"{LINK}/approve", data=stolen).status_code == 400
    assert rosa.post(f"{LINK}/approve", data=whole).status_code == 303


@pytest.fixture
def rule(browse: Browse, database: Database, staged: tuple[str, str], clock: Clock) -> str:
    """The page of a promoted rule."""
    rosa = browse("rosa")
    rosa.post(f"{LINK}/approve", data=form_of(rosa))
    return f"/rules/{SPACE}/{all_rows(database, RuleVersion)[0].rule_id}"


def test_a_rule_shows_who_decided_and_why(browse: Browse, rule: str) -> None:
    page = browse("otto").get(rule).text
    assert "rosa" in page
    assert "The evidence shows it." in page


def test_a_revocation_is_previewed_before_it_is_done(browse: Browse, database: Database, rule: str) -> None:
    otto = browse("otto")
    preview = otto.get(f"{rule}/revoke").text
    assert "What this would do" in preview
    assert all_rows(database, RuleVersion)[0].state == "active"
    form = fields(preview, f"{rule}/revoke") | {"reason": "It misled three runs."}
    answer = otto.post(f"{rule}/revoke", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{rule}?said=revoked")
    page = otto.get(answer.headers["location"]).text
    assert "It misled three runs." in page
    assert "Preview a revocation" not in page
    version = all_rows(database, RuleVersion)[0]
    assert (version.state, version.state_reason) == ("revoked", "It misled three runs.")
    again = otto.post(f"{rule}/revoke", data=form)
    assert again.status_code == 303
    with database.read() as session:
        revoked = session.exec(select(AuditEntry).where(col(AuditEntry.action) == "rule.revoked")).all()
    assert len(revoked) == 1


def test_a_revocation_needs_a_reason_and_a_role(browse: Browse, database: Database, rule: str) -> None:
    otto, ada = browse("otto"), browse("ada", role="auditor")
    form = fields(otto.get(f"{rule}/revoke").text, f"{rule}/revoke")
    assert otto.post(f"{rule}/revoke", data=form | {"reason": " "}).status_code == 422
    assert ada.get(f"{rule}/revoke").status_code == 403
    assert all_rows(database, RuleVersion)[0].state == "active"


def test_an_approval_that_meets_a_revocation_tells_what_happened(
    browse: Browse, database: Database, rule: str, clock: Clock
) -> None:
    otto = browse("otto")
    form = fields(otto.get(f"{rule}/revoke").text, f"{rule}/revoke") | {"reason": "wrong"}
    otto.post(f"{rule}/revoke", data=form)
    answer = otto.post(f"{LINK}/reject", data=form_of_closed(otto))
    assert answer.status_code == 409


def form_of_closed(browser: TestClient) -> dict[str, str]:
    """A form made before its candidate was closed: the hashes are still on the page."""
    csrf = fields(browser.get(LINK).text, "/logout")["csrf"]
    content = factories.content_for(SPACE)
    return {
        "csrf": csrf,
        "reason": "late",
        "content_hash": factories.content_hash(content),
        "packet_hash": factories.content_hash(factories.packet_for()),
    }


def test_a_quarantined_version_is_restored_on_a_persons_word(browse: Browse, database: Database, rule: str) -> None:
    otto = browse("otto")
    assert "Restore version" not in otto.get(rule).text
    with database.write() as session:
        session.exec(select(RuleVersion)).one().state = "quarantined"
    page = otto.get(rule).text
    form = fields(page, f"{rule}/versions/1/restore") | {"reason": "It stands on runs of its own."}
    assert otto.post(f"{rule}/versions/1/restore", data=form).headers["location"] == f"{rule}?said=restored"
    assert all_rows(database, RuleVersion)[0].state == "active"
    assert otto.post(f"{rule}/versions/9/restore", data=form).status_code == 404
