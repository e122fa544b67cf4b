"""Whom a rule reached and what was done under it, before it is revoked and afterwards: the same question."""

from __future__ import annotations

from dataclasses import dataclass

from storage.bodies import load_bodies
from storage.engine import Database
from storage.queries import rules as rule_queries
from storage.queries.lineage import episodes_that_read, sessions_that_read
from storage.queries.pages_revoke import episodes_shown, sessions_standing
from storage.queries.rules import VersionKey
from storage.tables import Namespace
from tasks.promote.errors import RuleGone
from tasks.revoke.report import Action, ToolPolicy, actions_of

AT_A_TIME = 200
"""Runs whose bodies are read at a time."""


@dataclass(frozen=True)
class Reached:
    """Sessions that may have read a rule or what descends from it, and the calls of their runs after that.

    ``sessions`` says of each whether it is still open; None where it never said. ``purged`` runs tell nothing any more.
    """

    rule_id: str
    versions: list[VersionKey]
    sessions: dict[str, bool | None]
    runs: int
    purged: int
    actions: list[Action]

    @property
    def cancellable(self) -> list[Action]:
        """Those that can still be undone, by the policy's word."""
        return [one for one in self.actions if one.cancellable]


def reached(database: Database, namespace: str, rule_id: str) -> Reached:
    """Whom every version of a rule, and of what descends from it, may have reached. Reads only.

    Raises:
        RuleGone: if there is no such rule.
    """
    with database.read() as session:
        rows = rule_queries.versions_of(session, namespace, rule_id)
        if not rows:
            raise RuleGone(f"there is no rule {rule_id} in {namespace}; list the rules and look again")
        own = {(row.rule_id, row.version) for row in rows}
        keys = own | rule_queries.descendants_of(session, namespace, own)
        policy = ToolPolicy.read(session.get_one(Namespace, namespace).policy.get("tools"))
        names = sorted(sessions_that_read(session, namespace, keys))
        standing = sessions_standing(session, namespace, names)
        ran = sorted(episodes_that_read(session, namespace, keys))
    purged, actions = 0, []
    for start in range(0, len(ran), AT_A_TIME):
        part = ran[start : start + AT_A_TIME]
        with database.read() as session:
            of = {row.id: row.session_id for row in episodes_shown(session, namespace, part)}
            bodies = load_bodies(session, namespace, part)
        purged += len(part) - len(bodies)
        for name in part:
            actions += actions_of(name, of.get(name), bodies.get(name) or {}, keys, policy)
    return Reached(rule_id, sorted(keys), {name: standing.get(name) for name in names}, len(ran), purged, actions)
