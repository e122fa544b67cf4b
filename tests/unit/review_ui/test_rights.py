"""Who sees and touches whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from review_ui import rights
from review_ui.access import Viewer
from storage.namespaces import covers, meets
from storage.tables import ApiToken, User

AT = datetime(2026, 11, 30, tzinfo=UTC)


def viewer(role: str, *namespaces: str) -> Viewer:
    return Viewer("me", "me", role, namespaces, "s", "c")


def user(*namespaces: str, user_id: str = "other") -> User:
    return User(id=user_id, name=user_id, role="reviewer", namespaces=list(namespaces), created_at=AT)


def token(*namespaces: str, owner: str | None = None) -> ApiToken:
    return ApiToken(id="t", token_hash="h", role="agent", namespaces=list(namespaces), user_id=owner, created_at=AT)


@pytest.mark.parametrize(
    ("granted", "wanted", "covered", "met"),
    [
        ([], [], True, True),
        ([], ["a"], True, True),
        (["a"], [], False, True),
        (["a"], ["a/x"], True, True),
        (["a/x"], ["a"], False, True),
        (["a"], ["a1"], False, False),
        (["a"], ["a/x", "b"], False, True),
        (["a/x"], ["a/y"], False, False),
    ],
)
def test_grants_cover_and_meet_by_whole_segments(
    granted: Sequence[str], wanted: Sequence[str], covered: bool, met: bool
) -> None:
    assert (covers(granted, wanted), meets(granted, wanted)) == (covered, met)
    assert meets(wanted, granted) == met


def test_an_admin_manages_who_sees_no_more_than_they_do_and_not_themselves() -> None:
    admin = viewer("admin", "acme")
    assert rights.manages(admin, user("acme/support"))
    for other in (user(), user("acme", "beta"), user("acme2"), user("acme", user_id="me")):
        assert not rights.manages(admin, other)
    assert not rights.manages(viewer("reviewer"), user("acme"))
    assert rights.manages(viewer("admin"), user())


def test_an_admin_sees_those_of_their_namespaces_and_of_them_only_what_is_there() -> None:
    admin = viewer("admin", "acme/support")
    assert rights.sees_person(admin, user("acme", "beta"))
    assert not rights.sees_person(admin, user("acme/sales"))
    assert rights.shown_namespaces(admin, ["acme", "beta"]) == (["acme/support"], True)
    assert rights.shown_namespaces(admin, ["acme/support/eu", "beta"]) == (["acme/support/eu"], True)
    assert rights.shown_namespaces(admin, []) == (["acme/support"], True)
    assert rights.shown_namespaces(viewer("admin"), []) == ([], False)
    assert rights.shown_namespaces(viewer("admin"), ["b", "a"]) == (["a", "b"], False)


def test_others_have_to_do_with_themselves_alone() -> None:
    for role in ("reviewer", "auditor"):
        who = viewer(role)
        assert rights.sees_person(who, user(user_id="me"))
        assert not rights.sees_person(who, user("acme"))
        assert not rights.sees_token(who, token("acme"))
        assert rights.may_revoke(who, token("acme", owner="me"), user("acme", user_id="me"))
        assert not rights.may_revoke(who, token("acme"), None)


def test_an_admin_revokes_tokens_of_no_more_than_they_see() -> None:
    admin = viewer("admin", "acme")
    assert rights.may_revoke(admin, token("acme/x"), None)
    assert not rights.may_revoke(admin, token(), None)
    assert not rights.may_revoke(admin, token("acme/x", owner="boss"), user("acme", "beta", user_id="boss"))


@pytest.mark.parametrize(
    ("role", "wanted", "namespaces", "may"),
    [
        ("reviewer", "reviewer", ["acme"], True),
        ("reviewer", "auditor", ["acme/x"], True),
        ("reviewer", "admin", ["acme"], False),
        ("reviewer", "ingest", ["acme"], False),
        ("auditor", "reviewer", ["acme"], False),
        ("admin", "reviewer", ["acme"], True),
        ("admin", "admin", [], False),
        ("admin", "admin", ["beta"], False),
    ],
)
def test_a_personal_token_is_never_wider_than_its_person(
    role: str, wanted: str, namespaces: list[str], may: bool
) -> None:
    assert rights.may_have(viewer(role, "acme"), wanted, namespaces) is may
