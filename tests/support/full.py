"""How much of the suite runs: what fits into some minutes, or all of it, with ``SLOWWAVE_FULL=1`` (``make test-full``).

Short of all of it, a test that says the same on either database runs on one of them, told by its name so that it is
the same one each time; races are fewer; and what is marked ``long`` is left out.
"""

from __future__ import annotations

import os
from pathlib import Path
from zlib import crc32

import pytest

FULL = bool(os.environ.get("SLOWWAVE_FULL"))
DATABASES = ("sqlite", "postgres")
ON_BOTH = frozenset({
    "consolidation/test_facts_kept.py", "ingest/test_ingest.py", "read_api/test_moving_indexes.py",
    "read_api/test_rules.py", "read_api/test_search.py",
    "review_ui/test_audit_page.py", "review_ui/test_events.py", "review_ui/test_people.py", "review_ui/test_queue.py",
    "review_ui/test_races.py", "review_ui/test_rule_page.py", "tasks/test_decisions.py", "tasks/test_reservations.py",
    "tasks/test_revocation.py", "worker/test_reconcile.py", "worker/test_retry.py",
})  # fmt: skip
"""Tests of queries, of transactions that meet, and of what must never be lost; those of the storage are all so."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only the full suite runs."""
    if FULL:
        return
    gone = {item for item in items if item.get_closest_marker("long") or _is_said_on_the_other(item)}
    if gone:
        config.hook.pytest_deselected(items=list(gone))
        items[:] = [item for item in items if item not in gone]


def _is_said_on_the_other(item: pytest.Item) -> bool:
    """Whether this is the second of two runs of one test that differ in the database alone."""
    given = item.callspec.params.values() if hasattr(item, "callspec") else ()
    named = [each for each in given if each in DATABASES]
    if not named or _runs_on_both(item.path):
        return False
    name = item.nodeid
    for each in DATABASES:
        name = name.replace(each, "")
    return named[0] != DATABASES[crc32(name.encode()) % 2]


def _runs_on_both(path: Path) -> bool:
    folder = path.parent.name
    return "integration" not in path.parts or folder == "storage" or f"{folder}/{path.name}" in ON_BOTH
