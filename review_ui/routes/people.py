"""People: accounts, page sessions, tokens. What may be done to whom is looked at again inside each transaction."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response
from sqlmodel import Session

from review_ui import rights
from review_ui.access import CheckedViewer, Viewer, ViewerDep
from review_ui.errors import NotFound, NotYours, PageRefused
from review_ui.links import with_query
from review_ui.paging import SIZE, Pager, edged, offset_of, paged
from review_ui.site import Site, SiteDep
from review_ui.views.people import DAYS, SAID, PersonRow, days_words, person_row, role_words, session_row, token_row
from review_ui.words import N_, _
from storage import audit, people
from storage.ids import keyed_hash
from storage.namespaces import NamespaceMalformed, parse_namespace
from storage.queries import people as queries
from storage.queries.pages_audit import latest_acts
from storage.queries.sessions import open_sessions
from storage.tables import ApiToken, User
from storage.tables.people import ROLES

router = APIRouter()
LONGEST_LABEL = 100
MOST_TOKENS = 50
"""Live personal tokens of one person."""
MOST_LOOKED_AT = 20_000
COMMANDS = (
    ("slowwave user add NAME --role reviewer --namespace NS", N_("make an account; it prints a personal token once")),
    ("slowwave user password NAME", N_("set a password, to log in with instead")),
    ("slowwave user token NAME", N_("make somebody a further personal token")),
    ("slowwave token create --role agent --namespace NS", N_("make a token for a program")),
)


@router.get("/people")
def show_people(
    site: SiteDep,
    who: ViewerDep,
    name: str = "",
    role: str = "",
    page: Annotated[int, Query(ge=1)] = 1,
    said: str = "",
) -> Response:
    """The viewer's account and sessions; for an admin also the people of their namespaces."""
    now = site.clock()
    with site.database.read() as session:
        mine = open_sessions(session, [who.user_id], now)
        me = queries.user_by_id(session, who.user_id)
        found, pager = _people(session, who, name, role, page)
        rows = _person_rows(session, who, found, now)
        (own,) = _person_rows(session, who, [me] if me else [], now)
    return site.page(
        "people.html",
        who=who,
        active="people",
        tab="people",
        part="_people_accounts.html",
        title=_("People"),
        said=_(SAID.get(said, "")),
        me=own,
        sessions=[session_row(one, _ref(site, one.id), one.id == who.session_id) for one in mine],
        rows=rows,
        pager=pager,
        chosen={"name": name, "role": role},
        roles=[(each, role_words(each)) for each in ROLES],
        commands=[(command, _(words)) for command, words in COMMANDS],
    )


@router.get("/people/tokens")
def show_tokens(site: SiteDep, who: ViewerDep, older: str = "", newer: str = "", said: str = "") -> Response:
    """Tokens: one's own; for an admin all of their namespaces."""
    return _tokens_page(site, who, older=older, newer=newer, said=said)


@router.post("/people/tokens")
def make_token(
    site: SiteDep,
    who: CheckedViewer,
    label: Annotated[str, Form(max_length=1000)] = "",
    role: Annotated[str, Form()] = "",
    namespaces: Annotated[str, Form(max_length=5000)] = "",
    days: Annotated[int, Form()] = DAYS[1],
) -> Response:
    """A personal token for oneself, shown in this answer and never again."""
    label = " ".join(label.split())
    if not label or len(label) > LONGEST_LABEL or not label.isprintable():
        raise PageRefused(
            _("A token needs a label of 1 to {n} visible characters.").format(n=LONGEST_LABEL),
            _("Say what it is for, such as the name of the machine that will use it."),
        )
    if days not in DAYS:
        raise PageRefused(_("A personal token lives for one of the times that the form offers."), _("Choose one."))
    grants = _grants(namespaces) or list(who.namespaces)
    if not rights.may_have(who, role, grants):
        raise NotYours(
            _("A personal token allows no more than you may do yourself."),
            _("Choose your own role or a lesser one, and namespaces among yours."),
        )
    now = site.clock()
    with site.database.write() as session:
        _still(session, who)
        live = [one for one in queries.tokens_of(session, who.user_id) if _is_live(one, now)]
        if len(live) >= MOST_TOKENS:
            raise PageRefused(
                _("You have {n} live tokens, which is as many as one may have.").format(n=len(live)),
                _("Revoke those that you no longer use."),
            )
        token, secret = people.add_token(
            session,
            role=role,
            namespaces=grants,
            now=now,
            label=label,
            user_id=who.user_id,
            expires_at=_expiry(session, who, now + timedelta(days=days)),
        )
        detail = {"role": role, "namespaces": grants, "user": who.user_id, "expires": _iso(token.expires_at)}
        _record(session, who, "token.created", f"token:{token.id}", detail, now)
    return _tokens_page(site, who, made={"secret": secret, "label": label, "expires_at": token.expires_at})


