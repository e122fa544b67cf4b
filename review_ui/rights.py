"""What a person may see of other people, and do to them. Pure; every act asks again on the server.

An admin is one within their namespaces: whoever sees more than they do is not theirs to touch. Everybody else has to do
with nobody but themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from review_ui.access import Viewer
from storage.namespaces import covers, meets, namespace_allows
from storage.tables import ApiToken, User

NARROWER: Mapping[str, tuple[str, ...]] = {
    "admin": ("admin", "reviewer", "auditor"),
    "reviewer": ("reviewer", "auditor"),
    "auditor": ("auditor",),
}
"""Roles that a personal token may have, by the role of its person: never one that allows more."""


def sees_person(who: Viewer, user: User) -> bool:
    """Whether somebody's account is shown: one's own, and to an admin those that have to do with their namespaces."""
    return user.id == who.user_id or (who.role == "admin" and meets(who.namespaces, user.namespaces))


def manages(who: Viewer, user: User) -> bool:
    """Whether an account may be disabled, enabled, or logged out: an admin, somebody else's, none that sees more."""
    return who.role == "admin" and user.id != who.user_id and covers(who.namespaces, user.namespaces)


def sees_token(who: Viewer, token: ApiToken) -> bool:
    """Whether a token is shown."""
    return token.user_id == who.user_id or (who.role == "admin" and meets(who.namespaces, token.namespaces))


def may_revoke(who: Viewer, token: ApiToken, owner: User | None) -> bool:
    """Whether a token may be revoked: one's own, and by an admin those of no more than they see themselves."""
    if token.user_id == who.user_id:
        return True
    wide = [token.namespaces, *([owner.namespaces] if owner else [])]
    return who.role == "admin" and all(covers(who.namespaces, each) for each in wide)


def shown_namespaces(who: Viewer, namespaces: Sequence[str]) -> tuple[list[str], bool]:
    """The part of a grant that a viewer may know of, and whether there is more to it."""
    if not namespaces:
        return (list(who.namespaces), True) if who.namespaces else ([], False)
    inside = {path for path in namespaces if namespace_allows(who.namespaces, path)}
    around = {mine for mine in who.namespaces if any(namespace_allows([path], mine) for path in namespaces)}
    return sorted(inside | around), not inside.issuperset(namespaces)


def may_have(who: Viewer, role: str, namespaces: Sequence[str]) -> bool:
    """Whether a personal token of this role and these namespaces is no wider than its person."""
    return role in NARROWER.get(who.role, ()) and covers(who.namespaces, namespaces)
