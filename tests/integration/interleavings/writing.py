"""The writer of an interleaving: each act is one transaction with one event, through the storage's own functions."""

from __future__ import annotations

from random import Random

from sqlmodel import Session, select

from storage import outbox
from storage.engine import Database
from storage.queries.rules import VersionKey, versions_of
from storage.tables import Candidate, CandidateRevision, Namespace, RuleVersion, VersionAncestor
from storage.versions import add_version, move_versions, restore_version
from support import factories
from support.history import Committed
from tasks.promote.people import Reviewer
from tasks.revoke.step import revoke

from .stage import BEGINNING, Clock

RULES = ("alpha", "beta", "gamma")
CHILD = "gamma"
"""Descends from the first rule: it is quarantined when that one is revoked, and may be restored."""
SECRET = b"a secret for tests, 32 bytes long"
ROSA = Reviewer("rosa-id", "rosa", "reviewer", ())


class Writer:
    """Changes what readers of one namespace may see. ``commits`` grows by what it did."""

    def __init__(self, database: Database, namespace: str, clock: Clock, chance: Random) -> None:
        self._database, self._namespace, self._clock, self._chance = database, namespace, clock, chance
        self.commits: list[Committed] = []
        factories.make_namespace(database, namespace, BEGINNING)
        for name in RULES:
            content = factories.content_for(namespace, when_to_use=f"Before cancelling an order: {name}")
            factories.make_candidate(database, namespace, name, BEGINNING, content=content)
        for name in RULES:
            self.promote(name)

    def act(self) -> None:
        """Something that may be done now, drawn by chance."""
        name = self._chance.choice(RULES)
        state = self._newest(name).state
        if state == "active" and self._chance.random() < 0.6:
            self.revoke(name)
        elif state == "quarantined":
            self.restore(name)
        else:
            self.promote(name)

    def promote(self, name: str) -> None:
        """The next version of a rule, in place of the one before."""
        with self._database.write() as session:
            epoch = outbox.lock_namespace(session, self._namespace) + 1
            keys = [(row.rule_id, row.version) for row in versions_of(session, self._namespace, name)]
            told = {"reason": "a newer version", "epoch": epoch, "now": self._clock.date()}
            gone = move_versions(session, self._namespace, keys, to="superseded", sources={"active"}, **told)
            row = add_version(
                session, *self._text(session, name), rule_id=name, evidence={}, recheck_at=None,
                reason="promoted", epoch=epoch, now=self._clock.date(),
            )  # fmt: skip
            if name == CHILD:
                self._descend(session, row)
            changes = [outbox.change("superseded", *key) for key in gone]
            outbox.publish(
                session, self._namespace, [*changes, outbox.change("promoted", name, row.version)], self._clock.date()
            )
        self._note()

    def revoke(self, name: str) -> None:
        """The real revocation, descendants and all."""
        revoke(
            self._database, self._namespace, name, reason="it misleads", actor=ROSA, now=self._clock.date(),
            secret=SECRET,
        )  # fmt: skip
        self._note()

    def restore(self, name: str) -> None:
        """Serve what was quarantined again."""
        key = (name, self._newest(name).version)
        with self._database.write() as session:
            epoch = outbox.lock_namespace(session, self._namespace) + 1
            told = {"reason": "it stands alone", "epoch": epoch, "now": self._clock.date()}
            if not restore_version(session, self._namespace, key, lineage=(), **told):
                return
            outbox.publish(session, self._namespace, [outbox.change("restored", *key)], self._clock.date())
        self._note()

    def _text(self, session: Session, name: str) -> tuple[Candidate, CandidateRevision]:
        key = (self._namespace, name)
        return session.get_one(Candidate, key), session.get_one(CandidateRevision, (*key, 1))

    def _descend(self, session: Session, row: RuleVersion) -> None:
        parent = versions_of(session, self._namespace, RULES[0])[0]
        session.add(
            VersionAncestor(namespace=self._namespace, rule_id=row.rule_id, version=row.version,
                            ancestor_rule_id=parent.rule_id, ancestor_version=parent.version)
        )  # fmt: skip

    def _newest(self, name: str) -> RuleVersion:
        with self._database.read() as session:
            return versions_of(session, self._namespace, name)[0]

    def _note(self) -> None:
        """What was committed, as the outbox has it, and what the store holds as active now."""
        with self._database.read() as session:
            epoch = session.get_one(Namespace, self._namespace).epoch
            event = session.get_one(outbox.OutboxEvent, (self._namespace, epoch))
            wanted = select(RuleVersion).where(RuleVersion.namespace == self._namespace, RuleVersion.state == "active")
            active: frozenset[VersionKey] = frozenset((row.rule_id, row.version) for row in session.exec(wanted))
            changes = tuple((one["event"], (one["rule"], one["version"])) for one in event.changes)
        self.commits.append(Committed(self._clock(), epoch, changes, active))