@router.post("/people/tokens/{token_id}/revoke")
def revoke_token(site: SiteDep, who: CheckedViewer, token_id: str) -> Response:
    """End a token: its owner, or an admin."""
    now = site.clock()
    with site.database.write() as session:
        _still(session, who)
        token = queries.token_by_id(session, token_id)
        if token is None or not rights.sees_token(who, token):
            raise NotFound(_("There is no such token among those you see."), _("Go back to the list of tokens."))
        owner = queries.user_by_id(session, token.user_id) if token.user_id else None
        if not rights.may_revoke(who, token, owner):
            raise NotYours(_("This token covers more than you see."), _("Ask an admin who sees all of it."))
        done = token.revoked_at is None
        people.revoke_token(session, token, now)
        if done:
            _record(session, who, "token.revoked", f"token:{token.id}", {}, now)
    return RedirectResponse(with_query("/people/tokens", said="revoked" if done else "already"), status_code=303)


@router.post("/people/sessions/end")
def end_session(site: SiteDep, who: CheckedViewer, session_ref: Annotated[str, Form(max_length=200)]) -> Response:
    """End one of one's own page sessions."""
    now = site.clock()
    with site.database.write() as session:
        mine = open_sessions(session, [who.user_id], now)
        ended = [one.id for one in mine if hmac.compare_digest(_ref(site, one.id).encode(), session_ref.encode())]
        if ended:
            people.end_sessions(session, who.user_id, only=ended)
            _record(session, who, "session.ended", f"user:{who.user_id}", {"sessions": 1}, now)
    return RedirectResponse(with_query("/people", said="session" if ended else "already"), status_code=303)


@router.post("/people/sessions/end-others")
def end_other_sessions(site: SiteDep, who: CheckedViewer) -> Response:
    """End all of one's own page sessions but this one."""
    now = site.clock()
    with site.database.write() as session:
        count = people.end_sessions(session, who.user_id, but=who.session_id)
        if count:
            _record(session, who, "session.ended", f"user:{who.user_id}", {"sessions": count}, now)
    return RedirectResponse(with_query("/people", said="sessions" if count else "already"), status_code=303)


@router.post("/people/accounts/{user_id}/end-sessions")
def end_their_sessions(site: SiteDep, who: CheckedViewer, user_id: str) -> Response:
    """Log somebody out everywhere: an admin."""
    now = site.clock()
    with site.database.write() as session:
        user = _managed(session, who, user_id)
        count = people.end_sessions(session, user.id)
        if count:
            _record(session, who, "session.ended", f"user:{user.id}", {"sessions": count}, now)
    return RedirectResponse(with_query("/people", said="theirs" if count else "already"), status_code=303)


@router.post("/people/accounts/{user_id}/disable")
def disable(site: SiteDep, who: CheckedViewer, user_id: str) -> Response:
    """End an account with its sessions and tokens: an admin, not their own. The last admin stays by that."""
    now = site.clock()
    with site.database.write() as session:
        user = _managed(session, who, user_id)
        done = user.disabled_at is None
        if done:
            people.disable_user(session, user, now)
            _record(session, who, "user.disabled", f"user:{user.id}", {}, now)
    return RedirectResponse(with_query("/people", said="disabled" if done else "already"), status_code=303)


@router.post("/people/accounts/{user_id}/enable")
def enable(site: SiteDep, who: CheckedViewer, user_id: str) -> Response:
    """Let an account be used again: an admin."""
    now = site.clock()
    with site.database.write() as session:
        user = _managed(session, who, user_id)
        done = user.disabled_at is not None
        if done:
            people.enable_user(session, user)
            _record(session, who, "user.enabled", f"user:{user.id}", {}, now)
    return RedirectResponse(with_query("/people", said="enabled" if done else "already"), status_code=303)


def _managed(session: Session, who: Viewer, user_id: str) -> User:
    """An account that the viewer may act on, its row and those of all admins held until commit.

    So two admins cannot disable one another at once: the later one is no admin any more, and is told so.
    """
    if who.role != "admin":
        raise NotYours(_("Only an admin may do this to another account."), _("Ask an admin."))
    admins = {admin.id for admin in queries.admins_locked(session)}
    if who.user_id not in admins:
        raise NotYours(_("Your account was disabled meanwhile."), _("Ask another admin."))
    user = queries.user_by_id(session, user_id, lock=True)
    if user is None or not rights.sees_person(who, user):
        raise NotFound(_("There is no such account among those you see."), _("Go back to the list of people."))
    if user.id == who.user_id:
        raise NotYours(_("Nobody does this to their own account."), _("Ask another admin."))
    if not rights.manages(who, user):
        raise NotYours(
            _("{name} sees namespaces that you do not.").format(name=user.name), _("Ask an admin who sees all of them.")
        )
    return user


