"""What cannot both be followed, and what can."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.conflict.claims import Claim, compare
from tasks.contrast.predicate import Predicate


def claim(ref: str, kind: str, parts: tuple[str, ...], direction: str, family: str = "f", **scope: Any) -> Claim:
    predicate = Predicate(kind, parts, direction).canonical(family)  # type: ignore[arg-type]
    return Claim(ref, predicate, scope, "the other's first step")


PAIRS = [
    (("call-present", ("x",), "do"), ("call-present", ("x",), "avoid"), "opposite-advice"),
    (("call-present", ("x",), "avoid"), ("missing-check", ("x", "y"), "avoid"), "opposite-advice"),
    (("call-present", ("x",), "avoid"), ("recovery", ("y", "e", "x"), "do"), "opposite-advice"),
    (("order", ("a", "b"), "do"), ("order", ("b", "a"), "do"), "order-reversed"),
    (("order", ("a", "b"), "do"), ("order", ("a", "b"), "avoid"), "opposite-advice"),
    (("missing-check", ("a", "b"), "avoid"), ("order", ("b", "a"), "do"), "order-reversed"),
    (("argument", ("ship", "speed", "1"), "do"), ("argument", ("ship", "speed", "2"), "do"), "different-value"),
    (("environment", ("api", "3"), "do"), ("environment", ("api", "4"), "do"), "different-value"),
    (("call-present", ("x",), "do"), ("call-present", ("y",), "avoid"), None),
    (("call-present", ("x",), "avoid"), ("missing-check", ("y", "x"), "avoid"), None),
    (("order", ("a", "b"), "do"), ("order", ("b", "a"), "avoid"), "same-advice"),
    (("missing-check", ("a", "b"), "avoid"), ("order", ("a", "b"), "do"), "part-of"),
    (("missing-check", ("a", "b"), "avoid"), ("call-present", ("a",), "do"), "part-of"),
    (("missing-check", ("a", "b"), "do"), ("order", ("a", "b"), "do"), "order-reversed"),
    (("missing-check", ("a", "b"), "avoid"), ("missing-check", ("b", "a"), "avoid"), "order-reversed"),
    (("loop", ("a",), "avoid"), ("call-present", ("a",), "do"), None),
    (("argument", ("ship", "speed", "1"), "do"), ("argument", ("ship", "speed", "1"), "avoid"), "opposite-advice"),
    (("recovery", ("y", "e", "x"), "do"), ("recovery", ("y", "e", "z"), "do"), None),
    (("argument", ("ship", "speed", "1"), "avoid"), ("argument", ("ship", "speed", "2"), "avoid"), None),
    (("argument", ("ship", "speed", "1"), "do"), ("argument", ("ship", "carrier", "2"), "do"), None),
    (("argument", ("manages", "who", "releases"), "do"), ("argument", ("approves", "who", "dns"), "do"), None),
]


@pytest.mark.parametrize(("left", "right", "expected"), PAIRS)
def test_conflicts_are_told_by_predicate_whichever_side_looks(left: Any, right: Any, expected: str | None) -> None:
    one, two = claim("candidate:1", *left), claim("candidate:2", *right)
    found, mirrored = compare(one, two), compare(two, one)
    assert (found.form if found else None) == (mirrored.form if mirrored else None) == expected
    if found and mirrored:
        assert found.key == mirrored.key
        assert found.kind == {"same-advice": "duplicate", "part-of": "overlap"}.get(str(expected), "contradiction")


DO, AVOID = ("call-present", ("x",), "do"), ("call-present", ("x",), "avoid")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"environment": {"api": "3.1"}}, {"environment": {"api": ">=3.2,<=3.4"}}),
        ({"valid_to": "2026-02-01"}, {"valid_from": "2026-06-01"}),
        ({"agents": ["a"]}, {"agents": ["b"]}),
    ],
    ids=["versions", "times", "agents"],
)
def test_disjoint_scopes_are_no_conflict(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert compare(claim("candidate:1", *DO, **left), claim("candidate:2", *AVOID, **right)) is None


def test_another_family_is_another_condition() -> None:
    assert compare(claim("candidate:1", *DO), claim("candidate:2", *AVOID, family="g")) is None


def test_a_newer_value_is_a_proposed_supersession_of_the_active_rule() -> None:
    old = claim("rule:orchid-uses@1", "argument", ("orchid", "uses", "P"), "do", valid_from="2026-01-01")
    new = claim("candidate:9", "argument", ("orchid", "uses", "Q"), "do", valid_from="2026-06-01")
    found = compare(new, old)
    assert found is not None
    assert (found.kind, found.form, found.supersedes) == ("supersession", "different-value", True)
    assert found.detail.endswith("approving this one puts it aside")


def test_an_older_claim_does_not_propose_to_put_a_newer_rule_aside() -> None:
    newer = claim("rule:r@1", *AVOID, valid_from="2026-06-01")
    found = compare(claim("candidate:9", *DO, valid_from="2026-01-01"), newer)
    assert found is not None
    assert not found.supersedes


def test_candidates_never_put_each_other_aside_by_themselves() -> None:
    found = compare(claim("candidate:1", *DO), claim("candidate:2", *AVOID))
    assert found is not None
    assert not found.supersedes


def test_calls_listed_as_required_forbidden_and_ordered_are_compared_with_findings() -> None:
    listed = {"required": ["look"], "forbidden": ["cancel"], "ordered": [["look", "pay"]], "family": "f"}
    one = Claim("candidate:1", listed, {}, "the model's words")
    found = [compare(one, claim("candidate:2", *other)) for other in (
        ("call-present", ("cancel",), "do"), ("order", ("pay", "look"), "do"), ("call-present", ("pay",), "avoid"),
        ("missing-check", ("look", "pay"), "avoid"),
    )]  # fmt: skip
    assert [hit and (hit.kind, hit.form) for hit in found] == [
        ("contradiction", "opposite-advice"), ("contradiction", "order-reversed"), None, ("overlap", "part-of"),
    ]  # fmt: skip


def test_two_revisions_of_one_finding_are_no_conflict() -> None:
    assert compare(claim("candidate:1", *DO), claim("rule:r@1", *DO)) is None


def test_what_cannot_be_compared_is_no_conflict() -> None:
    assert compare(Claim("candidate:1", {}, {}, ""), claim("candidate:2", *DO)) is None
    assert compare(Claim("candidate:1", {"kind": "new", "family": "f"}, {}, ""), claim("candidate:2", *DO)) is None
