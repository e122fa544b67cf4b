"""A rule past the end that its scope names is withdrawn, once, and readers are told."""

from __future__ import annotations

from datetime import timedelta

import pytest

from storage import audit
from storage.queries import rules as rule_queries
from storage.tables import OutboxEvent, RuleVersion
from support.reviewing import Desk, finding
from tasks.revoke.expire_step import expire


def ending(desk: Desk, key: tuple[str, int], valid_to: str | None) -> None:
    with desk.database.write() as session:
        row = session.get_one(RuleVersion, (desk.namespace, *key))
        row.content = {**row.content, "scope": {**row.content["scope"], "valid_to": valid_to}}


def state(desk: Desk, key: tuple[str, int]) -> str:
    with desk.database.read() as session:
        row = rule_queries.version(session, desk.namespace, *key)
    assert row is not None
    return row.state


def test_what_is_past_its_end_is_withdrawn_in_one_event_and_the_rest_is_served(desk: Desk) -> None:
    over, still = desk.promoted(finding(desk, "cancel_order")), desk.promoted(finding(desk, "send_label"))
    ending(desk, over, (desk.now + timedelta(days=1)).isoformat())
    assert expire(desk.database, desk.now) == {}, "not before its time"
    later = desk.now + timedelta(days=2)
    assert expire(desk.database, later) == {desk.namespace: [over]}
    assert (state(desk, over), state(desk, still)) == ("expired", "active")
    assert expire(desk.database, later) == {}, "once"
    with desk.database.read() as session:
        row = rule_queries.version(session, desk.namespace, *over)
        assert row is not None
        event = session.get_one(OutboxEvent, (desk.namespace, row.state_epoch))
        assert [(c["event"], c["rule"]) for c in event.changes] == [("expired", over[0])]
        assert audit.verify(session).ok


@pytest.mark.parametrize("end", [None, "", "some day"])
def test_what_names_no_end_stays(desk: Desk, end: str | None) -> None:
    key = desk.promoted(finding(desk, "cancel_order"))
    ending(desk, key, end)
    assert expire(desk.database, desk.now + timedelta(days=9999)) == {}
    assert state(desk, key) == "active"