def _still(session: Session, who: Viewer) -> None:
    """An account that was disabled since the request began makes and ends nothing any more."""
    user = queries.user_by_id(session, who.user_id, lock=True)
    if user is None or user.disabled_at is not None:
        raise NotYours(_("Your account was disabled meanwhile."), _("Ask another admin."))


def _people(session: Session, who: Viewer, name: str, role: str, page: int) -> tuple[list[User], Pager]:
    if who.role != "admin":
        return [], Pager(1, "", "")
    wanted = name.casefold().strip()
    found = [
        user
        for user in queries.users_all(session)
        if rights.sees_person(who, user) and wanted in user.name.casefold() and role in ("", user.role)
    ]
    first = offset_of(page)
    return paged("/people", page, found[first : first + SIZE + 1], name=name, role=role)


def _person_rows(session: Session, who: Viewer, found: Sequence[User], now: datetime) -> list[PersonRow]:
    ids = [user.id for user in found]
    sessions = open_sessions(session, ids, now) if ids else []
    used = queries.tokens_used(session, ids) if ids else {}
    acted = latest_acts(session, [f"user:{user_id}" for user_id in ids])
    return [
        person_row(
            who, user, [one for one in sessions if one.user_id == user.id], used.get(user.id),
            acted.get(f"user:{user.id}"),
        )
        for user in found
    ]  # fmt: skip


def _tokens_page(
    site: Site,
    who: Viewer,
    *,
    older: str = "",
    newer: str = "",
    said: str = "",
    made: dict[str, Any] | None = None,
) -> Response:
    now = site.clock()
    with site.database.read() as session:
        found = _tokens(session, who, older, newer)
        rows, pager = edged("/people/tokens", found, lambda token: token.id, older=older, newer=newer)
        owners = {user.id: user for user in queries.users_all(session)}
    return site.page(
        "people.html",
        who=who,
        active="people",
        tab="tokens",
        part="_people_tokens.html",
        title=_("Tokens"),
        said=_(SAID.get(said, "")),
        made=made,
        rows=[token_row(who, token, owners.get(token.user_id or ""), now) for token in rows],
        pager=pager,
        roles=[(each, role_words(each)) for each in rights.NARROWER.get(who.role, ())],
        days=days_words(),
        own_namespaces=", ".join(who.namespaces) or _("every namespace"),
        commands=[(command, _(words)) for command, words in COMMANDS],
    )


def _tokens(session: Session, who: Viewer, older: str, newer: str) -> list[ApiToken]:
    """A page of tokens that the viewer sees and one more; read in batches, since a grant is no column."""
    if who.role != "admin":
        seen: Iterable[ApiToken] = queries.tokens_of(session, who.user_id)
    else:
        seen = (token for token in _all_tokens(session) if rights.sees_token(who, token))
    if newer:
        return [token for token in seen if token.id > newer][-SIZE - 1 :]
    past = (token for token in seen if not older or token.id < older)
    return [token for token, _place in zip(past, range(SIZE + 1), strict=False)]


def _all_tokens(session: Session) -> Iterable[ApiToken]:
    last: str | None = None
    for _batch in range(MOST_LOOKED_AT // 200):
        found = queries.tokens_after(session, before=last)
        yield from found
        if len(found) < 200:
            return
        last = found[-1].id


def _grants(text: str) -> list[str]:
    try:
        return [parse_namespace(path) for path in re.split(r"[\s,]+", text.strip()) if path]
    except NamespaceMalformed as problem:
        raise PageRefused(str(problem)[:400], _("Write namespaces with spaces between them.")) from None


def _expiry(session: Session, who: Viewer, wanted: datetime) -> datetime:
    """A token made in a session that a token opened ends with that token at the latest."""
    opened_by = queries.token_by_id(session, who.token_id) if who.token_id else None
    return min(wanted, opened_by.expires_at) if opened_by and opened_by.expires_at else wanted


def _is_live(token: ApiToken, now: datetime) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def _ref(site: Site, session_id: str) -> str:
    """How a form names a session: what is stored of its cookie stays out of pages."""
    return keyed_hash(site.secret, "session-ref", session_id, length=24)


def _record(session: Session, who: Viewer, action: str, target: str, detail: dict[str, Any], now: datetime) -> None:
    audit.record(session, actor=who.reviewer().actor, action=action, target=target, detail=detail, now=now)


def _iso(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else ""
