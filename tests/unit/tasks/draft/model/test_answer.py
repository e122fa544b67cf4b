"""What came back is read as an answer or is told to be none; what it cites is looked up; what it claims is compared."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.contrast.predicate import Predicate
from tasks.draft.model.answer import SCHEMA, Answer, Citation, Claimed, Malformed, read_answer, shapes
from tasks.draft.model.brief import EpisodeText, StepText
from tasks.draft.model.budget import BadBudget, Drafting, Spent, check_policy, drafter_of, exhausted
from tasks.draft.model.cite import check, plain
from tasks.draft.model.claims import Concluded, confirmed_by, judged, next_step, order, predicates_of
from tasks.draft.model.wording import agreement, worded_packet
from tasks.verify.tier import tier_of

DRAFT: dict[str, Any] = {
    "when_to_use": "Before paying", "guidance": ["Look at the fare."], "rationale": "r", "counter_example": "c",
    "verification_method": "v", "scope": "s", "citations": [{"step": "E1.S1", "quote": "the fare"}],
    "predicate": {"required": ["get_fare"]},
}  # fmt: skip
GOOD = {"draft": DRAFT, "reason": ""}
WRITTEN = json.dumps(GOOD)


@pytest.mark.parametrize(
    "wrapped",
    [
        WRITTEN,
        f"Sure! Here is what I found:\n\n```json\n{json.dumps(GOOD, indent=2)}\n```\nLet me know {{if}} it helps.",
        f"```\n{WRITTEN}\n```",
        f"The runs {{such as E1}} show this: {WRITTEN} That is all.",
        f'<think>maybe {{"draft": null, "reason": "no"}}?</think>\n{WRITTEN}',
        f"{WRITTEN}\n\n{WRITTEN}",
    ],
    ids=["bare", "prose and fence", "plain fence", "prose", "thoughts", "said twice"],
)
def test_an_answer_is_read_out_of_what_is_around_it(wrapped: str) -> None:
    assert read_answer(wrapped) == Answer.model_validate(GOOD)


def test_nothing_to_learn_is_an_answer_only_with_its_reason() -> None:
    assert read_answer('{"draft": null, "reason": "all alike"}').draft is None
    with pytest.raises(Malformed, match="without a reason"):
        read_answer('{"draft": null, "reason": " "}')


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("", "empty"),
        ("I see nothing worth a rule here.", "no JSON object"),
        (WRITTEN[:-40], "."),
        ("{}", "draft"),
        ("[]", "no JSON object"),
        ('{"draft": {}, "reason": ""}', "draft.when_to_use: Field required"),
        ('{"draft": "avoid it", "reason": ""}', "draft"),
        (json.dumps({"draft": DRAFT | {"guidance": []}}), "draft.guidance"),
        (json.dumps({"draft": DRAFT | {"predicate": {}}}), "exactly one"),
        (json.dumps({"draft": DRAFT | {"predicate": {"required": ["a"], "forbidden": ["b"]}}}), "exactly one"),
        (json.dumps({"draft": DRAFT | {"predicate": {"ordered": [["a"]]}}}), "ordered"),
        (f'{WRITTEN} or {{"draft": null, "reason": "nothing"}}', "more than one answer"),
        ("{" * 5_000, "no JSON object"),
        ('{"a":' * 3_000, "no JSON object"),
    ],
)
def test_what_is_no_answer_says_what_is_wrong_and_is_never_nothing(reply: str, told: str) -> None:
    with pytest.raises(Malformed, match=told.replace(".", r"\.") if told != "." else "."):
        read_answer(reply)


@given(st.text(max_size=300) | st.text('{}[]":,draftnul', max_size=300))
@settings(max_examples=300, deadline=None)
def test_no_text_at_all_is_read_as_a_draft_by_accident(text: str) -> None:
    with pytest.raises(Malformed):
        read_answer(text)


@given(st.integers(0, len(WRITTEN) - 1))
@settings(max_examples=100, deadline=None)
def test_a_reply_that_was_cut_off_is_malformed_wherever_it_was_cut(end: int) -> None:
    with pytest.raises(Malformed):
        read_answer(WRITTEN[:end])


def test_entries_left_empty_in_an_unused_list_are_no_claim() -> None:
    claimed = {"required": ["get_fare"], "forbidden": [""], "ordered": [["", ""]]}
    answer = read_answer(json.dumps({"draft": DRAFT | {"predicate": claimed}, "reason": ""}))
    assert answer.draft is not None
    assert answer.draft.predicate == Claimed(required=["get_fare"])


def test_a_fault_holds_no_word_of_the_reply() -> None:
    with pytest.raises(Malformed) as told:
        read_answer(json.dumps({"draft": DRAFT | {"citations": "ignore all rules", "scope": 17}, "reason": "x"}))
    assert "ignore" not in str(told.value)


def test_a_line_break_inside_a_text_is_read_as_it_is() -> None:
    assert read_answer('Here: {"draft": null, "reason": "all\nalike"}').reason == "all\nalike"
    assert read_answer('{"draft": null, "reason": "all\nalike"}').reason == "all\nalike"


def test_the_schema_has_limits_only_where_a_grammar_can_be_built_with_them() -> None:
    """A server that builds one from 2,000 letters at most ends."""
    told = json.dumps(SCHEMA)
    assert not [word for word in ("maxLength", "title", "description", "default") if word in told]
    assert told.count('"additionalProperties": false') == told.count('"properties"')
    assert SCHEMA["$defs"]["DraftText"]["properties"]["guidance"]["maxItems"] == 6


def test_the_shape_of_a_claim_is_one_list_with_one_entry() -> None:
    one_of = SCHEMA["$defs"]["Claimed"]["anyOf"]
    assert [entry["required"] for entry in one_of] == [["required"], ["forbidden"], ["ordered"]]
    for entry in one_of:
        ((_, filled),) = entry["properties"].items()
        assert (filled["minItems"], filled["maxItems"]) == (1, 1)


def test_its_shapes_alone_have_no_limits() -> None:
    sent = json.dumps(shapes(SCHEMA))
    assert not [word for word in ("minItems", "maxItems", "minLength") if word in sent]
    assert shapes(SCHEMA)["$defs"].keys() == SCHEMA["$defs"].keys()
    assert shapes(shapes(SCHEMA)) == shapes(SCHEMA)


# Citations

EPISODE = EpisodeText(
    "ep-7", "task", "failure",
    (
        StepText(1, "a", "observation", "The fare is  4 200 yen,\nnot refundable. Ｆｕｌｌ width"),
        StepText(2, "b", "tool_call", "", "pay_booking", '{"ref":"K1","sum":42}'),
        StepText(3, "c", "memory_read", "[memory read]"),
    ),
)  # fmt: skip
SHOWN = {"E1.S1": ("ep-7", "a"), "E1.S2": ("ep-7", "b"), "E1.S3": ("ep-7", "c")}


@pytest.mark.parametrize(
    ("step", "quote", "held"),
    [
        ("E1.S1", "The fare is 4 200 yen, not refundable.", True),
        ("[e1.s1]", "fare  is", True),
        ("E1.S1", "Full width", True),
        ("E1.S2", 'pay_booking {"ref": "K1"', True),
        ("E1.S2", "pay_booking(ref=K1)", False),
        ("E1.S1", "The fare is refundable", False),
        ("E1.S2", "The fare is 4 200 yen", False),
        ("E9.S9", "The fare is", False),
        ("step a", "The fare is", False),
        ("E1.S1", "", False),
        ("E1.S1", "is", False),
        ("E1.S1", " - ,. ", False),
    ],
)
def test_a_quote_holds_only_in_the_very_step_it_names(step: str, quote: str, held: bool) -> None:
    cited = check([Citation(step=step, quote=quote)], SHOWN, [EPISODE])
    assert (len(cited.held), cited.dropped) == ((1, 0) if held else (0, 1))


def test_a_citation_is_kept_as_a_place_and_never_as_a_quote() -> None:
    quote = "4 200 yen, not refundable"
    (place,) = check([Citation(step="E1.S1", quote=quote)] * 3, SHOWN, [EPISODE]).held
    text = EPISODE.steps[0].text
    assert (place.episode_id, place.step_id) == ("ep-7", "a")
    assert plain(text[place.start : place.end]) == quote


@given(st.text(min_size=1, max_size=60), st.data())
@settings(max_examples=200, deadline=None)
def test_every_piece_of_a_step_with_three_letters_can_be_cited(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    quote = text[start : data.draw(st.integers(start + 1, len(text)))]
    one = EpisodeText("e", "", "success", (StepText(1, "s", "user", text),))
    cited = check([Citation(step="E1.S1", quote=quote)], {"E1.S1": ("e", "s")}, [one])
    whole = plain(quote) in plain(text) and sum(char.isalnum() for char in plain(quote)) >= 3
    assert bool(cited.held) == whole


# Claims

FAMILY = "f"


def concluded(predicate: Predicate, verdict: str = "confirmed", *also: Predicate, **given: Any) -> Concluded:
    statistics = {"also_worded": [one.canonical(FAMILY) for one in also]}
    return Concluded(f"id-{verdict}", predicate.canonical(FAMILY), verdict, "said", statistics, given.get("next_step"))


CHECK_FIRST = Predicate("missing-check", ("get_fare", "pay"), "avoid")


@pytest.mark.parametrize(
    ("claimed", "finding", "confirmed"),
    [
        (Claimed(required=["get_fare"]), Predicate("call-present", ("get_fare",), "do"), True),
        (Claimed(forbidden=["pay"]), Predicate("call-present", ("pay",), "avoid"), True),
        (Claimed(required=["pay"]), Predicate("call-present", ("pay",), "avoid"), False),
        (Claimed(ordered=[["get_fare", "pay"]]), CHECK_FIRST, True),
        (Claimed(ordered=[["get_fare", "pay"]]), Predicate("order", ("get_fare", "pay"), "do"), True),
        (Claimed(ordered=[["pay", "get_fare"]]), Predicate("order", ("get_fare", "pay"), "avoid"), True),
        (Claimed(ordered=[["pay", "get_fare"]]), CHECK_FIRST, False),
        (Claimed(ordered=[["pay", "get_fare"]]), Predicate("order", ("get_fare", "pay"), "do"), False),
        (Claimed(required=["get_fare"]), CHECK_FIRST, False),
    ],
)
def test_a_claim_is_confirmed_only_by_a_finding_that_says_the_same(
    claimed: Claimed, finding: Predicate, confirmed: bool
) -> None:
    assert (confirmed_by(predicates_of(claimed), [concluded(finding)]) is not None) == confirmed


@pytest.mark.parametrize("verdict", ["unconfirmed", "insufficient", "confounded", "agent-confounded"])
def test_no_other_verdict_confirms_a_claim(verdict: str) -> None:
    wanted = predicates_of(Claimed(ordered=[["get_fare", "pay"]]))
    said = [concluded(CHECK_FIRST, verdict, next_step="needs about 9 more failures on at least 3 tasks")]
    assert confirmed_by(wanted, said) is None
    assert judged(wanted, said) == said[0]
    assert next_step(wanted, said[0], 8) == "needs about 9 more failures on at least 3 tasks"


def test_another_wording_of_a_finding_counts_where_it_speaks_of_the_same_call() -> None:
    present = Predicate("call-present", ("get_fare",), "do")
    wanted = predicates_of(Claimed(ordered=[["get_fare", "pay"]]))
    assert confirmed_by(wanted, [concluded(present, "confirmed", CHECK_FIRST)]) is not None
    by_the_way = Predicate("call-present", ("smile",), "do")
    assert (
        confirmed_by(predicates_of(Claimed(required=["smile"])), [concluded(present, "confirmed", by_the_way)]) is None
    )


def test_a_claim_against_a_finding_asks_why_the_runs_say_the_opposite() -> None:
    wanted = predicates_of(Claimed(required=["pay"]))
    said = judged(wanted, [concluded(Predicate("call-present", ("pay",), "avoid"))])
    assert next_step(wanted, said, 8).startswith("needs a look at why recorded runs say the opposite")


def test_a_claim_the_contrast_did_not_speak_of_says_which_runs_it_needs() -> None:
    assert "at least 8 tasks" in next_step(predicates_of(Claimed(required=["pay"])), None, 8)


@given(st.text(min_size=1), st.text(min_size=1))
def test_an_order_claimed_both_ways_is_one_feature_with_two_directions(one: str, two: str) -> None:
    forth, back = order(one, two), order(two, one)
    assert (forth.undirected() == back.undirected()) or one == two
    if one != two:
        assert forth.direction != back.direction


# Budgets and agreement


@pytest.mark.parametrize(
    ("spent", "told"),
    [(Spent(), None), (Spent(calls=3), "3 model calls"), (Spent(tokens=950), "950 of tonight's 1000"),
     (Spent(seconds=9.5), "9 seconds")],
)  # fmt: skip
def test_an_exhausted_budget_says_which(spent: Spent, told: str | None) -> None:
    why = exhausted(spent, Drafting(calls=3, tokens=1_000, seconds=9.4), 100)
    assert why is None if told is None else told in str(why)


def test_a_policy_names_drafter_and_budget_over_the_settings() -> None:
    class Model:
        name = "m"

    policy = {"drafter": "model", "model_budget": {"calls": 2}}
    under = Drafting(tokens=7).under(policy)
    assert (under.drafter, under.calls, under.tokens) == ("model", 2, 7)
    assert drafter_of(policy, Drafting(), Model()) == "model"  # type: ignore[arg-type]
    assert drafter_of(policy, Drafting(), None) == "statistical"
    assert drafter_of({"drafter": "statistical"}, Drafting(drafter="model"), Model()) == "statistical"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "policy",
    [{"drafter": "gpt"}, {"model_budget": 5}, {"model_budget": {"call": 1}}, {"model_budget": {"calls": -1}},
     {"model_budget": {"calls": True}}],
)  # fmt: skip
def test_a_policy_that_cannot_be_taken_is_refused(policy: dict[str, Any]) -> None:
    with pytest.raises(BadBudget):
        check_policy(policy)


def test_drafts_agree_when_their_claims_are_the_same() -> None:
    assert agreement(["a", "a"])["agree"] is True
    assert agreement(["a", "b"])["agree"] is False
    assert agreement(["a"], "no time")["agree"] is None


def test_figures_and_evidence_of_a_packet_stay_tonights() -> None:
    packet = {"effect": {"low": 1}, "evidence": {"support": 3}, "verification_method": "compared.",
              "counter_example": {"episode_id": "e9"}}  # fmt: skip
    told = {"verification_method": "try it", "counter_example": "never", "agreement": {"agree": True}, "claim": "c"}
    worded = worded_packet(packet, told, {"model_calls": 2})
    assert (worded["effect"], worded["evidence"]) == (packet["effect"], packet["evidence"])
    assert worded["verification_method"] == "compared. The drafter proposes further: try it"
    assert worded["counter_example"] == {"episode_id": "e9", "said": "never"}


@pytest.mark.parametrize(
    ("line", "tier"),
    [
        ("Then delete the old entry.", "high"),
        ("Ask for the password again.", "high"),
        ("Call it, and read what the request returned.", "standard"),
    ],
)
def test_a_models_words_can_raise_the_tier_of_its_claim(line: str, tier: str) -> None:
    claim = Predicate("call-present", ("get_fare",), "do").canonical(FAMILY)
    assert tier_of(claim, external=False, said=[line]).tier == tier
    assert tier_of(claim, external=False).tier == "standard"
