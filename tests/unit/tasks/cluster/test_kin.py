"""Kin of a claim: whose readers are its echoes, and how a rule's text is found in a run."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.cluster.kin import Promoted, RuleTexts, Told, kin_of, overlap, texts_found, tokens
from tasks.contrast.predicate import Predicate
from tasks.draft.wording import guidance, when_to_use

CANCEL = Predicate("call-present", ("cancel_order",), "avoid")
CHECKED = Predicate("missing-check", ("get_order", "cancel_order"), "avoid")
PAY = Predicate("call-present", ("pay_invoice",), "avoid")


def worded(predicate: Predicate) -> tuple[str, ...]:
    stored = predicate.canonical("shop")
    return (when_to_use(stored, "shop orders"), *guidance(stored, mixed=False))


def rule(name: str, predicate: Predicate | None, lines: tuple[str, ...] | None = None, number: int = 1) -> Told:
    return Told((name, number), predicate, worded(predicate) if lines is None and predicate else lines or ())


def kin(predicate: Predicate | None, *told: Told, lines: tuple[str, ...] = (), **ancestors: str) -> set[str]:
    closure = {(child, 1): {(parent, 1)} for child, parent in ancestors.items()}
    return {name for name, _ in kin_of(predicate, Promoted(told, closure), lines)}


def test_the_same_rule_is_kin_in_either_direction_and_in_every_version() -> None:
    told = [rule("a", CANCEL), rule("a", None, ("Another text of it",), 2), rule("b", PAY)]
    assert kin_of(CANCEL.toward("do"), Promoted(tuple(told))) == {("a", 1), ("a", 2)}


def test_an_overlapping_predicate_is_kin() -> None:
    assert kin(CANCEL, rule("a", CHECKED), rule("b", PAY)) == {"a"}
    assert kin(CHECKED, rule("a", CANCEL), rule("b", PAY)) == {"a"}
    assert overlap(Predicate("environment", ("api", "2")), Predicate("environment", ("api", "2")))
    assert not overlap(Predicate("environment", ("api", "2")), Predicate("environment", ("api", "3")))


def test_claims_that_want_the_same_call_first_are_kin() -> None:
    other = Predicate("missing-check", ("get_order", "refund_order"), "avoid")
    assert kin(CHECKED, rule("a", other), rule("b", PAY)) == {"a"}
    assert overlap(CHECKED, Predicate("order", ("get_order", "ask"), "do"))
    assert overlap(CHECKED, Predicate("order", ("ask", "get_order"), "avoid"))
    assert overlap(CHECKED, Predicate("order", ("ask", "get_order")))
    assert not overlap(CHECKED, Predicate("order", ("ask", "get_order"), "do"))
    assert not overlap(CHECKED, Predicate("missing-check", ("ask", "cancel_order"), "avoid"))


def test_a_rule_is_kin_of_a_claim_on_a_call_whose_name_is_shown_otherwise() -> None:
    call = Predicate("call-present", ("get\n`" + "x" * 90,), "do")
    assert kin(call, rule("a", PAY, worded(call))) == {"a"}


def test_ancestors_and_descendants_are_kin_and_siblings_are_not() -> None:
    told = [rule(name, Predicate("call-present", (f"call_{name}",), "avoid")) for name in ("top", "mid", "low", "side")]
    family = {"mid": "top", "side": "top"}
    assert kin(told[1].predicate, *told, **family) == {"mid", "top"}
    assert kin(told[0].predicate, *told, **family) == {"top", "mid", "side"}


def test_drafters_word_unlike_claims_alike_and_they_are_no_kin() -> None:
    assert kin(PAY, rule("a", CANCEL), lines=worded(PAY)) == set()


REWORDINGS = [
    ("Ask who the parcel is for before it is sent on to another house", "Before sending the parcel on, ask who it is"
     " for: before it is sent on to another house"),
    ("在取消订单之前先查看票价规则并告知客户", "取消订单之前，先查看票价规则，并告知客户。"),
    ("キャンセルする前に運賃規則を確認してください", "キャンセルする前に、運賃規則を必ず確認してください"),
    ("Не отменяй заказ, пока не посмотришь правила тарифа", "НЕ ОТМЕНЯЙ заказ пока не посмотришь правила тарифа!"),
    ("لا تلغ الطلب قبل مراجعة قواعد السعر", "لا تلغ الطلب، قبل مراجعة قواعد السعر."),
]  # fmt: skip


@pytest.mark.parametrize(("one", "two"), REWORDINGS)
def test_a_rewording_is_kin_in_any_script_whatever_it_predicates(one: str, two: str) -> None:
    assert kin(PAY, rule("a", CANCEL, (one,)), lines=(two,)) == {"a"}
    assert kin(None, rule("a", None, (one,)), lines=(two,)) == {"a"}
    assert kin(None, rule("a", None, (one,)), lines=("Something else is said here, of another matter",)) == set()


def test_a_text_that_names_the_calls_of_a_claim_is_its_kin_whatever_it_predicates() -> None:
    edited = rule("a", PAY, ("First `get_order`, and only then cancel_order",))
    assert kin(CHECKED, edited) == {"a"}


LINE = worded(CANCEL)[1]
SAID = [
    LINE,
    LINE.upper(),
    LINE.replace(" ", "\n"),
    f"Remember: {LINE} And so on, at length, for other matters.",
    LINE.replace("unless", "un\u200bless"),
    "".join(chr(0xE0000 + ord(char)) if ord(char) < 0x7F else char for char in LINE),
    LINE.replace("otherwise", "any other way"),
]


@pytest.mark.parametrize("text", SAID)
@pytest.mark.parametrize("kind", ["system", "user", "observation", "memory_read", "plan"])
def test_the_text_of_a_rule_is_found_near_verbatim_in_any_step(text: str, kind: str) -> None:
    texts = RuleTexts([rule("a", CANCEL), rule("b", PAY)])
    part = "snapshot" if kind == "memory_read" else "text"
    assert texts_found({"steps": [{"kind": kind, part: text}]}, texts) == {("a", 1)}


def test_a_text_in_a_script_without_spaces_is_found() -> None:
    texts = RuleTexts([rule("a", None, ("在取消订单之前先查看票价规则并告知客户",))])
    assert texts.found_in(["系统提示：在取消订单之前，先查看票价规则并告知客户。谢谢"]) == {("a", 1)}
    assert texts.found_in(["客户问：订单什么时候到？先查看一下"]) == frozenset()


def test_ordinary_runs_that_make_the_call_did_not_read_the_rule() -> None:
    texts = RuleTexts([rule("a", CANCEL), rule("b", CHECKED)])
    steps = [
        {"kind": "user", "text": "please cancel my order, it cannot be done otherwise"},
        {"kind": "tool_call", "name": "cancel_order", "arguments": {"order": "W1", "why": "do not need it"}},
        {"kind": "observation", "text": "cancel_order: ok"},
    ]
    assert texts_found({"steps": steps}, texts) == frozenset()
    assert texts.found_in([worded(PAY)[1]]) == frozenset()


def test_a_line_that_rules_share_counts_for_each_of_them_unless_a_line_of_its_own_tells_which_was_read() -> None:
    texts = RuleTexts([rule("a", CANCEL), rule("b", PAY)])
    shared = (set(worded(CANCEL)) & set(worded(PAY))).pop()
    assert texts.found_in([shared]) == {("a", 1), ("b", 1)}
    assert texts.found_in([shared, worded(PAY)[1]]) == {("b", 1)}


def test_rules_of_two_families_that_are_worded_alike_are_both_found() -> None:
    lines = worded(CHECKED)[1:]
    texts = RuleTexts([rule("a", CHECKED, ("In the shop", *lines)), rule("b", CHECKED, ("At the desk", *lines))])
    assert texts.found_in(lines) == {("a", 1), ("b", 1)}


def test_a_short_line_is_found_by_the_two_names_in_it_and_not_by_one() -> None:
    texts = RuleTexts([rule("a", CHECKED, ("Call `get_order` before `cancel_order`",)),
                       rule("b", CANCEL, ("Never call `cancel_order` first",))])  # fmt: skip
    assert texts.found_in(["call get_order before cancel_order"]) == {("a", 1)}
    assert texts.found_in(["never call cancel_order first"]) == frozenset()


def test_what_was_promoted_after_a_run_came_in_was_not_read_in_it() -> None:
    at = datetime(2026, 11, 30, tzinfo=UTC)
    texts = RuleTexts([Told(("a", 1), CANCEL, worded(CANCEL), at)])
    assert texts.found_in([LINE], at - timedelta(days=1)) == frozenset()
    assert texts.found_in([LINE], at) == {("a", 1)}


@given(st.lists(st.text(max_size=60), max_size=4), st.integers(0, 10_000))
def test_any_text_around_a_rule_leaves_it_found(around: list[str], seed: int) -> None:
    texts = RuleTexts([rule("a", CANCEL), rule("b", PAY)])
    parts = [*around, LINE]
    random.Random(seed).shuffle(parts)
    assert ("a", 1) in texts.found_in(parts)


@given(st.text(max_size=200))
def test_tokens_do_not_depend_on_case_and_never_fail(text: str) -> None:
    assert tokens(text) == tokens(text)
    if text.isascii():
        assert tokens(text.upper()) == tokens(text.lower())
