"""What the pages show, to whom, and in which order."""

from __future__ import annotations

import pytest
from pydantic import SecretStr
from sqlmodel import select
from starlette.testclient import TestClient

from review_ui.app import create_app
from storage.engine import Database
from storage.settings import Settings
from storage.tables import AuditEntry, Episode, EpisodeBody, EpisodeKey, Evidence, Recheck, RuleVersion
from support import factories
from support.html_check import faults_of
from support.review_pages import SPACE, Browse, Clock, fields, without_masks

OTHER = "acme/travel"


@pytest.fixture
def two_spaces(app: object, database: Database, clock: Clock) -> None:
    """The same things in two namespaces."""
    factories.make_namespace(database, OTHER, clock())
    factories.make_namespace(database, "acme/support2", clock())
    for space in (SPACE, OTHER):
        name = space.rpartition("/")[2]
        factories.make_episode(database, space, f"ep-{name}", clock())
        content = factories.content_for(space, when_to_use=f"When {name} asks")
        factories.make_candidate(
            database, space, f"cand-{name}", clock(), content=content, evidence=[(f"ep-{name}", "support")]
        )
        factories.make_run(database, space, f"run-{name}", clock())


def promote(browser: TestClient, link: str) -> None:
    form = fields(browser.get(link).text, f"{link}/reject") | {"reason": "read"}
    assert browser.post(f"{link}/approve", data=form).status_code == 303


def test_a_reviewer_of_one_namespace_cannot_tell_that_another_exists(browse: Browse, two_spaces: None) -> None:
    admin, rosa = browse("admin", role="admin"), browse("rosa", namespaces=(SPACE,))
    promote(admin, f"/candidates/{OTHER}/cand-travel")
    rule = next(line for line in admin.get("/rules").text.split('"') if line.startswith(f"/rules/{OTHER}/"))
    hidden = [
        f"/candidates/{OTHER}/cand-travel",
        rule,
        f"{rule}/revoke",
        f"/episodes/{OTHER}/ep-travel",
        "/runs/run-travel",
    ]
    for path in hidden:
        assert admin.get(path).status_code == 200, path
        seen, unknown = rosa.get(path), rosa.get(path.replace("travel", "nowhere"))
        assert seen.status_code == unknown.status_code == 404
        assert without_masks(seen.text) == without_masks(unknown.text)
    for path in (
        "/queue",
        "/rules",
        "/runs",
        "/audit",
        f"/queue?namespace={OTHER}&state=promoted",
        "/queue?state=promoted",
    ):
        page = rosa.get(path).text
        assert "cand-travel" not in page
        assert "run-travel" not in page
        assert f">{OTHER}<" not in page


def test_acts_on_a_hidden_namespace_are_not_found(browse: Browse, two_spaces: None, database: Database) -> None:
    admin, rosa = browse("admin", role="admin"), browse("rosa", namespaces=(SPACE,))
    link = f"/candidates/{OTHER}/cand-travel"
    form = fields(admin.get(link).text, f"{link}/reject")
    mine = form | {"csrf": fields(rosa.get("/queue").text, "/logout")["csrf"], "reason": "mine now"}
    for path in (
        f"{link}/approve",
        f"{link}/reject",
        f"/rules/{OTHER}/x/revoke",
        f"/rules/{OTHER}/x/versions/1/restore",
    ):
        assert rosa.post(path, data=mine).status_code == 404


def test_a_grant_is_by_whole_segments(browse: Browse, two_spaces: None) -> None:
    page = browse("rosa", namespaces=(SPACE,)).get("/queue").text
    assert ">acme/support<" in page
    assert "acme/support2" not in page
    assert ">acme/travel<" in browse("otto", namespaces=("acme",)).get("/queue").text


def test_a_candidate_shows_its_packet_with_evidence_side_by_side(
    browse: Browse, app: object, database: Database, clock: Clock
) -> None:
    outcomes = ["failure"] * 6 + ["success"] * 2
    for place, outcome in enumerate(outcomes):
        steps = factories.trace(f"K-{place}", cancels=True, outcome=outcome)
        factories.make_episode(database, SPACE, f"ep-{place}", clock(), outcome=outcome, steps=steps)
    evidence = [(f"ep-{place}", "support" if place < 6 else "counter") for place in range(8)]
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=evidence)
    link = f"/candidates/{SPACE}/cand-1"
    page = browse().get(link).text
    for said in ("What an agent will receive", "odds ratio 0.11, 95 % interval 0.03 to 0.38", "24 held-out groups",
                 "Advice to check, not to avoid", "orders/7", "Narrow the scope to orders", "Evidence for it",
                 "Evidence against it", "has left the warehouse", "1 to 4 of 6", "What an approval means",
                 "Odds ratio of success in each task", "The same as a table", "It cancelled unread"):  # fmt: skip
        assert said in page, said
    assert faults_of(page) == []
    assert page.index("What these figures mean") > page.index("before it, 5 of 24 runs succeeded")
    checks = page[page.index('id="checks-title"') : page.index('id="evidence-title"')]
    assert checks.index("Narrow the scope to orders") < checks.index("<summary>2 passed</summary>")
    assert checks.index("<summary>2 passed</summary>") < checks.index("citations resolve")
    assert page.index("Evidence for it") < page.index("Evidence against it")
    assert "5 to 6 of 6" in browse("otto").get(f"{link}?support=2").text


