"""Commands that change what waits for review, short of deciding. They act as the person behind SLOWWAVE_TOKEN."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from storage.queries import candidates, find
from storage.queries import rules as rule_queries
from tasks.promote.errors import CandidateGone
from worker.cli.decide import CandidateId, Hash, Reason, namespace_of_candidate
from worker.cli.output import USAGE, CommandFailed, JsonFlag, counted, print_json, say
from worker.cli.queue import OptionalNamespace
from worker.cli.store import Store, open_store, person

if TYPE_CHECKING:
    # Imported where it is used: SciPy comes along and takes a second that other commands need not wait for.
    from tasks.stage.edit_step import Edited

LONGEST = 2**20
PARTS = ("when_to_use", "guidance", "scope")
TextFile = Annotated[
    str | None,
    typer.Option("--text", help="JSON with any of when_to_use, guidance, scope; what it lacks stays. - reads input."),
]
Steps = Annotated[list[str] | None, typer.Option("--step", help="A step; given once or more, they replace all.")]
Components = Annotated[
    list[str] | None,
    typer.Option("--component", help="NAME=VERSION, such as api=>=3.1,<=3.4; NAME= drops it."),
]
Agents = Annotated[list[str] | None, typer.Option("--agent", help="An agent it holds for; '' for all of them.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("edit")(edit)
    app.command("ask")(ask)
    app.command("resume")(resume)


def edit(
    name: Annotated[str, typer.Argument(metavar="ID", help="A candidate that waits, or an active rule.")],
    content_hash: Hash,
    reason: Reason,
    text: TextFile = None,
    when: Annotated[str | None, typer.Option("--when", help="The situation in which to use it.")] = None,
    step: Steps = None,
    component: Components = None,
    agent: Agents = None,
    recheck: Annotated[str | None, typer.Option("--recheck", help="Date of the re-check, within a year.")] = None,
    valid_from: Annotated[
        str | None, typer.Option("--valid-from", help="Date from which it holds; '' for now.")
    ] = None,
    take_back: Annotated[bool, typer.Option("--take-back", help="Take the night's own text instead.")] = False,
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Change the words or the scope of a candidate; of a rule, propose a new version. You may not approve it then.

    Every approval so far falls. What is not named stays as it is.

    Examples:
      slowwave edit ID --hash HASH --step "Look." --step "Tell." --reason "short"
      slowwave edit RULE_ID --hash HASH --component "api=<=3.4" --reason "is done"
      slowwave show ID --json | jq .content > text.json
      slowwave edit ID --hash HASH --text text.json --reason "clearer"
    """
    from tasks.stage import edit_step

    given: dict[str, Any] = {"when_to_use": when, "guidance": step, "recheck_at": recheck, "valid_from": valid_from}
    with open_store() as store:
        who = person(store)
        act: dict[str, Any] = {"reviewer": who, "reason": reason, "now": store.now, "secret": store.secret}
        where, version, content = _text_of(store, name, namespace)
        if take_back:
            if version is not None:
                raise CommandFailed("A rule has no text of a night to take back.", "Name a candidate.", USAGE)
            done = edit_step.take_back(store.database, where, name, content_hash=content_hash, **act)
        else:
            new = _new_text(content, _read(text), given, component, agent)
            act |= {"content_hash": content_hash, **new}
            if version is None:
                done = edit_step.edit(store.database, where, name, **act)
            else:
                done = edit_step.propose_version(store.database, where, name, version, **act)
    if json:
        print_json(asdict(done))
    else:
        _tell(done, name if version is not None else None)


def _tell(done: Edited, rule: str | None) -> None:
    what = f"a new version of {rule} is proposed as candidate" if rule else "candidate"
    if not done.changed:
        say(f"{what} {done.candidate_id} says this already")
        return
    say(f"{what} {done.candidate_id}, revision {done.number}, {done.tier} tier, hash {done.content_hash}")
    fell = f"{counted(done.voided, 'approval')} fell; " if done.voided else ""
    say(f"{fell}another reviewer has to approve it")


