from __future__ import annotations

import pytest

from tasks.contrast.predicate import (
    FIELDS,
    Predicate,
    PredicateInvalid,
    from_canonical,
    happened_words,
    predicate_id,
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
