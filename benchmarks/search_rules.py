"""Invented rules for the search benchmark: a vocabulary in which few words are common and many are rare,
several families with themes of their own, scopes, kinds of evidence, some conflicts; the same ones in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

import sqlalchemy as sa

from storage import outbox
from storage.engine import Database
from storage.ids import content_hash
from storage.tables import Candidate, CandidateRevision, Conflict, Namespace, Rule, RuleVersion

SPACE = "acme/shop"
WORDS, COMMON = 30_000, ("order", "customer", "before", "call", "check", "status", "the", "first", "then", "if")
FAMILIES = 400
CONFLICTS = 500
BATCH = 2_000


@dataclass(frozen=True)
class Language:
    """An invented vocabulary: words by how often they are used, and a theme of its own for each family."""

    words: list[str]
    weights: list[float]
    themes: list[list[str]]

    def words_of(self, chance: random.Random, family: int, count: int) -> list[str]:
        """Words of a family: a third of its theme, a sixth that everybody uses, the rest of the language."""
        kinds = chance.choices((self.themes[family], COMMON, None), (2, 1, 3), k=count)
        drawn = chance.choices(self.words, cum_weights=self.weights, k=count)
        return [chance.choice(kind) if kind else word for kind, word in zip(kinds, drawn, strict=True)]


def language(chance: random.Random) -> Language:
    """The same one for the same seed."""
    syllables = [first + second for first in "bcdfgklmnprstvz" for second in ("a", "e", "i", "o", "u", "ar", "en")]
    words = list(dict.fromkeys("".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(WORDS)))
    weights = list(accumulate(1 / (place + 20) for place in range(len(words))))
    return Language(words, weights, [chance.sample(words, 12) for _ in range(FAMILIES)])


def contents(rules: int) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Rule id, family and content, one after the other."""
    chance = random.Random(7)
    spoken = language(chance)
    for number in range(rules):
        family = number % FAMILIES
        tool = "_".join(spoken.themes[family][:2])
        steps = [" ".join(spoken.words_of(chance, family, chance.randint(8, 16))) for _ in range(chance.randint(2, 4))]
        said = " ".join(spoken.words_of(chance, family, 9))
        environment = {"shop": chance.choice(("*", ">=2.0", ">=2.0,<3", "1.4"))} if number % 3 else {}
        scope = {"namespace": SPACE, "environment": environment, "agents": ["clerk"] if number % 11 == 0 else []}
        content = {"when_to_use": f"Before `{tool}`: {said}", "guidance": steps, "scope": scope}
        yield f"rule-{number:06}", family, content


def tasks(count: int) -> list[str]:
    """What agents ask for, in the words of one family each."""
    chance = random.Random(8)
    spoken = language(random.Random(7))
    return [" ".join(spoken.words_of(chance, chance.randrange(FAMILIES), chance.randint(6, 16))) for _ in range(count)]


def load(database: Database, rules: int, now: datetime) -> None:
    """All rules active, each in an event of its portion; some of them in conflict."""
    with database.write() as session:
        session.add(Namespace(path=SPACE, created_at=now))
    portion: list[tuple[str, int, dict[str, Any]]] = []
    for each in contents(rules):
        portion.append(each)
        if len(portion) == BATCH:
            _insert(database, portion, now)
            portion = []
    _insert(database, portion, now)
    chance = random.Random(9)
    pairs = [sorted(chance.sample(range(rules), 2)) for _ in range(min(CONFLICTS, rules // 50))]
    rows = [
        {"namespace": SPACE, "id": f"c{place}", "kind": "opposite", "left_ref": f"rule:rule-{a:06}@1",
         "right_ref": f"rule:rule-{b:06}@1", "detail": "one says do, one says avoid", "sides": {}, "state": "open",
         "at": now}
        for place, (a, b) in enumerate(pairs)
    ]  # fmt: skip
    with database.write() as session:
        if rows:
            session.execute(sa.insert(Conflict), rows)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("ANALYZE")
        connection.commit()


def _insert(database: Database, portion: Sequence[tuple[str, int, dict[str, Any]]], now: datetime) -> None:
    if not portion:
        return
    evidence = [
        {"independent_groups": 9, "support": 12, "counter": 1, "lift": {"odds_ratio": 0.2, "low": 0.1, "high": 0.6}},
        {"independent_groups": 3, "support": 4, "counter": 0, "lift": {}},
        {},
    ]
    with database.write() as session:
        epoch = outbox.lock_namespace(session, SPACE) + 1
        hashed = [(rule_id, family, content, content_hash(content)) for rule_id, family, content in portion]
        common = {"namespace": SPACE, "packet_hash": "p", "created_at": now}
        session.execute(sa.insert(Candidate), [
            {**common, "id": rule_id, "kind": "rule", "state": "promoted", "tier": "standard", "content_hash": digest,
             "title": content["when_to_use"][:80], "predicate_id": rule_id, "family_id": f"family-{family}",
             "updated_at": now, "tier_why": "", "number": 1, "revoked_before": False, "rank": 0.0,
             "failing": 0, "warning": 0, "reach": 0, "why_now": "", "wanted": {}, "taken_by": []}
            for rule_id, family, content, digest in hashed
        ])  # fmt: skip
        session.execute(sa.insert(CandidateRevision), [
            {**common, "candidate_id": rule_id, "number": 1, "content": content, "content_hash": digest, "packet": {},
             "author": "statistical", "drafter": "statistical", "mode": "strategic", "inputs": [], "prompt_hash": "",
             "cost": {}}
            for rule_id, _, content, digest in hashed
        ])  # fmt: skip
        session.execute(sa.insert(Rule), [
            {"namespace": SPACE, "id": rule_id, "predicate_id": rule_id, "title": content["when_to_use"][:80],
             "created_at": now}
            for rule_id, _, content, _ in hashed
        ])  # fmt: skip
        session.execute(sa.insert(RuleVersion), [
            {"namespace": SPACE, "rule_id": rule_id, "version": 1, "state": "active", "kind": "rule",
             "tier": "high" if number % 50 == 0 else "standard", "content": content, "content_hash": digest,
             "evidence": evidence[number % 3], "candidate_id": rule_id, "candidate_number": 1, "promoted_at": now,
             "promoted_epoch": epoch, "state_at": now, "state_epoch": epoch, "state_reason": "", "recheck_at": None}
            for number, (rule_id, _, content, digest) in enumerate(hashed)
        ])  # fmt: skip
        changes = [outbox.change("promoted", rule_id, 1) for rule_id, *_ in hashed]
        outbox.publish(session, SPACE, changes, now)