def test_evidence_shows_each_independent_group_before_a_second_of_any(
    browse: Browse, app: object, database: Database, clock: Clock
) -> None:
    for place in range(6):
        factories.make_episode(database, SPACE, f"ep-{place}", clock(), task=f"Task {place}")
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=[(f"ep-{n}", "support") for n in range(6)])

    with database.write() as session:
        for row in session.exec(select(Evidence)):
            row.group_id = "echo" if row.episode_id < "ep-4" else row.episode_id
    page = browse().get(f"/candidates/{SPACE}/cand-1").text
    shown = page[page.index('id="support"') : page.index('id="counter"')]
    assert "Task 4" in shown
    assert "Task 5" in shown
    assert "Task 3" not in shown


def test_a_purged_episode_leaves_a_tombstone(browse: Browse, app: object, database: Database, clock: Clock) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock())
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=[("ep-1", "support")])
    with database.write() as session:
        for table in (EpisodeBody, EpisodeKey):
            session.delete(session.exec(select(table)).one())
        session.exec(select(Episode)).one().purged_at = clock()
    rosa = browse()
    assert "was purged" in rosa.get(f"/candidates/{SPACE}/cand-1").text
    assert "tombstone" in rosa.get(f"/episodes/{SPACE}/ep-1").text


def test_an_episode_shows_where_its_outcome_came_from_and_finds_the_cited_step(
    browse: Browse, app: object, database: Database, clock: Clock
) -> None:
    steps = [{"id": str(place), "kind": "tool_call", "name": f"call_{place}"} for place in range(150)]
    factories.make_episode(database, SPACE, "ep-1", clock(), steps=steps, outcome_source="self-reported")
    rosa = browse()
    first = rosa.get(f"/episodes/{SPACE}/ep-1").text
    assert "never enters a contrast" in first
    assert "api key: 1" in first
    assert "call_59" in first
    assert "call_60" not in first
    held = rosa.get(f"/episodes/{SPACE}/ep-1?step=130").text
    assert 'id="cited"' in held
    assert "call_130" in held
    assert "Steps 121 to 150 of 150" in held


def test_an_episode_says_whose_word_its_outcome_and_each_step_is(
    browse: Browse, app: object, database: Database, clock: Clock
) -> None:
    steps = [
        {"id": "1", "kind": "user", "text": "please", "trust": "user", "is_copied_context": True},
        {"id": "2", "kind": "tool_call", "name": "pay", "agent": "helper-2"},
        {"id": "3", "kind": "observation", "of": "2", "text": "no", "trust": "external", "exit_code": 3},
        {"id": "4", "kind": "observation", "of": "2", "text": "yes", "trust": "tool", "exit_code": 0,
         "uri": "https://vault.example/x?a=<b>"},
    ]  # fmt: skip
    details = {"outcome_from": "exit code 3 of the last check, step 3", "outcome_overruled": "success"}
    factories.make_episode(
        database, SPACE, "ep-1", clock(), steps=steps, outcome="failure", outcome_source="exit-code", details=details
    )
    page = browse().get(f"/episodes/{SPACE}/ep-1").text
    for said in (
        "an exit code said so", "Outcome from", "exit code 3 of the last check, step 3", "Outcome overruled",
        "canonical 1", "api key: 1", "copied context", "by helper-2", "trust: the user&#39;s words",
        "trust: external text", "trust: a tool&#39;s words",
        "trust: internal",
        '<span class="badge bad">exit code 3</span>', '<span class="badge">exit code 0</span>',
        "https://vault.example/x?a=&lt;b&gt;",
    ):  # fmt: skip
        assert said in page, said
    assert 'href="https://vault' not in page, "where a source lies is text, never a link"


def test_an_episode_shows_what_was_not_kept_and_what_is_doubtful(
    browse: Browse, app: object, database: Database, clock: Clock
) -> None:
    details = {"not_kept": {"<b>pictures\u202e": 2}, "clock": "ended before it started", "outcome_from": "reward",
               "renditions": [{"importer": 1, "redactor": 1}]}  # fmt: skip
    factories.make_episode(database, SPACE, "ep-1", clock(), details=details)
    factories.make_episode(database, SPACE, "ep-2", clock())
    rosa = browse()
    page = rosa.get(f"/episodes/{SPACE}/ep-1").text
    notes = page.partition("<h3>Notes</h3>")[2].partition("</dl>")[0]
    for said in (
        "not kept",
        "&lt;b&gt;pictures",
        "ended before it started",
        "earlier readings",
        "importer: 1, redactor: 1",
    ):
        assert said in notes, said
    assert "\u202e" not in page
    assert "reward" not in notes, "that has a place of its own"
    assert "<h3>Notes</h3>" not in rosa.get(f"/episodes/{SPACE}/ep-2").text


