"""A namespace's policy: who owns its rules, what the door and the nights do with its episodes."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from sqlmodel import Session

from storage import audit, episodes
from storage.ids import canonical_json, keyed_hash
from storage.namespaces import parse_namespace
from storage.queries import episodes as queries
from tasks.ingest.policy import COUNTS_FROM, KNOWN, BadPolicy, parse_policy, read_policy
from tasks.verify.dry_run_step import try_policy
from worker.cli.output import USAGE, CommandFailed, JsonFlag, NamespaceOption, print_json, print_table, say
from worker.cli.store import Store, known_namespace, open_store, operator

LONGEST = 2**20
KEYS = "\n\n".join(
    ["[bold]Keys[/bold]", *(f"{key}: {escape(words)}." for key, words in KNOWN.items()), f"{COUNTS_FROM}."]
)
"""What ends the help of whatever writes a policy."""

SINCE_WORDS = {
    "intake": "for what is taken in from now on",
    "at-once": "at once",
    "next-night": "from the next night on",
}
BECOMES = {
    "approvable": "could be approved",
    "blocked": "could no longer be approved",
    "blocked-otherwise": "stays blocked, for another reason",
}


def register(app: typer.Typer) -> None:
    """Add the group of this file."""
    group = typer.Typer(
        help="A namespace's policy: owner, redaction, trust of tools, what its nights may do.", no_args_is_help=True
    )
    group.command("show")(show)
    group.command("set", epilog=KEYS)(set_)
    group.command("put", epilog=KEYS)(put)
    group.command("dry-run")(dry_run)
    app.add_typer(group, name="policy")


def show(namespace: NamespaceOption, json: JsonFlag = False) -> None:
    """Show what a namespace's policy says; what it does not say is as documented in docs/operate.md.

    Example:
      slowwave policy show --namespace acme/support --json > policy.json
    """
    with open_store() as store:
        known_namespace(store, namespace)
        with store.database.read() as session:
            row = queries.namespace(session, namespace)
    policy = row.policy if row is not None else {}
    if json:
        print_json(policy)
        return
    rows = [(key, _shown(policy[key]), KNOWN.get(key, "")) for key in sorted(policy)]
    print_table(
        f"policy of {namespace}", ("key", "value", "what it is"), rows, f"{namespace} has no policy of its own."
    )


def set_(
    file: Annotated[str, typer.Argument(help="The whole policy as JSON or TOML; - reads standard input.")],
    namespace: NamespaceOption,
    replace: Annotated[bool, typer.Option("--replace", help="Also drop the keys that the new policy lacks.")] = False,
    json: JsonFlag = False,
) -> None:
    """Put a whole policy in place of the one before. One that would drop a key is refused without --replace.

    To change one key and keep the others: slowwave policy put.

    Examples:
      slowwave policy set policy.toml --namespace acme/support
      slowwave policy set policy.toml -n acme/support --replace
    """
    parse_namespace(namespace)
    policy = _policy(file)
    with open_store() as store, store.database.write() as session:
        removed = sorted(_current(session, namespace).keys() - policy.keys())
        if removed and not replace:
            now = "Add --replace if that is meant, or change one key with: slowwave policy put KEY VALUE"
            raise CommandFailed(f"The policy was not set: it would remove {', '.join(removed)}.", now, USAGE)
        _save(store, session, namespace, policy, "policy.set")
    if json:
        print_json({"namespace": namespace, "policy": policy, "removed": removed})
        return
    say(f"The policy of {namespace} is set: {_names(policy)}.{_gone(removed)}")


def dry_run(
    file: Annotated[str, typer.Argument(help="The whole policy as JSON or TOML; - reads standard input.")],
    namespace: NamespaceOption,
    json: JsonFlag = False,
) -> None:
    """Say what a policy would do to the candidates that wait, if it were set. Nothing is changed.

    Example:
      slowwave policy dry-run policy.toml --namespace acme/support
    """
    proposed = _policy(file)
    with open_store() as store:
        known_namespace(store, namespace)
        found = try_policy(store.database, namespace, proposed)
    if json:
        moved = [{**asdict(one), "becomes": one.becomes} for one in found.moved]
        print_json({**asdict(found), "namespace": namespace, "moved": moved})
        return
    changes = [(one.key, _held(one.before), _held(one.after), SINCE_WORDS[one.since]) for one in found.changes]
    print_table("keys that change", ("key", "now", "then", "counts"), changes, "It says what the policy says already.")
    rows = [(one.id, one.title, BECOMES[one.becomes], "; ".join(one.after)) for one in found.moved]
    nothing = f"None of the {found.looked} candidates that wait would stand otherwise."
    print_table("candidates that stand otherwise", ("id", "title", "", "what keeps it"), rows, nothing)


def put(
    key: Annotated[str, typer.Argument(help="The key to change.")],
    value: Annotated[str, typer.Argument(help="Its value as JSON; plain words are text, null takes the key out.")],
    namespace: NamespaceOption,
    json: JsonFlag = False,
) -> None:
    """Change one key of a policy and keep all others.

    Examples:
      slowwave policy put owner "the refund team" -n acme/support
      slowwave policy put trust '{"tools": {"Bash": "internal"}}' -n acme/code
    """
    parse_namespace(namespace)
    with open_store() as store, store.database.write() as session:
        before = _current(session, namespace)
        try:
            policy = read_policy({**before, key: _value(value)})
        except BadPolicy as wrong:
            raise _refused(wrong) from wrong
        removed = sorted(before.keys() - policy.keys())
        _save(store, session, namespace, policy, "policy.put")
    if json:
        print_json({"namespace": namespace, "policy": policy, "removed": removed})
        return
    say(f"The policy of {namespace} now says: {_names(policy)}.{_gone(removed)}")


def _current(session: Session, namespace: str) -> dict[str, Any]:
    row = queries.namespace(session, namespace)
    return dict(row.policy) if row is not None else {}


def _save(store: Store, session: Session, namespace: str, policy: dict[str, Any], action: str) -> None:
    """Write the policy, and that it was written; values stay out of the log, they may quote what is secret."""
    now = store.now
    episodes.ensure_namespace(session, namespace, now)
    episodes.set_policy(session, namespace, policy)
    digest = keyed_hash(store.secret, "policy", canonical_json(policy))
    audit.record(
        session, actor=operator(), action=action, namespace=namespace, target=f"namespace:{namespace}",
        detail={"keys": sorted(policy), "policy": digest}, now=now,
    )  # fmt: skip


def _held(value: Any) -> str:
    return "not set" if value is None else _shown(value)


def _names(policy: dict[str, Any]) -> str:
    return ", ".join(sorted(policy)) or "nothing of its own"


def _gone(removed: Sequence[str]) -> str:
    return f" Removed: {', '.join(removed)}." if removed else ""


def _value(text: str) -> Any:
    """JSON, or the text itself where it does not set out to be JSON.

    Raises:
        BadPolicy: for JSON that is broken off or too deep.
    """
    try:
        return jsonlib.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith(("{", "[", '"')):
            raise BadPolicy(f"the value is not JSON: {error}") from error
        return text


def _policy(file: str) -> dict[str, Any]:
    """The policy of a file.

    Raises:
        CommandFailed: if it cannot be read, or is none.
    """
    try:
        data = sys.stdin.buffer.read(LONGEST + 1) if file == "-" else Path(file).read_bytes()
        if len(data) > LONGEST:
            raise BadPolicy("it is larger than 1 MiB")
        return parse_policy(data.decode("utf-8-sig"))
    except OSError as error:
        raise CommandFailed(f"The policy file {file} cannot be read: {error.strerror}.", "", USAGE) from error
    except UnicodeDecodeError as error:
        raise CommandFailed(f"The policy file {file} is not UTF-8 text.", "Save it as UTF-8.", USAGE) from error
    except BadPolicy as wrong:
        raise _refused(wrong) from wrong


def _refused(wrong: BadPolicy) -> CommandFailed:
    return CommandFailed(f"The policy was not set: {wrong}.", "See: slowwave policy set --help", USAGE)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()
