"""A namespace's policy: who owns its rules, what is taken out at the door, how far tools are trusted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from storage import audit, episodes
from storage.ids import canonical_json, keyed_hash
from storage.namespaces import parse_namespace
from storage.queries import episodes as queries
from tasks.ingest.policy import KNOWN, BadPolicy, parse_policy
from worker.cli.output import USAGE, CommandFailed, JsonFlag, NamespaceOption, print_json, print_table, say
from worker.cli.store import known_namespace, open_store, operator

LONGEST = 2**20


def register(app: typer.Typer) -> None:
    """Add the group of this file."""
    group = typer.Typer(help="A namespace's policy: owner, redaction, trust of tools.", no_args_is_help=True)
    group.command("show")(show)
    group.command("set")(set_)
    app.add_typer(group, name="policy")


def show(namespace: NamespaceOption, json: JsonFlag = False) -> None:
    """Show what a namespace's policy says; what it does not say is as documented in docs/formats.md.

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
    json: JsonFlag = False,
) -> None:
    """Put a policy in place of the one before. It counts for what is taken in from now on.

    Keys: owner (text), redact_patterns (a list of regular expressions), trust ({"tools": {"crm_*": "internal"}}).

    Examples:
      slowwave policy set policy.toml --namespace acme/support
      echo '{"owner": "the refund team"}' | slowwave policy set - -n acme/support
    """
    parse_namespace(namespace)
    policy = _policy(file)
    with open_store() as store, store.database.write() as session:
        now = store.now
        episodes.ensure_namespace(session, namespace, now)
        episodes.set_policy(session, namespace, policy)
        digest = keyed_hash(store.secret, "policy", canonical_json(policy))
        audit.record(
            session, actor=operator(), action="policy.set", namespace=namespace, target=f"namespace:{namespace}",
            detail={"keys": sorted(policy), "policy": digest}, now=now,
        )  # fmt: skip
    if json:
        print_json({"namespace": namespace, "policy": policy})
    else:
        say(f"The policy of {namespace} is set: {', '.join(sorted(policy)) or 'nothing of its own'}.")


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
        raise CommandFailed(f"The policy was not set: {wrong}.", "See: slowwave policy set --help", USAGE) from wrong


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else canonical_json(value).decode()
