"""An index that was moved forward answers as one that was built anew, and never with what was withdrawn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest
from sqlmodel import select

from read_api import indexes as indexes_module
from read_api import ranking
from read_api.errors import Busy, Unauthenticated
from read_api.indexes import Index, Indexes, made
from read_api.selection import Asker, choose
from read_api.shelf import Option
from read_api.sources import Source
from storage import outbox
from storage.engine import Database
from storage.queries.readers import epoch_of
from storage.queries.rules import VersionKey
from storage.tables import Candidate, CandidateRevision, Namespace, RuleVersion
from storage.versions import add_version, move_versions
from support import factories

SPACE = "acme/shop"
WORDS = [
    "cancel",
    "cancelled",
    "order",
    "refund",
    "return",
    "label",
    "customer",
    "ship",
    "shipped",
    "退货",
    "заказ",
    "warehouse",
    "stock",
    "price",
    "check",
]


@dataclass
class Store:
    """Rules that come and go by the storage's own writes, each with its event."""

    database: Database
    now: datetime
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    made: int = 0

    def text(self) -> dict[str, object]:
        """A content of few words, so that texts are alike and score alike."""
        said = [" ".join(self.chance.choices(WORDS, k=self.chance.randint(1, 6))) for _ in range(2)]
        environment = {"shop": self.chance.choice(["1.0", ">=2", "*"])} if self.chance.random() < 0.5 else {}
        return factories.content_for(
            SPACE, when_to_use=said[0], guidance=said[1:], scope={"namespace": SPACE, "environment": environment}
        )

    def promote(self, rule_id: str) -> VersionKey:
        """The next version of a rule, in the place of the one that is active."""
        self.made += 1
        name = f"candidate-{self.made}"
        factories.make_candidate(self.database, SPACE, name, self.now, content=self.text())
        with self.database.write() as session:
            epoch = outbox.lock_namespace(session, SPACE) + 1
            active = [row for row in self._versions(session) if row.rule_id == rule_id and row.state != "revoked"]
            keys = [(row.rule_id, row.version) for row in active]
            gone = move_versions(
                session, SPACE, keys, to="superseded", reason="", epoch=epoch, now=self.now,
                sources=("active", "quarantined"),
            )  # fmt: skip
            session.flush()
            row = add_version(
                session, session.get_one(Candidate, (SPACE, name)),
                session.get_one(CandidateRevision, (SPACE, name, 1)), rule_id=rule_id,
                evidence=self.chance.choice([{}, {"support": 3}, {"lift": {"odds_ratio": 0.1}}]), recheck_at=None,
                reason="promoted", epoch=epoch, now=self.now,
            )  # fmt: skip
            changes = [outbox.change("superseded", *key) for key in gone]
            outbox.publish(session, SPACE, [*changes, outbox.change("promoted", rule_id, row.version)], self.now)
            return rule_id, row.version

    def move(self, keys: list[VersionKey], to: str, event: outbox.EventKind) -> None:
        """Change states, in one event."""
        with self.database.write() as session:
            epoch = outbox.lock_namespace(session, SPACE) + 1
            moved = move_versions(session, SPACE, keys, to=to, reason="", epoch=epoch, now=self.now)
            if moved:
                outbox.publish(session, SPACE, [outbox.change(event, *key) for key in moved], self.now)

    def step(self) -> None:
        """Something that may happen in a store."""
        with self.database.read() as session:
            rows = self._versions(session)
        states = {
            state: [(r.rule_id, r.version) for r in rows if r.state == state] for state in ("active", "quarantined")
        }
        drawn = self.chance.random()
        if drawn < 0.45 or not states["active"]:
            self.promote(f"rule-{self.chance.randrange(25):02}")
        elif drawn < 0.6:
            self.move(self.chance.sample(states["active"], 1), "revoked", "revoked")
        elif drawn < 0.8:
            some = min(len(states["active"]), self.chance.randint(1, 4))
            self.move(self.chance.sample(states["active"], some), "quarantined", "quarantined")
        elif drawn < 0.85:
            self.move(self.chance.sample(states["active"], 1), "expired", "expired")
        elif states["quarantined"]:
            self.move(self.chance.sample(states["quarantined"], 1), "active", "restored")

    def active(self) -> dict[str, int]:
        """What is active, by rule."""
        with self.database.read() as session:
            return {row.rule_id: row.version for row in self._versions(session) if row.state == "active"}

    def epoch(self) -> int:
        """The epoch in the database."""
        with self.database.read() as session:
            return epoch_of(session, SPACE) or 0

    @staticmethod
    def _versions(session: object) -> list[RuleVersion]:
        return list(session.exec(select(RuleVersion)).all())  # type: ignore[attr-defined]


@pytest.fixture
def store(database: Database, now: datetime) -> Store:
    """An empty namespace."""
    factories.make_namespace(database, SPACE, now)
    return Store(database, now)