@pytest.mark.parametrize(
    ("outcome", "said"),
    [("failure", "a verifier said so"), ("unknown", "nothing that was recorded says how it ended")],
)
def test_evidence_says_in_words_who_says_how_it_ended(
    browse: Browse, app: object, database: Database, clock: Clock, outcome: str, said: str
) -> None:
    factories.make_episode(database, SPACE, "ep-1", clock(), outcome=outcome)
    factories.make_candidate(database, SPACE, "cand-1", clock(), evidence=[("ep-1", "support")])
    page = browse().get(f"/candidates/{SPACE}/cand-1").text
    assert f"<span>{said}</span>" in page
    assert "<span>verifier</span>" not in page


def test_a_running_night_reloads_itself_and_a_finished_one_does_not(
    browse: Browse, app: object, database: Database, clock: Clock
) -> None:
    factories.make_run(database, SPACE, "run-1", clock(), state="running")
    factories.make_run(database, SPACE, "run-2", clock(), key="2026-11-29")
    rosa = browse()
    live = rosa.get("/runs/run-1").text
    assert '<meta http-equiv="refresh" content="3">' in live
    assert "2 of 4 steps" in live
    done = rosa.get("/runs/run-2").text
    assert "http-equiv" not in done
    assert "Only across tasks: gone within them" in done
    assert "about 9 more groups" in done
    assert "http-equiv" in rosa.get("/runs").text


def test_the_audit_log_names_people_and_a_changed_entry_is_found(
    browse: Browse, two_spaces: None, database: Database
) -> None:
    rosa = browse()
    promote(rosa, f"/candidates/{SPACE}/cand-support")
    page = rosa.get("/audit?action=candidate.approve").text
    assert "rosa" in page
    assert f"/candidates/{SPACE}/cand-support" in page
    form = fields(page, "/audit/verify")
    assert "The chain is whole" in rosa.post("/audit/verify", data=form).text
    with database.write() as session:
        session.exec(select(AuditEntry).where(AuditEntry.seq == 1)).one().actor = "user:somebody"
    assert "broken at entry 1" in rosa.post("/audit/verify", data=form).text


def test_a_rule_shows_what_came_out_whenever_it_was_tested_again(
    browse: Browse, two_spaces: None, database: Database, clock: Clock
) -> None:
    rosa = browse()
    promote(rosa, f"/candidates/{SPACE}/cand-support")
    factories.make_run(database, SPACE, "run-support-2", clock(), key="2026-12-01")
    with database.write() as session:
        rule = session.exec(select(RuleVersion)).one()
        for run_id, verdict in (("run-support", "stands"), ("run-support-2", "vanished")):
            session.add(
                Recheck(namespace=SPACE, run_id=run_id, rule_id=rule.rule_id, version=1, verdict=verdict,
                        words=f"{verdict}: of the 40 new groups", at=clock())
            )  # fmt: skip
        link = f"/rules/{SPACE}/{rule.rule_id}"
    page = rosa.get(link).text
    assert faults_of(page) == []
    assert "Tested again" in page
    assert page.index("vanished: of the 40") < page.index("stands: of the 40"), "the last one first"


def test_only_those_who_see_every_namespace_verify_the_chain(browse: Browse, two_spaces: None) -> None:
    rosa = browse("rosa", role="auditor", namespaces=(SPACE,))
    page = rosa.get("/audit").text
    assert "Verify the whole chain" not in page
    csrf = fields(page, "/logout")
    assert rosa.post("/audit/verify", data=csrf).status_code == 403


def test_health_says_whether_the_database_can_serve(anonymous: TestClient) -> None:
    assert anonymous.get("/health/live").json() == {"status": "ok"}
    assert anonymous.get("/health/ready").status_code == 200


def test_a_store_without_tables_is_not_ready_and_a_page_says_so(
    empty_database: Database, tmp_path, secret: bytes
) -> None:

    app = create_app(Settings(home=tmp_path, secret_key=SecretStr(secret.decode())), empty_database)
    with TestClient(app, raise_server_exceptions=False, cookies={"slowwave_session": "x"}) as browser:
        assert browser.get("/health/live").status_code == 200
        ready = browser.get("/health/ready")
        assert ready.status_code == 503
        assert "slowwave doctor" in ready.json()["reason"]
        answer = browser.get("/queue")
        assert answer.status_code in (500, 503)
        assert "content-security-policy" in answer.headers
        assert "Traceback" not in answer.text
