"""Resolving a conflict is a person's decision with a reason; it stands while both sides say what they said."""

from __future__ import annotations

import pytest
from sqlmodel import select

from storage import audit
from storage.tables import AuditEntry, RuleVersion
from tasks.conflict.resolve.errors import ConflictChanged, ConflictClosed, ConflictGone, OtherwiseResolved, SideUnknown
from tasks.conflict.resolve.shown import shown_hash
from tasks.promote.errors import NotAllowed, ReasonMissing


@pytest.fixture
def moved(lab):
    """A lab with one proposed supersession."""
    lab.told("e1", "Orchid uses P", day=1)
    lab.told("e2", "Orchid moved from P to Q", day=5)
    lab.night()
    return lab


def test_a_resolution_keeps_who_why_and_which_side(moved) -> None:
    ana = moved.person()
    result = moved.resolve(moved.only(), ana, keep="right", reason="the move was done")
    (row,) = moved.conflicts("resolved")
    assert (result.changed, row.resolution, row.reason, row.resolved_by) == (
        True,
        "right",
        "the move was done",
        ana.user_id,
    )
    with moved.database.read() as session:
        (entry,) = session.exec(select(AuditEntry).where(AuditEntry.action == "conflict.resolved")).all()
        assert audit.verify(session).ok
    assert (entry.actor, entry.target, entry.detail["keep"]) == (ana.actor, f"conflict:{row.id}", "right")
    assert "the move was done" not in str(entry.detail)


def test_the_same_resolution_again_changes_nothing_and_the_opposite_is_refused(moved) -> None:
    ana, bo = moved.person("ana"), moved.person("bo")
    conflict = moved.only()
    moved.resolve(conflict, ana)
    assert moved.resolve(conflict, bo, reason="I think so too").changed is False
    with pytest.raises(OtherwiseResolved) as refused:
        moved.resolve(conflict, bo, keep="left")
    assert refused.value.status == 409
    (row,) = moved.conflicts("resolved")
    assert (row.resolution, row.resolved_by) == ("right", ana.user_id)
    with moved.database.read() as session:
        assert len(session.exec(select(AuditEntry).where(AuditEntry.action == "conflict.resolved")).all()) == 1


def test_a_resolution_needs_a_person_who_may_a_reason_and_a_side(moved) -> None:
    conflict = moved.only()
    with pytest.raises(NotAllowed):
        moved.resolve(conflict, moved.person("otto", role="auditor"))
    ana = moved.person()
    with pytest.raises(ReasonMissing):
        moved.resolve(conflict, ana, reason=" ")
    with pytest.raises(SideUnknown):
        moved.resolve(conflict, ana, keep="newer")
    conflict.id = "nothing"
    with pytest.raises(ConflictGone):
        moved.resolve(conflict, ana)
    assert len(moved.conflicts()) == 1


def test_what_was_shown_is_what_is_decided(moved) -> None:
    ana, conflict = moved.person(), moved.only()
    with pytest.raises(ConflictChanged):
        moved.resolve(conflict, ana, shown="of another page")
    assert moved.resolve(conflict, ana, shown=shown_hash(conflict.kind, conflict.sides)).changed


def test_a_resolved_conflict_stays_so_while_more_of_the_same_comes_in(moved) -> None:
    moved.resolve(moved.only(), moved.person())
    moved.told("e3", "Orchid uses P", day=2)
    moved.night()
    assert moved.conflicts() == []
    (row,) = moved.conflicts("resolved")
    assert row.resolution == "right"
    assert {row.sides[side]["support"] for side in ("left", "right")} == {1, 2}


def test_a_conflict_opens_again_with_a_note_when_what_is_said_changes(moved) -> None:
    ana = moved.person()
    moved.resolve(moved.only(), ana, reason="the move was done")
    moved.told("e3", "Orchid uses P", day=20)
    moved.night()
    again = moved.only()
    assert (again.kind, again.resolution, again.reason) == ("contradiction", None, None)
    assert again.sides["before"] == {
        "why": "it was a supersession, and is a contradiction now", "keep": "right", "reason": "the move was done",
        "by": ana.user_id,
    }  # fmt: skip
    assert moved.resolve(again, ana, keep="left").changed


def test_a_conflict_that_closed_by_itself_is_nothing_to_decide(moved) -> None:
    conflict = moved.only()
    moved.told("e2", "Orchid is fast", day=5)
    moved.night()
    with pytest.raises(ConflictClosed):
        moved.resolve(conflict, moved.person())


def test_resolving_promotes_and_revokes_nothing(moved) -> None:
    moved.resolve(moved.only(), moved.person(), keep="neither")
    with moved.database.read() as session:
        assert session.exec(select(RuleVersion)).all() == []
