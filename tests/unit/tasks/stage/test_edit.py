"""What a person may make of a text, and what the night's own becomes beside it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from storage.ids import content_hash
from tasks.promote.errors import NothingChanged, TextRefused
from tasks.stage import edit
from tasks.stage.edit import Written, edited_content
from tasks.stage.settle import packet_hash
from tasks.verify.tier import Tiered

TODAY = date(2026, 11, 30)
SPACE = "acme/shop"
SCOPE: dict[str, Any] = {
    "namespace": SPACE, "environment": {"api": "3.2"}, "agents": [], "valid_from": None, "recheck_at": "2027-02-28",
}  # fmt: skip
TEXT: dict[str, Any] = {
    "when_to_use": "Before archiving a note", "guidance": ["Look first.", "Then say so."], "scope": SCOPE,
    "predicate": {"kind": "call-present", "call": "archive_note", "direction": "avoid", "family": "shop"},
}  # fmt: skip
STANDARD = Tiered("standard", "the night's")


def edited(**changes: Any) -> dict[str, Any]:
    scope = SCOPE | changes.pop("scope", {})
    given = {"when_to_use": TEXT["when_to_use"], "guidance": TEXT["guidance"], "scope": scope} | changes
    return edited_content(TEXT, Written(**given), SPACE, TODAY)


def test_whatever_is_not_words_or_scope_stays() -> None:
    made = edited(when_to_use="Before archiving")
    assert made == TEXT | {"when_to_use": "Before archiving"}


def test_the_same_text_is_no_edit_however_its_lines_end() -> None:
    with pytest.raises(NothingChanged):
        edited()
    with pytest.raises(NothingChanged):
        edited(when_to_use=" Before archiving a note\r\n", guidance=["Look first.", "", "Then say so. "])


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"when_to_use": " \n"}, "is empty"),
        ({"guidance": ["", "  "]}, "no step left"),
        ({"guidance": ["x"] * 201}, "at most 200"),
        ({"guidance": ["é" * 100_001]}, "at most 200,000"),
        ({"scope": {"recheck_at": "2026-11-30"}}, "not in the future"),
        ({"scope": {"recheck_at": "2027-12-02"}}, "more than a year away"),
        ({"scope": {"recheck_at": None}}, "is no re-check date"),
        ({"scope": {"valid_from": "soon"}}, "is no valid from"),
        ({"scope": {"valid_from": "2027-03-01"}}, "not before its re-check"),
        ({"scope": {"namespace": "acme"}}, "beyond its namespace"),
        ({"scope": {"namespace": "acme/shop/eu"}}, "beyond its namespace"),
        ({"scope": {"environment": []}}, None),
        ({"scope": {"environment": ["api"]}}, "is an object"),
        ({"scope": {"agents": "bot"}}, "is a list"),
        ({"scope": {"agents": ["a\nb"]}}, "is no name for an agent"),
        ({"scope": {"environment": {"": "3"}}}, "is no name for a component"),
        ({"scope": {"environment": {"api": ""}}}, "is no version of api"),
        ({"scope": {"environment": {"api": ">=three"}}}, "is no version of api"),
        ({"scope": {"environment": {"api": "3.1,3.2"}}}, "is no version of api"),
        ({"scope": {"environment": {"api": ">=4,<=3"}}}, "no version of api lies in"),
        ({"scope": {"environment": {f"c{n}": "1" for n in range(101)}}}, "at most 100"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_what_to_do(changes: dict[str, Any], told: str | None) -> None:
    if told is None:
        assert edited(**changes)["scope"]["environment"] == {}
        return
    with pytest.raises(TextRefused, match=told):
        edited(**changes)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("3.3", "3.3"), ("*", "*"), ("2026-11-01b", "2026-11-01b"), (" >= 3.1 , <=3.4 ", ">=3.1,<=3.4"), ("<4", "<4")],
)
def test_versions_are_kept_as_scopes_keep_them(given: str, kept: str) -> None:
    assert edited(scope={"environment": {"api": given}, "agents": ["b"]})["scope"]["environment"] == {"api": kept}


def test_what_databases_refuse_is_replaced_and_hidden_characters_are_left_for_the_check() -> None:
    made = edited(guidance=["Look\x00\ud800 here\u202e."])
    assert made["guidance"] == ["Look\ufffd\ufffd here\u202e."]


def marked(packet: dict[str, Any], text: dict[str, Any] = TEXT) -> dict[str, Any]:
    return edit.marked(packet, text, by="u1", name="ana", at=datetime(2026, 11, 30, tzinfo=UTC))


def test_the_nights_text_and_tier_are_kept_from_the_first_edit_on() -> None:
    first = marked({"tier": "standard", "tier_why": "why"})
    second = marked({**first, "tier": "high", "tier_why": "risk"}, TEXT | {"guidance": ["x"]})
    for packet in (first, second):
        kept = packet["edited"]
        assert (kept["from"], kept["text"], kept["tier"]) == (content_hash(TEXT), TEXT, "standard")
    assert edit.is_nights(second["edited"], TEXT)


def carried(drafted: dict[str, Any], known: dict[str, Any], *, waiting: bool = True, today: date = TODAY) -> Any:
    packet = {"tier": "high", "tier_why": "tonight"}
    return edit.carried(known, drafted, packet, today, waiting=waiting)["edited"]


def test_the_same_advice_on_another_day_is_no_newer_text() -> None:
    known = marked({"tier": "standard", "tier_why": "why"})["edited"]
    tonight = TEXT | {"scope": SCOPE | {"recheck_at": "2027-03-09"}}
    assert carried(tonight, known)["newer"] is None
    assert carried(tonight, known)["tier"] == "high"
    passed = date(2027, 3, 1)
    assert carried(tonight, known, waiting=False, today=passed)["newer"] is None
    assert carried(tonight, known, today=passed)["newer"]["text"] == tonight


def test_a_newer_text_is_noted_once_and_goes_when_the_night_returns_to_the_old_one() -> None:
    known = marked({"tier": "standard", "tier_why": "why"})["edited"]
    other = TEXT | {"guidance": ["Check first."]}
    noted = carried(other, known)
    assert (noted["newer"]["text"], noted["newer"]["at"]) == (other, "2026-11-30")
    later = carried(other | {"scope": SCOPE | {"recheck_at": "2027-05-05"}}, noted, today=date(2026, 12, 5))
    assert later["newer"] == noted["newer"]
    assert edit.nights_text(later) == other
    assert carried(TEXT, later)["newer"] is None


def test_a_newer_text_makes_another_packet_and_an_unedited_packet_keeps_its_hash() -> None:
    plain = {"effect": {}, "checks": [], "tier": "standard"}
    one = marked(plain)
    two = {**one, "edited": {**one["edited"], "newer": {"hash": "h", "text": {}, "at": ""}}}
    assert len({packet_hash(plain), packet_hash(one), packet_hash(two)}) == 3
    assert packet_hash({**one, "edited": {**one["edited"], "name": "bo"}}) == packet_hash(one)


def test_only_lines_that_changed_raise_the_tier_and_nothing_lowers_it() -> None:
    risky = TEXT | {"guidance": ["Do not refund_order."]}
    added = risky | {"guidance": [*risky["guidance"], "Say so."]}
    turned = risky | {"guidance": ["Do refund_order."]}
    assert edit.tier_for(STANDARD, STANDARD, risky, added) == STANDARD
    assert edit.tier_for(STANDARD, STANDARD, risky, turned).tier == "high"
    assert edit.tier_for(STANDARD, Tiered("high", "an order"), risky, added).why == "an order"
    assert edit.tier_for(Tiered("high", "the night's"), STANDARD, risky, added).why == "the night's"


def test_checks_are_replaced_in_place_and_those_that_were_missing_come_last() -> None:
    rows = [{"name": "held-out", "verdict": "pass"}, {"name": "scope", "verdict": "pass"}]
    fresh = [{"name": name, "verdict": "warn"} for name in ("held-out", "scope", "recall")]
    found = edit.replaced(rows, fresh, frozenset({"scope", "recall"}))
    assert [(row["name"], row["verdict"]) for row in found] == [
        ("held-out", "pass"), ("scope", "warn"), ("recall", "warn"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("night", "scope", "told"),
    [
        ({"environment": {"api": "3.2"}}, {"environment": {"api": "3.2"}}, ""),
        ({"environment": {"api": ">=3.1,<=3.4"}}, {"environment": {"api": "3.2"}}, ""),
        ({"environment": {"api": "3.2"}}, {"environment": {"api": "*"}}, "verified for 3.2"),
        ({"environment": {"api": "3.2"}}, {"environment": {}}, "at any version"),
        ({"environment": {"api": "*"}}, {"environment": {}}, ""),
        ({"environment": {"api": "b7"}}, {"environment": {"api": ">=3"}}, "verified for b7"),
        ({"agents": ["a", "b"]}, {"agents": ["a"]}, ""),
        ({"agents": ["a"]}, {"agents": ["a", "b"]}, "agents b"),
        ({"agents": ["a"]}, {"agents": []}, "of any name"),
    ],
)
def test_a_scope_wider_than_what_was_verified_is_named(night: Any, scope: Any, told: str) -> None:
    found = edit.widened(night, scope)
    assert (told in found) if told else found == ""
    row = edit.scope_row({"name": "scope", "verdict": "pass", "detail": "fine", "fix": ""}, night, scope)
    assert row["verdict"] == ("warn" if told else "pass")


def test_a_title_is_one_short_line() -> None:
    assert edit.title_of({"guidance": ["Look\nfirst."]}) == "Look first"
    assert len(edit.title_of({"guidance": ["x" * 500]})) == 200
