"""What was revoked is known again in other words, and what only touches it is told apart."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from tasks.cluster.kin import Promoted, Told, kin_of
from tasks.contrast.predicate import Predicate
from tasks.draft.wording import guidance, when_to_use
from tasks.verify.check import AkinRevoked, RevokedBefore, Subject
from tasks.verify.checks import check_all
from tasks.verify.revoked import Claimed, Nearness, Revoked, brought_back, claimed_by, name_kin
from tasks.verify.support import NOTHING

AT = datetime(2026, 11, 30, tzinfo=UTC)
CHECK = Predicate("missing-check", ("get_fare", "pay"), "avoid")
CALL = Predicate("call-present", ("get_fare",), "do")


def claimed(predicate: Predicate, *also: Predicate, family: str = "desk", lines: tuple[str, ...] = ()) -> Claimed:
    stored = predicate.canonical(family)
    said = lines or (when_to_use(stored, "desk"), *guidance(stored, mixed=False))
    packet = {"also_worded": [one.canonical(family) for one in also]}
    return claimed_by({"predicate": stored}, packet, said)


def near(draft: Claimed, *others: Claimed) -> dict[Nearness, str]:
    revoked = [Revoked((f"r{n}", 1), one, AT + timedelta(days=n), "it misleads") for n, one in enumerate(others)]
    told = [Told(one.key, next(iter(one.claimed.predicates), None), one.claimed.lines) for one in revoked]
    kin = kin_of(draft.predicates[0], Promoted(tuple(told)), draft.lines)
    return {how: one.key[0] for how, one in brought_back(draft, revoked, kin).items()}


@pytest.mark.parametrize(
    ("draft", "other", "expected"),
    [
        (claimed(CHECK), claimed(CHECK), "same"),
        (claimed(CHECK), claimed(CHECK.toward("do")), "reworded"),
        (claimed(CHECK), claimed(Predicate("order", ("get_fare", "pay"), "do")), "reworded"),
        (claimed(CHECK, CALL), claimed(CALL), "reworded"),
        (claimed(CHECK), claimed(CALL, CHECK), "reworded"),
        (claimed(CHECK), claimed(CALL), "akin"),
        (claimed(CALL), claimed(CHECK), "akin"),
        (claimed(CHECK), claimed(Predicate("missing-check", ("get_fare", "ask"), "avoid")), "akin"),
        (claimed(CHECK), claimed(CHECK, family="other"), "akin"),
        (claimed(Predicate("argument", ("pay", "by", "1"), "do")),
         claimed(Predicate("argument", ("pay", "to", "2"), "do")), "akin"),
        (claimed(Predicate("environment", ("api", "2"), "do")),
         claimed(Predicate("environment", ("api", "2"), "avoid")), "reworded"),
        (claimed(CHECK), claimed(Predicate("call-present", ("refund",), "do")), None),
    ],
)  # fmt: skip
def test_how_near_a_draft_is_to_what_was_revoked(draft: Claimed, other: Claimed, expected: str | None) -> None:
    assert list(near(draft, other)) == ([expected] if expected else [])


def test_a_text_reworded_is_known_though_no_machine_can_check_what_was_revoked() -> None:
    line = "Ask who the parcel is for before it is sent on to another house"
    exemplar = claimed_by({}, {}, (line,))
    again = claimed(
        CALL, lines=("Before sending the parcel on, ask who it is for: before it is sent on to another house",)
    )
    assert near(again, exemplar) == {"reworded": "r0"}


def test_the_latest_of_each_nearness_is_taken() -> None:
    order = Predicate("order", ("get_fare", "pay"), "do")
    found = near(claimed(CHECK), claimed(CHECK), claimed(order), claimed(order), claimed(CALL), claimed(CHECK))
    assert found == {"same": "r4", "reworded": "r2", "akin": "r3"}


def subject(revoked: RevokedBefore | None = None, akin: AkinRevoked | None = None) -> Subject:
    content = {"predicate": CHECK.canonical("desk"), "when_to_use": "w", "guidance": ["g"], "scope": {}}
    return Subject(content=content, packet={}, cited=[], today=date(2026, 12, 1), revoked=revoked, akin=akin)


def said(about: Subject) -> tuple[str, str]:
    (row,) = [check for check in name_kin(check_all(about), about) if check.name == "revoked-before"]
    return row.verdict, row.detail


def test_the_check_says_which_rule_and_whether_it_is_the_same_another_wording_or_akin() -> None:
    at = AT.isoformat()
    assert said(subject())[0] == "pass"
    verdict, words = said(subject(RevokedBefore("r", 2, "it misleads", at, NOTHING)))
    assert (verdict, words.startswith("revoked before, on 2026-11-30 (r version 2): it misleads")) == ("fail", True)
    verdict, words = said(subject(RevokedBefore("r", 2, "it misleads", at, NOTHING, reworded=True)))
    assert (verdict, words.startswith("akin, in other words: revoked before")) == ("fail", True)
    assert said(subject(akin=AkinRevoked("r", 2, "it misleads", at))) == (
        "warn", "akin to a rule revoked on 2026-11-30 (r version 2): it misleads",
    )  # fmt: skip