def ask(
    candidate: CandidateId,
    content_hash: Hash,
    reason: Reason,
    runs: Annotated[int, typer.Option("--runs", help="How many more judged runs, by independent group.")],
    agent: Annotated[str, typer.Option("--agent", help="Of this agent.")] = "",
    component: Annotated[str, typer.Option("--component", help="On this component.")] = "",
    version: Annotated[str, typer.Option("--version", help="At this version of it, or within bounds.")] = "",
    task: Annotated[str, typer.Option("--task", help="In this task, by its key.")] = "",
    outcome: Annotated[str, typer.Option("--outcome", help="That ended so: success or failure.")] = "",
    words: Annotated[str, typer.Option("--words", help="What you look for in them.")] = "",
    until: Annotated[str, typer.Option("--until", help="Date of its return at the latest; in 30 days if absent.")] = "",
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Set a candidate aside until more evidence came in. A night puts it back; nothing waits for ever.

    Examples:
      export SLOWWAVE_TOKEN=sw_…
      slowwave ask ID --hash HASH --runs 5 --agent web-bot --reason "one agent"
      slowwave ask ID --hash HASH --runs 5 --task orders/7 --reason "few of it"
    """
    from tasks.stage import park_step
    from tasks.stage.wanted import Wanted

    wanted = Wanted(runs, agent, component, version, task, outcome, words, until)
    with open_store() as store:
        who = person(store)
        done = park_step.ask(
            store.database, namespace_of_candidate(store, candidate, namespace), candidate, content_hash=content_hash,
            wanted=wanted, reviewer=who, reason=reason, now=store.now, secret=store.secret,
        )  # fmt: skip
    if json:
        print_json(asdict(done))
    else:
        say(f"candidate {candidate} waits for {done.wanted.what()}, until {done.wanted.until} at the latest")


def resume(
    candidate: CandidateId,
    content_hash: Hash,
    reason: Reason,
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Take a request for evidence back: the candidate waits for a decision again.

    Examples:
      export SLOWWAVE_TOKEN=sw_…
      slowwave resume CANDIDATE_ID --hash HASH --reason "3.3 was called off"
    """
    from tasks.stage import park_step

    with open_store() as store:
        who = person(store)
        done = park_step.unpark(
            store.database, namespace_of_candidate(store, candidate, namespace), candidate, content_hash=content_hash,
            reviewer=who, reason=reason, now=store.now, secret=store.secret,
        )  # fmt: skip
    if json:
        print_json(asdict(done))
    else:
        say(f"candidate {candidate} {'waits for a decision again' if done.changed else 'waited for no evidence'}")


def _text_of(store: Store, name: str, namespace: str | None) -> tuple[str, int | None, Mapping[str, Any]]:
    """Where a candidate or an active rule is, the rule's version, and the text to start from."""
    with store.database.read() as session:
        rows = find.candidates_named(session, name, namespace)
        if rows:
            where = namespace_of_candidate(store, name, namespace)
            found = candidates.current_revisions(session, where, [name]).get(name)
            if found is not None:
                return where, None, found.content
        rules = find.rules_named(session, name, namespace)
        for rule in rules[:1]:
            versions = rule_queries.versions_of(session, rule.namespace, rule.id)
            active = next((row for row in versions if row.state == "active"), None)
            if active is not None and len(rules) == 1:
                return rule.namespace, active.version, active.content
        if len(rules) > 1:
            spaces = ", ".join(rule.namespace for rule in rules)
            raise CommandFailed(f"{name!r} is in {spaces}.", "Say which with --namespace.", USAGE)
    raise CandidateGone(f"there is no candidate and no active rule {name!r}; list them: slowwave queue, slowwave rules")


def _new_text(
    content: Mapping[str, Any],
    text: Mapping[str, Any],
    given: Mapping[str, Any],
    components: Sequence[str] | None,
    agents: Sequence[str] | None,
) -> dict[str, Any]:
    """What is there, less what a file replaces, less what the options do."""
    found = {name: text.get(name, content.get(name)) for name in PARTS}
    scope = dict(found["scope"] or {})
    environment = dict(scope.get("environment") or {})
    for one in components or ():
        name, sign, version = one.partition("=")
        if not name or not sign:
            raise CommandFailed(f"{one!r} is no component with its version.", "Write NAME=VERSION.", USAGE)
        environment[name] = version
    scope["environment"] = {name: version for name, version in environment.items() if version}
    if agents is not None:
        scope["agents"] = [one for one in agents if one]
    scope |= {name: given[name] for name in ("recheck_at", "valid_from") if given[name] is not None}
    words = {name: given[name] for name in ("when_to_use", "guidance") if given[name]}
    return {"when_to_use": found["when_to_use"], "guidance": found["guidance"], **words, "scope": scope}


def _read(file: str | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        data = sys.stdin.buffer.read(LONGEST + 1) if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CommandFailed(f"{file} cannot be read: {error.strerror}.", "Check the path.", USAGE) from None
    try:
        text = jsonlib.loads(data[: LONGEST + 1])
    except ValueError as error:
        raise CommandFailed(f"{file} is no JSON: {error}.", "Write one object with the text.", USAGE) from None
    fits = isinstance(text, dict) and isinstance(text.get("when_to_use", ""), str)
    steps, scope = (text.get("guidance", []), text.get("scope", {})) if fits else (None, None)
    if not isinstance(steps, list) or not all(isinstance(one, str) for one in steps) or not isinstance(scope, dict):
        shape = '{"when_to_use": "…", "guidance": ["…"], "scope": {…}}'
        raise CommandFailed(f"{file} does not hold a text.", f"It is an object with any of: {shape}.", USAGE)
    return text
