"""A canary for a drill: a rule that stands for nothing, staged and approved as any other, to be revoked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from storage.candidates import add_revision
from storage.engine import Database
from storage.episodes import ensure_namespace
from storage.ids import content_hash
from storage.people import add_token, add_user
from storage.tables import Candidate, CandidateRevision, Evidence
from tasks.promote.people import Reviewer
from tasks.promote.step import approve

TASK = "Before anything in a drill, ask the canary"
WHY = "a canary of a drill: it stands for nothing and is revoked within the minute"
RECHECK_AFTER = timedelta(days=30)
TOKEN_LIFE = timedelta(hours=1)


@dataclass(frozen=True)
class Canary:
    """A promoted rule and who promoted it. ``task`` is what readers search for."""

    namespace: str
    rule_id: str
    version: int
    task: str
    reviewer: Reviewer


def plant(
    database: Database, namespace: str, *, now: datetime, secret: bytes, name: str, cites: tuple[str, ...] = ()
) -> Canary:
    """Stage a rule and approve it as a reviewer made for this drill.

    ``name`` tells canaries of a namespace apart, and each is planted once; ``cites`` are episodes that it rests on:
    what they read is its lineage.

    Raises:
        DecisionRefused: the approval was refused; see ``tasks.promote.errors``.
    """
    content = _content(namespace, name, now)
    packet = _packet()
    claim = content_hash([namespace, name], 12)
    candidate_id = f"canary-{claim}"
    hashes = content_hash(content), content_hash(packet)
    with database.write() as session:
        ensure_namespace(session, namespace, now)
        user = add_user(
            session, name=f"drill-{claim}", role="reviewer", namespaces=[namespace], password_hash=None, now=now
        )
        session.add(
            Candidate(
                namespace=namespace, id=candidate_id, kind="rule", tier="standard", title=content["when_to_use"],
                predicate_id=claim, content_hash=hashes[0], packet_hash=hashes[1], created_at=now,
                updated_at=now,
            )
        )  # fmt: skip
        session.flush()
        revision = CandidateRevision(
            namespace=namespace, candidate_id=candidate_id, number=1, content=content, content_hash=hashes[0],
            packet=packet, packet_hash=hashes[1], author="drill", drafter="drill", mode="none", prompt_hash="none",
            created_at=now,
        )  # fmt: skip
        add_revision(session, revision, [_cite(namespace, candidate_id, episode) for episode in cites])
    reviewer = Reviewer(user.id, user.name, user.role, (namespace,))
    done = approve(
        database, namespace, candidate_id, content_hash=hashes[0], packet_hash=hashes[1], reviewer=reviewer,
        reason=WHY, now=now, secret=secret,
    )  # fmt: skip
    assert done.rule_id is not None, "one approval is all that the standard tier asks for"
    assert done.version is not None
    return Canary(namespace, done.rule_id, done.version, content["when_to_use"], reviewer)


def reader_token(database: Database, namespace: str, now: datetime) -> str:
    """A token for the readers of a drill; it ends by itself after an hour."""
    with database.write() as session:
        _, token = add_token(
            session, role="agent", namespaces=[namespace], label="drill", now=now, expires_at=now + TOKEN_LIFE
        )
        return token


def _content(namespace: str, name: str, now: datetime) -> dict[str, Any]:
    recheck = (now + RECHECK_AFTER).date().isoformat()
    return {
        "when_to_use": f"{TASK} {name}",
        "guidance": ["This rule is a canary: serving it after it was revoked is what a drill looks for."],
        "scope": {"namespace": namespace, "environment": {}, "agents": [], "valid_from": None, "recheck_at": recheck},
        "predicate": {"kind": "drill", "direction": "canary", "check": name},
    }


def _packet() -> dict[str, Any]:
    """Whole, so that it can be approved as any other; it claims nothing."""
    return {
        "summary": WHY,
        "effect": {"odds_ratio": None, "why": WHY},
        "held_out": {"odds_ratio": None, "low": None, "high": None},
        "evidence": {"support": 0, "counter": 0, "independent_groups": 0},
        "verification_method": "none: it claims nothing",
        "counter_example": {"why": WHY},
        "owner": "the drill",
        "authoritative_source": "the drill",
        "tier_why": "it advises nothing",
        "checks": [{"name": "drill", "verdict": "pass", "detail": WHY}],
    }


def _cite(namespace: str, candidate_id: str, episode: str) -> Evidence:
    return Evidence(
        namespace=namespace, id=f"{candidate_id}-{content_hash(episode, 12)}", candidate_id=candidate_id, number=1,
        episode_id=episode, step_ids=["1"], stance="support", group_id=episode, stratum="drill",
    )  # fmt: skip
