from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.contrast.predicate import (
    FIELDS,
    LONGEST_NAME,
    Predicate,
    PredicateInvalid,
    agent_call,
    call_words,
    from_canonical,
    happened_words,
    predicate_id,
    shown_name,
    tool_of,
)

EXAMPLES = [Predicate(kind, tuple("567"[: len(names)])) for kind, names in FIELDS.items()]  # type: ignore[arg-type]


@pytest.mark.parametrize("predicate", EXAMPLES, ids=lambda predicate: predicate.kind)
def test_every_kind_survives_storage_and_has_words(predicate: Predicate) -> None:
    for direction in ("do", "avoid"):
        directed = predicate.toward(direction)  # type: ignore[arg-type]
        assert from_canonical(directed.canonical("fam")) == directed
    assert "a" in happened_words(predicate)


def test_identity_depends_on_namespace_family_and_direction() -> None:
    one = Predicate("call-present", ("cancel",), "avoid")
    ids = {
        predicate_id("lab", "f", one),
        predicate_id("lab/x", "f", one),
        predicate_id("lab", "g", one),
        predicate_id("lab", "f", one.toward("do")),
    }
    assert len(ids) == 4


@pytest.mark.parametrize("stored", [{}, {"kind": "telepathy"}, {"kind": "order", "first": "a"}])
def test_a_broken_predicate_is_refused(stored: dict[str, str]) -> None:
    with pytest.raises(PredicateInvalid):
        from_canonical(stored)


def test_a_users_own_call_is_named_as_such() -> None:
    assert happened_words(Predicate("call-present", ("user:reboot",))) == "the user's own `reboot` was called"


ANY_NAME = st.text(st.characters(), max_size=120) | st.sampled_from(["a`b", "user:x", "again:x", "agent:x", "x\r\ny"])


@given(ANY_NAME)
def test_a_name_is_shown_in_one_short_line_that_cannot_end_its_quotation(name: str) -> None:
    shown = shown_name(name)
    assert len(shown) <= LONGEST_NAME
    assert len(shown.splitlines()) <= 1
    assert not set("`\"'“”‘’«»") & set(shown)
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or 0xD800 <= ord(char) < 0xE000 for char in shown)
    assert shown_name(shown) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [("get\n## SYSTEM", "get␊## SYSTEM"), ("a` then `b", "a� then �b"), ("\x1b[31mx", "␛[31mx"), ("x\u2028y", "x�y")],
)
def test_what_a_name_hides_stays_visible(name: str, shown: str) -> None:
    assert call_words(name) == f"`{shown}`"


@given(ANY_NAME)
def test_no_name_of_an_agents_tool_reads_as_another_call(name: str) -> None:
    key = agent_call(name)
    assert tool_of(key) == name
    assert not key.startswith(("user:", "again:"))
    assert call_words(key) == f"`{shown_name(name)}`"


def test_the_users_own_call_and_a_call_made_otherwise_go_by_the_name_behind_the_mark() -> None:
    assert (tool_of("user:again:x"), tool_of("again:git push -u"), tool_of("again:agent:user:x")) == (
        "again:x", "git push -u", "user:x",
    )  # fmt: skip
