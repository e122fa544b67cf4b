"""Namespaces are paths of whole segments."""

from __future__ import annotations

import pytest

from storage.namespaces import NamespaceMalformed, namespace_allows, parse_namespace


@pytest.mark.parametrize("path", ["acme", "acme/support", "a/b/c", "a.b-c_d/1"])
def test_a_well_formed_path_is_taken(path: str) -> None:
    assert parse_namespace(path) == path


MALFORMED = ["", "/", "acme/", "/acme", "a//b", "Acme", "a b", "../up", "a/..", "ä", "a\n", "x" * 201]


@pytest.mark.parametrize("path", MALFORMED)
def test_a_malformed_path_is_refused_with_a_hint(path: str) -> None:
    with pytest.raises(NamespaceMalformed, match="such as acme/support"):
        parse_namespace(path)


@pytest.mark.parametrize(
    ("granted", "path", "allowed"),
    [
        ([], "acme/support", True),
        (["acme"], "acme", True),
        (["acme"], "acme/support", True),
        (["acme/support"], "acme", False),
        (["ann"], "ann1", False),
        (["ann"], "ann/1", True),
        (["other", "acme"], "acme/support", True),
    ],
)
def test_a_grant_covers_itself_and_what_is_below(granted: list[str], path: str, allowed: bool) -> None:
    assert namespace_allows(granted, path) is allowed
