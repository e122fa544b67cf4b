"""Whom a rule reached and what was done under it, as the command line tells it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from worker.cli.output import counted, print_json, say, visible
from worker.cli.store import Store

SHOWN = 20


def reached_by(store: Store, namespace: str, rule: str) -> dict[str, Any]:
    """The documented JSON shape: sessions, whether each is open, and calls that may have changed something."""
    from tasks.revoke.report_step import reached

    found = reached(store.database, namespace, rule)
    return {**asdict(found), "cancellable": [asdict(one) for one in found.cancellable]}


def tell_reached(store: Store, namespace: str, rule: str, *, json: bool) -> None:
    """Print it, before anything is done."""
    found = reached_by(store, namespace, rule)
    if json:
        print_json(found)
        return
    below = sorted({rule_id for rule_id, _ in found["versions"]} - {rule})
    if below:
        say(f"leaning on it, withdrawn with it: {visible(', '.join(below))}")
    say_reached(found)


def say_reached(found: dict[str, Any]) -> None:
    """In words: sessions, then calls by name, then those that can still be cancelled, one by one."""
    sessions, actions = found["sessions"], found["actions"]
    still = sum(open_ is True for open_ in sessions.values())
    say(f"{counted(len(sessions), 'session')} may have read it, {still} still open; {counted(found['runs'], 'run')}")
    changed = Counter(one["tool"] for one in actions if one["side_effects"])
    unknown = Counter(one["tool"] for one in actions if one["side_effects"] is None)
    for words, names in (("calls with side effects", changed), ("calls of which the policy says nothing", unknown)):
        if names:
            say(f"{words}: " + visible(", ".join(f"{name} x{times}" for name, times in names.most_common(SHOWN))))
    for one in found["cancellable"][:SHOWN]:
        where = f"session {one['session_id'] or '?'}, episode {one['episode_id']}, step {one['step_id']}"
        say(f"can still be cancelled: {visible(one['tool'])} in {visible(where)}")
    if len(found["cancellable"]) > SHOWN:
        say(f"… and {len(found['cancellable']) - SHOWN} more: --json lists all of them")
