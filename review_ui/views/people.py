"""People, their sessions and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from review_ui import rights
from review_ui.access import Viewer
from review_ui.words import N_, _, ngettext
from storage.tables import ApiToken, User, WebSession

ROLES = {
    "agent": N_("agent"),
    "ingest": N_("ingest"),
    "reviewer": N_("reviewer"),
    "admin": N_("admin"),
    "auditor": N_("auditor"),
}
VIA = {"login": N_("password"), "token": N_("personal token"), "proxy": N_("proxy")}
DAYS = (7, 30, 90, 365)
SAID = {
    "session": N_("That session is ended."),
    "sessions": N_("The other sessions are ended."),
    "theirs": N_("Their sessions are ended."),
    "disabled": N_("The account is disabled: its sessions and tokens stopped working."),
    "enabled": N_("The account works again. Its old tokens stay revoked."),
    "revoked": N_("The token is revoked: it stopped working."),
    "already": N_("Nothing was to be done: it was so already."),
}


@dataclass(frozen=True)
class PersonRow:
    """One account. ``manage`` says whether the viewer may do anything to it; ``last_seen`` None where nothing is kept.

    ``sessions`` is None where the viewer is not told how many are open.
    """

    id: str
    name: str
    role: str
    namespaces: str
    is_me: bool
    disabled_at: datetime | None
    last_seen: datetime | None
    sessions: int | None
    manage: bool


@dataclass(frozen=True)
class SessionRow:
    """One of the viewer's own page sessions. ``ref`` names it in a form; it opens nothing."""

    ref: str
    is_this: bool
    via: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True)
class TokenRow:
    """One token; its secret is stored nowhere. ``owner`` is a person's name, empty for a program's token."""

    id: str
    label: str
    role: str
    namespaces: str
    owner: str
    is_mine: bool
    state: str
    badge: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    may_revoke: bool


def person_row(
    who: Viewer, user: User, sessions: Sequence[WebSession], token_used: datetime | None, acted: datetime | None
) -> PersonRow:
    """A row of the list of people, with what the viewer may know of them."""
    is_me, manage = user.id == who.user_id, rights.manages(who, user)
    told = is_me or manage
    seen = [at for at in (token_used, acted, *(one.last_seen_at for one in sessions)) if at is not None]
    return PersonRow(
        id=user.id,
        name=user.name,
        role=role_words(user.role),
        namespaces=places(who, user.namespaces),
        is_me=is_me,
        disabled_at=user.disabled_at,
        last_seen=max(seen, default=None) if told else None,
        sessions=len(sessions) if told else None,
        manage=manage,
    )


def session_row(one: WebSession, ref: str, is_this: bool) -> SessionRow:
    """A row of the viewer's own sessions."""
    via = "token" if one.via == "login" and one.token_id else one.via
    return SessionRow(ref, is_this, _(VIA.get(via, via)), one.created_at, one.last_seen_at, one.expires_at)


def token_row(who: Viewer, token: ApiToken, owner: User | None, now: datetime) -> TokenRow:
    """A row of the list of tokens."""
    state, badge = _("live"), "good"
    if token.revoked_at is not None:
        state, badge = _("revoked"), "bad"
    elif token.expires_at is not None and token.expires_at <= now:
        state, badge = _("expired"), "dim"
    elif owner is not None and owner.disabled_at is not None:
        state, badge = _("account disabled"), "bad"
    return TokenRow(
        id=token.id,
        label=token.label,
        role=role_words(token.role),
        namespaces=places(who, token.namespaces),
        owner=owner.name if owner else "",
        is_mine=token.user_id == who.user_id,
        state=state,
        badge=badge,
        created_at=token.created_at,
        expires_at=token.expires_at,
        last_used_at=token.last_used_at,
        revoked_at=token.revoked_at,
        may_revoke=badge == "good" and rights.may_revoke(who, token, owner),
    )


def role_words(role: str) -> str:
    """A role in the reader's language."""
    return _(ROLES[role]) if role in ROLES else role


def places(who: Viewer, namespaces: Sequence[str]) -> str:
    """The namespaces of a grant, as far as the viewer may know them."""
    shown, more = rights.shown_namespaces(who, namespaces)
    if not shown:
        return _("more than you see") if more else _("every namespace")
    return _("{names}, and more than you see").format(names=", ".join(shown)) if more else ", ".join(shown)


def days_words() -> list[tuple[str, str]]:
    """How long a personal token may live."""
    return [(str(days), ngettext("{n} day", "{n} days", days).format(n=days)) for days in DAYS]
