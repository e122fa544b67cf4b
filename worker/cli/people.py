"""Commands that make and end accounts and tokens. A token's secret is shown once."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any

import typer
from sqlmodel import Session

from storage import audit
from storage.namespaces import parse_namespace
from storage.passwords import hash_password
from storage.people import add_token, add_user, disable_user, revoke_token, set_password
from storage.queries import people as queries
from storage.tables import ApiToken, User
from storage.tables.people import ROLES
from worker.cli.output import USAGE, CommandFailed, JsonFlag, note, print_json, print_table, say
from worker.cli.store import Store, open_store, operator

LEAST_PASSWORD = 12
LONGEST_NAME = 100
MACHINE_ROLES = ("agent", "ingest", "auditor", "admin")
Namespaces = Annotated[list[str] | None, typer.Option("--namespace", "-n", help="Repeatable; covers what is below.")]
Name = Annotated[str, typer.Argument(help="Name of the account.")]


def register(app: typer.Typer) -> None:
    """Add the groups of this file."""
    users = typer.Typer(help="People who review: accounts, personal tokens, passwords.", no_args_is_help=True)
    users.command("add")(user_add)
    users.command("token")(user_token)
    users.command("password")(user_password)
    users.command("disable")(user_disable)
    users.command("list")(user_list)
    app.add_typer(users, name="user")
    tokens = typer.Typer(help="Bearer tokens of agents and other programs.", no_args_is_help=True)
    tokens.command("create")(token_create)
    tokens.command("list")(token_list)
    tokens.command("revoke")(token_revoke)
    app.add_typer(tokens, name="token")


def user_add(
    name: Name,
    role: Annotated[str, typer.Option(help=f"One of: {', '.join(ROLES)}.")] = "reviewer",
    namespace: Namespaces = None,
    json: JsonFlag = False,
) -> None:
    """Make an account and its personal token, which logs in at the page and decides on the command line.

    Example:
      slowwave user add mira --role reviewer --namespace acme
    """
    _check_name(name)
    _check_role(role, ROLES)
    grants = _checked(namespace)
    with open_store() as store, store.database.write() as session:
        user, secret = new_user(session, store, name, role, grants)
    document = {"name": user.name, "role": user.role, "token": secret}
    if json:
        print_json(document)
        return
    say(f"{user.role} [bold]{user.name}[/bold], personal token (shown once):")
    say(secret)


def new_user(
    session: Session, store: Store, name: str, role: str, grants: Sequence[str], password: str | None = None
) -> tuple[User, str]:
    """An account with its personal token, both in the audit log."""
    hashed = hash_password(password) if password else None
    user = add_user(session, name=name, role=role, namespaces=grants, password_hash=hashed, now=store.now)
    token, secret = _personal(session, store, user)
    _audit(session, store, "user.added", f"user:{user.id}", {"role": role, "token": token.id})
    return user, secret


def _personal(session: Session, store: Store, user: User) -> tuple[ApiToken, str]:
    return add_token(
        session, role=user.role, namespaces=user.namespaces, now=store.now, label="personal", user_id=user.id
    )


def user_token(name: Name, json: JsonFlag = False) -> None:
    """Make a further personal token; those from before stay until they are revoked."""
    with open_store() as store, store.database.write() as session:
        user = _user(session, name)
        token, secret = _personal(session, store, user)
        _audit(session, store, "token.created", f"token:{token.id}", {"role": token.role, "user": user.id})
    if json:
        print_json({"id": token.id, "name": user.name, "role": user.role, "token": secret})
        return
    say(secret)


def user_password(
    name: Name,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read it from standard input instead of asking.")] = False,
    json: JsonFlag = False,
) -> None:
    """Set a person's password for the review page. Page sessions that are open end.

    Example:
      slowwave user password mira
    """
    password = sys.stdin.readline().rstrip("\n") if stdin else typer.prompt("Password", hide_input=True, err=True)
    if len(password) < LEAST_PASSWORD:
        raise CommandFailed("The password is too short.", f"Use at least {LEAST_PASSWORD} characters.", USAGE)
    hashed = hash_password(password)
    with open_store() as store, store.database.write() as session:
        user = _user(session, name)
        set_password(session, user, hashed)
        _audit(session, store, "user.password_set", f"user:{user.id}", {})
    _done({"name": name, "password_set": True}, f"The password of {name} is set.", json)


def user_disable(name: Name, json: JsonFlag = False) -> None:
    """End an account with its sessions and personal tokens. What it decided stays."""
    with open_store() as store, store.database.write() as session:
        user = _user(session, name)
        disable_user(session, user, store.now)
        _audit(session, store, "user.disabled", f"user:{user.id}", {})
    _done({"name": name, "disabled": True}, f"{name} is disabled.", json)


def user_list(json: JsonFlag = False) -> None:
    """List the accounts."""
    with open_store() as store, store.database.read() as session:
        found = queries.users_all(session)
    if json:
        print_json([_account(user) for user in found])
        return
    rows = [(user.name, user.role, _places(user.namespaces), "disabled" if user.disabled_at else "") for user in found]
    print_table("accounts", ("name", "role", "namespaces", ""), rows, "No account yet: slowwave user add NAME")


def _account(user: User) -> dict[str, Any]:
    return {
        "name": user.name,
        "role": user.role,
        "namespaces": user.namespaces,
        "disabled": user.disabled_at is not None,
    }


def token_create(
    role: Annotated[str, typer.Option(help=f"One of: {', '.join(MACHINE_ROLES)}.")],
    namespace: Namespaces = None,
    everywhere: Annotated[bool, typer.Option("--all-namespaces", help="Cover every namespace.")] = False,
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    days: Annotated[int | None, typer.Option(min=1, help="Days until it expires; never if absent.")] = None,
    json: JsonFlag = False,
) -> None:
    """Make a token for a program: role agent reads rules, role ingest sends episodes.

    Example:
      slowwave token create --role agent -n acme/support --label checkout-bot
    """
    if role == "reviewer":
        raise CommandFailed("A reviewer's token is a person's.", "Make it with: slowwave user add NAME", USAGE)
    _check_role(role, MACHINE_ROLES)
    grants = _checked(namespace)
    if not grants and not everywhere:
        raise CommandFailed("A token needs its namespaces.", "Use --namespace NS, or --all-namespaces.", USAGE)
    with open_store() as store, store.database.write() as session:
        expires = store.now + timedelta(days=days) if days else None
        token, secret = add_token(session, role=role, namespaces=grants, now=store.now, label=label, expires_at=expires)
        _audit(session, store, "token.created", f"token:{token.id}", {"role": role, "namespaces": grants})
    if json:
        print_json({**_token(token), "token": secret})
        return
    note(f"{role} token {token.id} for {_places(grants)}, shown once:")
    say(secret)


def token_list(json: JsonFlag = False) -> None:
    """List tokens by id, with their last use and their end; their secrets are not stored."""
    with open_store() as store, store.database.read() as session:
        documents, now = [_token(token) for token in queries.tokens_all(session)], store.now.isoformat()
    if json:
        print_json(documents)
        return
    rows = [
        (
            d["id"],
            d["role"],
            _places(d["namespaces"]),
            d["label"],
            (d["last_used_at"] or "never")[:19],
            _standing(d, now),
        )
        for d in documents
    ]
    print_table("tokens", ("id", "role", "namespaces", "label", "last used", ""), rows, "No token yet.")


def _standing(token: dict[str, Any], now: str) -> str:
    """What keeps it from being used, or when it will end; times in UTC compare as words."""
    if token["revoked_at"]:
        return "revoked"
    ends = token["expires_at"]
    return "" if not ends else "expired" if ends <= now else f"until {ends[:10]}"


def token_revoke(token_id: Annotated[str, typer.Argument(metavar="ID")], json: JsonFlag = False) -> None:
    """Make a token stop working at once."""
    with open_store() as store, store.database.write() as session:
        token = queries.token_by_id(session, token_id)
        if token is None:
            raise CommandFailed(f"There is no token {token_id!r}.", "List them: slowwave token list")
        revoke_token(session, token, store.now)
        _audit(session, store, "token.revoked", f"token:{token.id}", {})
        document = _token(token)
    _done(document, f"Token {token_id} is revoked.", json)


def _token(token: ApiToken) -> dict[str, Any]:
    return {
        "id": token.id,
        "role": token.role,
        "namespaces": token.namespaces,
        "label": token.label,
        "user_id": token.user_id,
        "created_at": token.created_at.isoformat(),
        "last_used_at": token.last_used_at.isoformat() if token.last_used_at else None,
        "expires_at": token.expires_at.isoformat() if token.expires_at else None,
        "revoked_at": token.revoked_at.isoformat() if token.revoked_at else None,
    }


def _user(session: Session, name: str) -> User:
    user = queries.user_named(session, name)
    if user is None:
        raise CommandFailed(f"There is no account {name!r}.", "List them: slowwave user list")
    return user


def _check_name(name: str) -> None:
    """A name is read by people in the log of decisions: something must be seen of it, and all of it."""
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        now = f"Use 1 to {LONGEST_NAME} visible characters, with no space around them."
        raise CommandFailed(f"{name!r} is no name for an account.", now, USAGE)


def _check_role(role: str, allowed: Sequence[str]) -> None:
    if role not in allowed:
        raise CommandFailed(f"There is no role {role!r} here.", f"Choose one of: {', '.join(allowed)}.", USAGE)


def _checked(namespaces: list[str] | None) -> list[str]:
    return [parse_namespace(path) for path in namespaces or []]


def _places(namespaces: Sequence[str]) -> str:
    return ", ".join(namespaces) or "every namespace"


def _audit(session: Session, store: Store, action: str, target: str, detail: dict[str, Any]) -> None:
    audit.record(session, actor=operator(), action=action, target=target, detail=detail, now=store.now)


def _done(document: dict[str, Any], words: str, json: bool) -> None:
    if json:
        print_json(document)
    else:
        say(words)


def generated_password() -> str:
    """A password nobody has to remember."""
    return secrets.token_urlsafe(12)