@pytest.fixture(params=["everything", "the rarest"])
def scanned(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches that read all places, and searches whose limit is reached at once."""
    if request.param == "the rarest":
        monkeypatch.setattr(ranking, "SCANNED", 12)
        monkeypatch.setattr(ranking, "LOOKED", 3)


def answers(index: Index, now: datetime, tasks: list[str]) -> list[object]:
    """What searches get, with every score, under names that do not depend on how the index came to be."""
    found: list[object] = []
    for task in tasks:
        scores = index.ranking.scores(task)
        shelf = index.shelf
        found.append({shelf[at].id: float(scores[at]) for at in range(shelf.size) if shelf.is_in[at]})
        for k, budget in ((1, None), (4, None), (4, 40)):
            choice = choose(shelf, scores, Asker({"shop": "1.0"}, None, k, budget, now, "s1", 0.1))
            named = [(shelf[at].id, shelf[at].version) for at in choice.served]
            found.append((named, [(shelf[at].id, why) for at, why in choice.withheld], choice.found))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_moved_index_answers_as_a_fresh_one_after_any_series_of_changes(
    store: Store, scanned: None, seed: int, now: datetime
) -> None:
    print(f"seed {seed}")
    store.chance = random.Random(seed)
    moved, source = Indexes(), Source(store.database, SPACE)
    kept = moved.get(source, store.epoch())
    for _ in range(14):
        for _ in range(store.chance.randint(1, 3)):
            store.step()
        index, fresh = moved.get(source, store.epoch()), made(source)
        tasks = [" ".join(store.chance.choices(WORDS, k=store.chance.randint(1, 5))) for _ in range(4)]
        assert answers(index, now, tasks) == answers(fresh, now, tasks)
        active = store.active()
        listed = {
            index.shelf[at].id: index.shelf[at].version for at in range(index.shelf.size) if index.shelf.is_in[at]
        }
        assert listed == active
        assert index.epoch == store.epoch()
    assert index.ranking.postings is kept.ranking.postings, "it was moved, not built anew"


def test_an_older_snapshot_still_answers_of_its_own_epoch(store: Store, now: datetime) -> None:
    first = [store.promote(f"rule-{n}") for n in range(6)]
    moved, source = Indexes(), Source(store.database, SPACE)
    before = moved.get(source, store.epoch())
    scores = before.ranking.scores("order refund check").tolist()
    store.move(first[:3], "revoked", "revoked")
    store.promote("rule-new")
    after = moved.get(source, store.epoch())
    assert before.ranking.scores("order refund check").tolist() == scores
    assert before.shelf.number_of("rule-new") is None
    assert after.shelf.number_of("rule-0") is None


def test_an_index_that_is_older_than_the_epoch_is_never_ready(store: Store) -> None:
    key = store.promote("rule-1")
    moved, source = Indexes(), Source(store.database, SPACE)
    moved.get(source, store.epoch())
    assert moved.ready(SPACE, store.epoch()) is not None
    store.move([key], "revoked", "revoked")
    assert moved.ready(SPACE, store.epoch()) is None
    assert not moved.get(source, store.epoch()).shelf.is_in.any()


def test_a_gap_in_the_events_builds_the_index_anew(store: Store) -> None:
    store.promote("rule-1")
    moved, source = Indexes(), Source(store.database, SPACE)
    before = moved.get(source, store.epoch())
    with store.database.write() as session:
        session.get_one(RuleVersion, (SPACE, "rule-1", 1)).state = "revoked"
        session.get_one(Namespace, SPACE).epoch += 1
    after = moved.get(source, store.epoch())
    assert not after.shelf.is_in.any()
    assert after.ranking.postings is not before.ranking.postings


def test_more_changes_than_are_worth_following_build_the_index_anew(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes_module, "EVENTS", 2)
    store.promote("rule-1")
    moved, source = Indexes(), Source(store.database, SPACE)
    before = moved.get(source, store.epoch())
    for number in range(5):
        store.promote(f"rule-{number}")
    followed = moved.get(source, store.epoch())
    assert followed.ranking.postings is before.ranking.postings, "read in portions"
    assert followed.shelf.number_of("rule-4") is not None


def test_what_was_erased_leaves_no_word_in_the_index(store: Store) -> None:
    kept, gone = store.promote("rule-1"), store.promote("rule-2")
    moved, source = Indexes(), Source(store.database, SPACE)
    moved.get(source, store.epoch())
    with store.database.write() as session:
        row = session.get_one(RuleVersion, (SPACE, *kept))
        row.content = {**row.content, "when_to_use": "erased", "guidance": []}
        outbox.publish(session, SPACE, [outbox.change("purged", *kept)], store.now)
    store.move([gone], "revoked", "revoked")
    moved.get(source, store.epoch())
    index = moved.ready(SPACE, store.epoch())
    assert index is not None
    assert {name for name in index.ranking.names if name.startswith("w:")} == {"w:erased"}


def test_a_token_that_ends_while_an_index_is_built_makes_none(store: Store) -> None:
    store.promote("rule-1")

    class Ended(Source):
        def pages(self) -> Iterator[list[Option]]:
            yield []
            object.__setattr__(self, "namespace", "acme/elsewhere")

    moved = Indexes()
    with pytest.raises(Unauthenticated):
        moved.get(Ended(store.database, SPACE), store.epoch())
    assert moved.ready(SPACE, 0) is None


def test_more_requests_than_may_wait_for_a_first_index_are_sent_away(store: Store) -> None:
    moved, source = Indexes(), Source(store.database, SPACE)
    moved._places[SPACE].waiting = indexes_module.MAX_WAITING
    with pytest.raises(Busy):
        moved.get(source, store.epoch())
    moved._places[SPACE].waiting = 0
    assert moved.get(replace(source), store.epoch()).shelf.size == 0
