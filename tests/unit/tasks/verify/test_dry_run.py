"""What another policy would do to the queue, from rows alone."""

from __future__ import annotations

from typing import Any

from support.factories import content_for, packet_for
from tasks.ingest.policy import KNOWN
from tasks.promote.packet import missing_parts
from tasks.verify.checks import Check, rows_of
from tasks.verify.dry_run import DEFAULTS, SINCE, Active, DryRun, Waiting, dry_run, under

FAILED = Check("over-general", "fail", "it would be served elsewhere", "narrow it")


def waiting(name: str = "c-1", *, kind: str = "rule", tier: str = "standard", **packet: Any) -> Waiting:
    return Waiting(name, f"title of {name}", kind, tier, content_for("acme"), packet_for(**packet))


def failing(blocking: list[str] | None, name: str = "c-1") -> Waiting:
    """A candidate as a night under this policy staged it."""
    return waiting(name, checks=rows_of([FAILED], None if blocking is None else frozenset(blocking)))


NOBODY = Active()


def tried(current: dict[str, Any], proposed: dict[str, Any], *rows: Waiting, active: Active = NOBODY) -> DryRun:
    return dry_run(current, proposed, rows, active)


def test_a_check_that_no_longer_blocks_makes_a_candidate_approvable() -> None:
    found = tried({}, {"blocking_checks": ["secrets"]}, failing(None), waiting("c-2"))
    (moved,) = found.moved
    assert (moved.id, moved.becomes, moved.after, moved.anyway) == ("c-1", "approvable", (), False)
    assert "over-general" in moved.before[0]
    (change,) = found.changes
    assert (change.key, change.before, change.after, change.touches) == ("blocking_checks", None, ["secrets"], 1)
    assert (found.looked, found.count("approvable"), found.count("blocked")) == (2, 1, 0)


def test_a_check_that_blocks_again_blocks_a_candidate() -> None:
    found = tried({"blocking_checks": []}, {}, failing([]))
    (moved,) = found.moved
    assert (moved.becomes, moved.before) == ("blocked", ())


def test_what_would_be_so_anyway_says_so() -> None:
    policy = {"blocking_checks": ["secrets"]}
    found = tried(policy, policy, failing(None))
    assert found.changes == ()
    assert [moved.anyway for moved in found.moved] == [True]


def test_a_forced_draft_is_approvable_only_where_the_policy_says_so() -> None:
    forced = waiting(forced={"why": "drafted by force", "approvable": False})
    found = tried({}, {"approve_forced": True}, forced)
    assert [(moved.becomes, moved.after) for moved in found.moved] == [("approvable", ())]
    back = tried({"approve_forced": True}, {}, waiting(forced={"why": "drafted by force", "approvable": True}))
    assert [moved.becomes for moved in back.moved] == ["blocked"]


def test_one_reason_in_place_of_another_is_told_apart() -> None:
    both = waiting(checks=rows_of([FAILED], frozenset()), forced={"why": "drafted by force", "approvable": False})
    found = tried({"blocking_checks": []}, {"approve_forced": True}, both)
    assert [moved.becomes for moved in found.moved] == ["blocked-otherwise"]


def test_the_dry_run_says_what_a_night_then_writes() -> None:
    for blocking in (None, [], ["over-general"], ["secrets", "over-general"], ["recall"]):
        policy = {} if blocking is None else {"blocking_checks": blocking}
        night = failing(blocking)
        for before in (None, [], ["recall"]):
            assert missing_parts(night.content, under(failing(before), policy)) == missing_parts(
                night.content, night.packet
            )


def test_saying_the_default_changes_nothing() -> None:
    assert tried({}, dict(DEFAULTS)).changes == ()
    assert tried({"blocking_checks": ["a", "b"]}, {"blocking_checks": ["b", "a"]}).changes == ()


def test_every_key_says_from_when_it_counts() -> None:
    current = {key: "before" for key in KNOWN if key not in ("blocking_checks", "retire_limit", "holdout_fraction")}
    proposed = dict.fromkeys(current, "after")
    found = tried(current, proposed)
    assert [change.key for change in found.changes] == [key for key in KNOWN if key in current]
    since = {change.key: change.since for change in found.changes}
    assert (since["trust"], since["audit_views"], since["regime"]) == ("intake", "at-once", "next-night")
    assert set(SINCE) <= set(KNOWN)


def test_limits_say_what_they_come_to() -> None:
    active = Active(rules=20, high=5)
    retire, held = tried({}, {"retire_limit": 0.5, "holdout_fraction": 0.1}, active=active).changes
    assert (retire.key, retire.most) == ("retire_limit", (4, 10))
    assert (held.key, held.most) == ("holdout_fraction", (0, 15))
    (least,) = tried({}, {"retire_limit": 0.0}, active=active).changes
    assert least.most == (4, 1)  # one is always allowed


def test_what_waits_is_counted_for_the_keys_that_are_about_it() -> None:
    rows = [waiting("c-1"), waiting("c-2", kind="exemplar"), waiting("c-3", owner="the refund team")]
    found = tried({}, {"exemplars": 3, "owner": "the refund team"}, *rows)
    assert {change.key: change.touches for change in found.changes} == {"owner": 2, "exemplars": 1}
    assert found.moved == ()
