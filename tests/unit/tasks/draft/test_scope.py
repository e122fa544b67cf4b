"""The versions that evidence verified."""

from __future__ import annotations

import pytest

from tasks.draft.scope import verified_environment, version_key


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (["3.2", "3.2"], "3.2"),
        (["3.9", "3.10", "3.2"], ">=3.2,<=3.10"),
        (["3.2", None], "*"),
        (["blue", "green"], "*"),
        (["blue", "blue"], "blue"),
    ],
)
def test_scope_holds_what_was_seen_and_nothing_more(versions: list[str | None], expected: str) -> None:
    environments = [{"api": version} if version else {} for version in versions]
    assert verified_environment(environments) == {"api": expected}


def test_no_environment_is_no_scope() -> None:
    assert verified_environment([{}, {}]) == {}


@pytest.mark.parametrize(
    ("version", "key"), [("3.10.1", (3, 10, 1)), ("v2", (2,)), ("3.0", (3,)), ("nightly", None), ("1.2b", None)]
)
def test_versions_are_ordered_by_number(version: str, key: tuple[int, ...] | None) -> None:
    assert version_key(version) == key
