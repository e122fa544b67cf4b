"""The command that copies active rules into a file of another tool, and tells when such a copy no longer holds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from storage.ids import uuid7
from storage.namespaces import namespace_allows
from tasks.promote.errors import NotAllowed
from tasks.promote.export import skill_name
from tasks.promote.export_marks import FORMATS, Format, Marks, NoExport, Staleness, read_marks
from tasks.promote.export_step import Export, check_export, export_rules
from worker.cli.output import (
    DONE,
    FAILED,
    USAGE,
    CommandFailed,
    JsonFlag,
    counted,
    finish,
    line,
    note,
    print_json,
    say,
)
from worker.cli.store import Store, known_namespace, open_store, operator, person

LARGEST = 32 * 2**20
"""Bytes of a file that is looked at."""
READING_ROLES = frozenset({"reviewer", "admin", "auditor"})
FILES = {"agents-md": "AGENTS.md", "skill": "SKILL.md", "jsonl": "rules.jsonl"}


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("export")(export)


def export(
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="The partition that is copied.")] = None,
    format: Annotated[str, typer.Option("--format", help=f"One of: {', '.join(FORMATS)}.")] = "agents-md",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file, or a folder that gets one; absent: print it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is no export.")] = False,
    check: Annotated[Path | None, typer.Option("--check", help="Tell what of this export no longer holds.")] = None,
    json: JsonFlag = False,
) -> None:
    """Copy active rules into a file for tools that read files; or tell what of such a copy no longer holds.

    A copy goes stale. With --check the exit code is 1 if a rule in it was withdrawn or superseded.

    Examples:
      slowwave export -n acme/support --format agents-md -o AGENTS.md
      slowwave export -n acme/support --format skill -o .claude/skills
      slowwave export -n acme/support --format jsonl > rules.jsonl
      slowwave export --check AGENTS.md
    """
    if check is not None:
        if namespace or output or force:
            raise CommandFailed("--check looks at a file and makes none.", "Give it alone.", USAGE)
        _check(check, json)
        return
    if namespace is None:
        raise CommandFailed("No namespace was given.", "Say which is copied: --namespace acme/support", USAGE)
    if format not in FORMATS:
        raise CommandFailed(f"There is no format {format!r}.", f"Choose one of: {', '.join(FORMATS)}.", USAGE)
    _make(namespace, format, _place(format, namespace, output), force, json)


def _make(namespace: str, format: Format, place: Path | None, force: bool, json: bool) -> None:
    if place is not None and not force:
        _refuse_foreign(place)
    with open_store() as store:
        known_namespace(store, namespace)
        actor = _actor(store, namespace)
        made = export_rules(store.database, namespace, format=format, actor=actor, export_id=uuid7(), now=store.now)
    if place is not None:
        _write(place, made.text)
    if json:
        print_json(_document(made, place))
    elif place is None:
        sys.stdout.write(made.text)
    else:
        say(escape(f"{counted(len(made.versions), 'rule')} of {namespace}, epoch {made.origin.epoch}: {line(place)}"))
        note(escape(f"It is a copy: see what of it still holds with: slowwave export --check {line(place)}"))


def _document(made: Export, place: Path | None) -> dict[str, Any]:
    rules = [{"id": rule_id, "version": version} for rule_id, version in made.versions]
    told = {**asdict(made.origin), "format": made.format, "rules": rules, "file": str(place) if place else None}
    told["at"] = made.origin.at.isoformat()
    return told if place else {**told, "text": made.text}


def _check(file: Path, json: bool) -> None:
    marks = _marks(file)
    with open_store() as store:
        if store.settings.token is not None:
            _actor(store, marks.origin.namespace)
        found = check_export(store.database, marks, store.now)
    if json:
        print_json({**asdict(found), "stale": found.is_stale, "namespace": marks.origin.namespace,
                    "epoch": marks.origin.epoch, "export_id": marks.origin.export_id})  # fmt: skip
    else:
        _tell(file, marks, found)
    finish(FAILED if found.is_stale else DONE)


def _tell(file: Path, marks: Marks, found: Staleness) -> None:
    for change in found.changes:
        now = f"; version {change.current_version} is active" if change.current_version else ""
        why = f": {line(change.reason)}" if change.reason else ""
        say(escape(f"{change.kind}: {line(change.rule_id)} version {change.version} is {change.state}{why}{now}"))
    many = counted(len(marks.versions), "rule")
    if found.is_stale:
        say(escape(f"{line(file)} is stale: {len(found.changes)} of {many} no longer hold. Make it anew."))
    else:
        say(escape(f"{line(file)} holds: {many} of {line(marks.origin.namespace)} are active as they stand in it."))
    for words in _notes(found):
        note(escape(words))


def _notes(found: Staleness) -> Iterable[str]:
    if found.due:
        yield f"A re-check is due of: {', '.join(map(line, found.due))}"
    if found.missing:
        yield f"Active, and not in it: {', '.join(map(line, found.missing))}"
    if not found.untouched:
        yield "Its text was changed by hand since it was made; only its marks were looked at."


def _actor(store: Store, namespace: str) -> str:
    """The person of the token, who must cover the namespace; without a token the operator, who has the store anyway."""
    if store.settings.token is None:
        return operator()
    who = person(store)
    if who.role not in READING_ROLES or not namespace_allows(who.namespaces, namespace):
        raise NotAllowed(f"{who.name} ({who.role}) may not read the rules of {namespace}: ask an admin for it")
    return who.actor


def _place(format: Format | str, namespace: str, output: Path | None) -> Path | None:
    """The file: as given, or within a given folder; a skill's folder is named as the skill."""
    if output is None or not (output.is_dir() or (format == "skill" and output.suffix != ".md")):
        return output
    return output / skill_name(namespace) / FILES[format] if format == "skill" else output / FILES[format]


def _marks(file: Path) -> Marks:
    try:
        if file.stat().st_size > LARGEST:
            raise CommandFailed(f"{line(file)} is too large to be an export.", "Give the file of one.", USAGE)
        return read_marks(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise CommandFailed(f"{line(file)} cannot be read: {why}.", "Give the file of an export.", USAGE) from None
    except NoExport as error:
        now = "Give a file that slowwave export made."
        raise CommandFailed(f"{line(file)} is no export: {error}.", now, USAGE) from None


def _refuse_foreign(place: Path) -> None:
    """A page that somebody wrote by hand is not written over."""
    if not place.exists():
        return
    try:
        ours = read_marks(place.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, NoExport):
        ours = None
    if ours is None or not (ours.untouched and ours.alone):
        what = f"{line(place)} is there, and is not an export as it was made."
        raise CommandFailed(what, "Give another place, or --force to write over it.", FAILED)


def _write(place: Path, text: str) -> None:
    """Whole or not at all: a reader never finds half a file."""
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(place)
    except OSError as error:
        part.unlink(missing_ok=True)
        what = f"{line(place)} cannot be written: {error.strerror}."
        raise CommandFailed(what, "Give another place with --output.", FAILED) from None
