"""Who decides: the person who is logged in, never a name given as an argument."""

from __future__ import annotations

from dataclasses import dataclass

from storage.namespaces import namespace_allows

DECIDING_ROLES = frozenset({"reviewer", "admin"})


@dataclass(frozen=True)
class Reviewer:
    """The person behind a page session or a personal token.

    ``namespaces`` holds path prefixes by whole segment; an empty tuple covers every namespace.
    """

    user_id: str
    name: str
    role: str
    namespaces: tuple[str, ...] = ()

    @property
    def actor(self) -> str:
        """The name under which the audit log keeps what this person did."""
        return f"user:{self.user_id}"

    def may_decide(self, namespace: str) -> bool:
        """Whether role and namespaces allow a decision here."""
        return self.role in DECIDING_ROLES and namespace_allows(self.namespaces, namespace)
