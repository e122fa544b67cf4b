"""What the database itself refuses, whatever the code above it believes."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from storage.engine import Database
from storage.tables import (
    ApiToken,
    AuditHead,
    Decision,
    EpisodeKey,
    Evidence,
    Exposure,
    RunEpisode,
    RunStep,
    VersionAncestor,
)
from support import rows


def decision(name: str, **given: Any) -> Decision:
    values: dict[str, Any] = {
        "candidate_id": "cand-1", "number": 1, "content_hash": "content", "packet_hash": "packet", "verdict": "approve",
        "reviewer_id": "user-rosa", "reason": "checked three episodes", "at": rows.AT,
    }  # fmt: skip
    return Decision(namespace=rows.SPACE, id=name, **{**values, **given})


def evidence(**given: Any) -> Evidence:
    values: dict[str, Any] = {
        "namespace": rows.SPACE, "id": "ev-1", "candidate_id": "cand-1", "number": 1, "episode_id": "ep-1",
        "stance": "support", "group_id": "g-1",
    }  # fmt: skip
    return Evidence(**{**values, **given})


@pytest.fixture
def staged(database: Database) -> Database:
    """A namespace with an episode, a candidate and a reviewer; a second namespace with an episode of its own."""
    with database.write() as session:
        rows.add(session, rows.namespace(), rows.episode("ep-1"), rows.candidate(), rows.revision(), rows.user())
        rows.add(session, rows.namespace("other"), rows.episode("ep-2", space="other"))
    return database


def refuses(database: Database, *wrong: Any) -> None:
    with pytest.raises(IntegrityError), database.write() as session:
        rows.add(session, *wrong)


def accepts(database: Database, *right: Any) -> None:
    with database.write() as session:
        rows.add(session, *right)


def test_one_live_decision_of_a_reviewer_on_one_text(staged: Database) -> None:
    accepts(staged, decision("d-1"))
    refuses(staged, decision("d-2", verdict="reject"))


def test_a_voided_decision_makes_room_for_another(staged: Database) -> None:
    accepts(staged, decision("d-1", voided_at=rows.AT), decision("d-2", voided_at=rows.AT), decision("d-3"))


def test_another_text_may_be_decided_anew(staged: Database) -> None:
    accepts(staged, decision("d-1"), decision("d-2", content_hash="other content"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: decision("d", verdict="maybe"),
        lambda: decision("d", reviewer_id="nobody"),
        lambda: decision("d", candidate_id="unknown"),
        lambda: rows.candidate("c", state="served"),
        lambda: rows.candidate("c", tier="none"),
        lambda: rows.episode("e", outcome="great"),
        lambda: rows.user("bob", role="king"),
        lambda: rows.run("r", state="paused"),
        lambda: rows.run("r", kind="weekly"),
        lambda: AuditHead(id=2),
        lambda: ApiToken(id="t", token_hash="h", role="king", created_at=rows.AT),
        lambda: evidence(stance="neutral"),
        lambda: evidence(episode_id="ep-2"),
        lambda: evidence(candidate_id="unknown"),
        lambda: rows.episode("e", space="unknown"),
        lambda: rows.episode("e", supersedes_id="ep-2"),
    ],
    ids=[
        "verdict unknown", "reviewer unknown", "candidate unknown", "candidate state unknown", "tier unknown",
        "outcome unknown", "role unknown", "run state unknown", "run kind unknown", "second audit head",
        "token role unknown", "stance unknown", "evidence from another namespace", "evidence of no candidate",
        "episode of no namespace", "revision of another namespace's episode",
    ],
)  # fmt: skip
def test_the_database_refuses(staged: Database, wrong: Any) -> None:
    refuses(staged, wrong())


def test_one_raw_record_is_kept_once_in_a_namespace(staged: Database) -> None:
    refuses(staged, rows.episode("again", source_id="another", source_hash="hash-ep-1"))
    accepts(staged, rows.episode("again", space="other", source_hash="hash-ep-1"))


def test_one_current_revision_of_a_source(staged: Database) -> None:
    refuses(staged, rows.episode("newer", source_id="ep-1"))
    accepts(staged, rows.episode("older", source_id="ep-1", is_current=False))


def test_records_without_a_source_id_do_not_collide(staged: Database) -> None:
    accepts(staged, rows.episode("a", source_id=None), rows.episode("b", source_id=None))


def test_one_active_version_of_a_rule(staged: Database) -> None:
    accepts(staged, rows.rule(), rows.version())
    refuses(staged, rows.version(number=2))
    accepts(staged, rows.version(number=2, state="quarantined"), rows.version(number=3, state="superseded"))


def test_a_version_cites_the_exact_revision_it_was_made_of(staged: Database) -> None:
    refuses(staged, rows.rule(), rows.version(candidate_number=2))


def test_lineage_names_versions_that_exist(staged: Database) -> None:
    accepts(staged, rows.rule(), rows.version())
    refuses(
        staged,
        VersionAncestor(
            namespace=rows.SPACE, rule_id="rule-1", version=1, ancestor_rule_id="rule-1", ancestor_version=9
        ),
    )


def test_an_exposure_names_a_version_that_exists(staged: Database) -> None:
    accepts(staged, rows.rule(), rows.version())
    served: dict[str, Any] = {
        "namespace": rows.SPACE, "session_id": "s-1", "token_id": "t", "rule_id": "rule-1", "epoch": 1, "position": 0,
        "request_id": "q", "at": rows.AT,
    }  # fmt: skip
    accepts(staged, Exposure(id="x-1", version=1, **served))
    refuses(staged, Exposure(id="x-2", version=2, **served))


def test_one_open_night_of_a_namespace(staged: Database) -> None:
    accepts(staged, rows.run("r-1"))
    refuses(staged, rows.run("r-2", key="2026-12-01"))
    accepts(staged, rows.run("r-3", space="other"))


def test_a_repair_may_run_beside_a_night(staged: Database) -> None:
    accepts(staged, rows.run("r-1"), rows.run("r-2", kind="repair", key="rule-1@1"))


def test_a_night_has_one_run_of_each_number(staged: Database) -> None:
    accepts(staged, rows.run("r-1", state="completed"))
    refuses(staged, rows.run("r-2", state="completed"))
    accepts(staged, rows.run("r-3", seq=2))


def test_one_step_of_each_stage_and_shard(staged: Database) -> None:
    accepts(staged, rows.run(), RunStep(id="s-1", run_id="run-1", namespace=rows.SPACE, stage="cluster"))
    refuses(staged, RunStep(id="s-2", run_id="run-1", namespace=rows.SPACE, stage="cluster"))


def test_an_episode_is_consumed_once(staged: Database) -> None:
    accepts(staged, rows.run(), RunEpisode(namespace=rows.SPACE, episode_id="ep-1", run_id="run-1"))
    accepts(staged, rows.run("run-2", seq=2, state="completed"))
    refuses(staged, RunEpisode(namespace=rows.SPACE, episode_id="ep-1", run_id="run-2"))


def test_an_episode_has_one_key(staged: Database) -> None:
    accepts(staged, EpisodeKey(namespace=rows.SPACE, episode_id="ep-1", key=b"k"))
    refuses(staged, EpisodeKey(namespace=rows.SPACE, episode_id="ep-1", key=b"k2"))
