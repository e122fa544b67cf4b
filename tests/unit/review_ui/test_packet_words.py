"""The words and marks that a packet is told by: claims, scopes, cited steps, arguments, differences, glances."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_ui.reader import Reader, answering
from review_ui.views.belief import RULED_OUT
from review_ui.views.claims import argument_words, happened, the_others
from review_ui.views.differences import difference
from review_ui.views.names import CHECKS
from review_ui.views.packet import content_of, facts_of
from review_ui.views.scope import component_words, day_words, scope_lines
from review_ui.views.served import served
from review_ui.views.spoken import NOBODY, ONE_LINE, argument_span, arguments_text, spoken_of
from review_ui.views.trace import BESIDE, excerpt, step_views
from tasks.contrast import ruled_out
from tasks.contrast.predicate import (
    SHAPE_ABSENT,
    SHAPE_EMPTY,
    Predicate,
    happened_words,
    scope_words,
)
from tasks.contrast.predicate import argument_words as nights_argument_words
from tasks.verify import checks

CLAIMS = [
    Predicate("call-present", ("pay",), "avoid"),
    Predicate("call-present", ("user:toggle_data",), "do"),
    Predicate("missing-check", ("look", "pay"), "avoid"),
    Predicate("order", ("look", "agent:user:pay"), "do"),
    Predicate("loop", ("pay",), "avoid"),
    Predicate("recovery", ("git push", "no upstream", "again:git push --set-upstream"), "do"),
    Predicate("argument", ("pay", "how", '"card"'), "avoid"),
    Predicate("argument", ("pay", "how", SHAPE_ABSENT), "avoid"),
    Predicate("environment", ("airline-api", "3.2"), "avoid"),
    Predicate("length", ("20",), "avoid"),
]


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_in_english_a_claim_is_told_as_the_night_tells_it(claim: Predicate) -> None:
    assert happened(claim) == happened_words(claim)
    others = scope_words(claim).replace("of the runs", "the other runs", 1) or "the others"
    assert the_others(claim) == others


@pytest.mark.parametrize("value", ['"late"', "3", SHAPE_ABSENT, SHAPE_EMPTY, "<AA9>", "<other>"])
def test_in_english_an_argument_is_told_as_the_night_tells_it(value: str) -> None:
    assert argument_words("reason", value) == nights_argument_words("reason", value)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("*", "harness, any version"),
        ("", "harness, any version"),
        ("1.8", "harness, version 1.8"),
        (">=3.1,<=3.4", "harness, version 3.1 to 3.4"),
        (">=3.0,<4", "harness, version 3.0 or later and earlier than 4"),
        (">2", "harness, version later than 2"),
        ("<=2", "harness, version 2 or earlier"),
        ("==2", "harness, version 2"),
    ],
)
def test_a_component_is_told_with_its_versions_in_words(version: str, words: str) -> None:
    assert component_words("harness", version) == words


def test_a_scope_says_what_it_leaves_open_and_writes_days_in_the_readers_language() -> None:
    said = {line.name: line.value for line in scope_lines({}, "acme")}
    assert said == {
        "Namespace": "acme", "Environment": "any", "Agents": "all of the namespace", "Valid from": "its approval",
        "Re-check on": "no date set",
    }  # fmt: skip
    assert day_words("2027-02-28T00:00:00+00:00") == "28 Feb 2027"
    assert day_words("soon") == "soon"
    with answering(Reader(language="zh-Hans")):
        assert day_words("2027-02-28") == "2027年2月28日"


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), JSONS, min_size=1, max_size=6), st.data())
def test_the_span_of_an_argument_is_its_name_and_its_value(arguments: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(arguments)))
    text = arguments_text(arguments)
    assert json.loads(text) == arguments
    assert len(text) <= ONE_LINE or "\n" in text
    span = argument_span(arguments, name)
    assert span is not None
    assert json.loads("{" + text[span[0] : span[1]] + "}") == {name: arguments[name]}
    assert argument_span(arguments, name + "?") is None


def test_a_call_is_spoken_of_by_who_made_it_and_by_its_program() -> None:
    call = {"id": "1", "kind": "tool_call", "name": "toggle_data", "arguments": {}}
    users = spoken_of(Predicate("call-present", ("user:toggle_data",), "do").canonical("f"))
    assert users.of(call | {"requestor": "user"})
    assert not users.of(call)
    assert not users.of({"id": "1", "kind": "observation", "name": "toggle_data"})
    push = spoken_of(Predicate("recovery", ("git push", "rejected", "git pull"), "do").canonical("f"))
    shell = {"id": "1", "kind": "tool_call", "name": "bash"}
    assert push.of(shell | {"arguments": {"command": "cd x && git push origin main"}})
    assert not push.of(shell | {"arguments": {"command": "git status"}})
    assert not push.of(shell | {"arguments": {"command": "git push"}, "unknown": 1}), "no step of ours"
    assert spoken_of({"kind": "?"}) == NOBODY


def steps(count: int, text: str = "") -> list[dict[str, Any]]:
    return [{"id": str(number), "kind": "observation", "text": text or str(number)} for number in range(count)]


def test_cited_steps_come_before_their_neighbours_where_room_is_short() -> None:
    found = excerpt({"steps": steps(60)}, [str(number) for number in range(0, 60, 5)], most=9)
    assert [step.id for _gap, step in found.steps] == [str(number) for number in range(0, 45, 5)]
    assert found.cited_elsewhere == 3
    assert all(step.cited for _gap, step in found.steps)


def test_what_stands_beside_a_cited_step_is_short_so_that_the_cited_one_is_in_view() -> None:
    found = excerpt({"steps": steps(3, "word " * 400)}, ["1"])
    before, cited, after = (step for _gap, step in found.steps)
    assert len(before.head) <= BESIDE < len(cited.head)
    assert len(after.head) <= BESIDE


def test_the_argument_that_a_claim_speaks_of_is_never_folded_away() -> None:
    claim = Predicate("argument", ("pay", "last", '"x"'), "avoid").canonical("f")
    arguments = {f"field {number}": "long value " * 9 for number in range(20)} | {"last": "x"}
    step = {"id": "1", "kind": "tool_call", "name": "pay", "arguments": arguments}
    ((_gap, shown),) = excerpt({"steps": [step]}, ["1"], spoken=spoken_of(claim)).steps
    assert shown.spoken
    assert [text for text, marked in shown.pieces if marked] == ['"last": "x"']
    assert "".join(text for text, _marked in shown.pieces) == shown.head
    assert step_views({"steps": [step]})[0].pieces[0][1] is False, "an episode's own page marks nothing"


def test_two_texts_that_are_the_same_are_said_to_be() -> None:
    content = content_of({"when_to_use": "a", "guidance": ["b"]}, "acme")
    assert difference("x", "t", "", content, content).summary == "The two are the same, word for word."
    spaced = content_of({"when_to_use": "a ", "guidance": ["b"]}, "acme")
    assert difference("x", "t", "", content, spaced).summary == "Only spaces or marks differ."


def test_a_text_too_long_to_compare_says_how_long_both_are() -> None:
    short, long = content_of({"when_to_use": "a"}, "acme"), content_of({"when_to_use": "b" * 900_000}, "acme")
    found = difference("x", "t", "", short, long)
    assert found.too_long == "Too long to compare word by word (characters before: 1, now: 900,000)."
    assert (found.when, found.steps) == (None, ())
    assert served({"when_to_use": "b" * 900_000}, {}).json == ""


@given(st.fixed_dictionaries({"when_to_use": JSONS, "guidance": JSONS, "scope": JSONS | st.just({"recheck_at": "x"})}))
def test_no_content_however_malformed_breaks_what_is_sent(content: dict[str, Any]) -> None:
    text = served(content, {}).json
    assert text == "" or set(json.loads(text)) == {"when_to_use", "guidance", "scope", "evidence", "recheck_at"}


def test_a_cost_of_nothing_is_told_as_that() -> None:
    def cost(**spent: float) -> str:
        return {fact.name: fact.value for fact in facts_of({"cost": spent})}["Cost of drafting"]

    assert cost(model_calls=0, tokens=0) == "no model was asked"
    assert cost(model_calls=0, seconds=0.8) == "no model was asked, 0.8 s"
    assert cost(model_calls=2, tokens=900) == "model calls 2, tokens 900"


def test_names_and_words_of_the_night_are_all_known_to_the_pages() -> None:
    assert ruled_out.WORDS == RULED_OUT
    assert set(CHECKS) == set(checks.CHECKS)
