"""A candidate is approved on what its episodes say now: one that got a new revision since ends that, by real ingest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlmodel import col, select
from starlette.testclient import TestClient

from review_ui.app import create_app
from storage.engine import Database
from storage.queries import candidates as candidate_queries
from storage.settings import Settings
from storage.tables import Candidate, Decision, Episode, Evidence, User
from support import factories
from support.review_pages import ORIGIN, fields, log_in
from tasks import pipeline
from tasks.ingest.step import IngestReport, ingest_paths
from tasks.promote.errors import EvidenceStale
from tasks.promote.people import Reviewer
from tasks.promote.step import DecisionResult, approve
from worker import resources
from worlds import generate

SPACE = "demo/travel"
NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
EPISODES = 240


@dataclass
class Shop:
    """Recorded runs, one real night over them, and what waits for a reviewer."""

    database: Database
    secret: bytes
    file: Path
    made: list[dict[str, Any]]

    def ingest(self, hours: int = 0) -> IngestReport:
        self.file.write_text("".join(json.dumps(each) + "\n" for each in self.made))
        return ingest_paths(
            self.database, [self.file], SPACE, principal="ops", now=NOW + timedelta(hours=hours), secret=self.secret
        )

    def night(self, key: str, home: Path) -> None:
        settings = Settings(home=home, secret_key=SecretStr(self.secret.decode()))
        run = pipeline.open_run(self.database, SPACE, key, "test", NOW)
        assert pipeline.drive(self.database, run.id, resources.worker(settings)).state == "completed"

    def first(self) -> Candidate:
        with self.database.read() as session:
            return candidate_queries.queue(session, SPACE)[0][0]

    def cited(self, candidate: Candidate, stance: str) -> Episode:
        """One episode that the candidate's current revision cites."""
        with self.database.read() as session:
            statement = select(Evidence.episode_id).where(
                Evidence.namespace == SPACE, Evidence.candidate_id == candidate.id, Evidence.stance == stance,
                Evidence.number == candidate.number,
            )  # fmt: skip
            name = session.exec(statement.order_by(col(Evidence.episode_id)).limit(1)).one()
            return session.get_one(Episode, (SPACE, name))

    def revise(self, episode: Episode) -> None:
        """The source says something else of this run by now: it is recorded and ingested again."""
        (record,) = [each for each in self.made if each.get("id") == episode.source_id]
        record["metadata"] = {**record.get("metadata", {}), "audited": True}
        report = self.ingest(hours=1)
        assert (report.revised, report.accepted) == (1, 0)

    def approve(self, candidate: Candidate, reviewer: Reviewer) -> DecisionResult:
        return approve(
            self.database, SPACE, candidate.id, content_hash=candidate.content_hash,
            packet_hash=candidate.packet_hash, reviewer=reviewer, reason="seen", now=NOW, secret=self.secret,
        )  # fmt: skip


@pytest.fixture
def shop(database: Database, secret: bytes, tmp_path: Path) -> Shop:
    made = list(generate(7, EPISODES, worlds=("travel",), start=datetime(2026, 1, 5, 8, 0, tzinfo=UTC)))
    shop = Shop(database, secret, tmp_path / "runs.jsonl", made)
    assert shop.ingest().accepted == EPISODES
    shop.night("2026-11-30", tmp_path)
    return shop


@pytest.fixture
def mira(database: Database) -> Reviewer:
    with database.write() as session:
        session.add(User(id="u-mira", name="mira", role="reviewer", created_at=NOW))
    return Reviewer("u-mira", "mira", "reviewer", ())


def test_evidence_that_was_revised_since_cannot_be_approved_until_a_night_looked_again(
    shop: Shop, mira: Reviewer, database: Database, tmp_path: Path
) -> None:
    candidate = shop.first()
    shop.revise(shop.cited(candidate, "support"))
    with pytest.raises(EvidenceStale) as refused:
        shop.approve(candidate, mira)
    told = str(refused.value)
    assert f"candidate {candidate.id} cites 1 episodes that were revised or purged since" in told
    assert "the next night drafts it again from what is there now" in told
    with database.read() as session:
        assert session.get_one(Candidate, (SPACE, candidate.id)).state == "staged"
        assert session.exec(select(Decision)).all() == []

    assert _page_refuses(shop, candidate, tmp_path) == 409

    shop.night("2026-12-01", tmp_path)
    again = next(each for each in _waiting(database) if each.id == candidate.id)
    assert again.number == candidate.number + 1
    assert shop.approve(again, mira).state in ("approved", "promoted")


def _page_refuses(shop: Shop, candidate: Candidate, home: Path) -> int:
    """What the review page answers to the same approval."""
    app = create_app(Settings(home=home, secret_key=SecretStr(shop.secret.decode())), shop.database, lambda: NOW)
    _, token = factories.make_person(shop.database, "rosa", NOW)
    with TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False) as browser:
        log_in(browser, "rosa", token)
        link = f"/candidates/{SPACE}/{candidate.id}"
        form = fields(browser.get(link).text, f"{link}/reject") | {"reason": "seen"}
        answer = browser.post(f"{link}/approve", data=form)
    assert "cites 1 episodes that were revised" in answer.text
    assert "Let the next night look again" in answer.text
    return answer.status_code


def _waiting(database: Database) -> list[Candidate]:
    with database.read() as session:
        return [candidate for candidate, _ in candidate_queries.queue(session, SPACE)]
