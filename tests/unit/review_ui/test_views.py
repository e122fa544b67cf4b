"""Views are finished values; parts that a packet lacks stay missing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from review_ui.reader import Reader, answering
from review_ui.routes.login import local_path
from review_ui.text import age_words, figure, ratio, shortened, span_words, when
from review_ui.views import packet as parts
from review_ui.views.belief import Belief, belief_of
from review_ui.views.episodes import WHOLE_PART, whole_step
from review_ui.views.reading import parts_of, reading
from review_ui.views.trace import excerpt, step_text, step_views
from tasks.contrast.recoveries import EVERYWHERE

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)
PACKETS = st.dictionaries(
    st.sampled_from(["effect", "held_out", "strata", "checks", "exceptions", "conflicts", "counter_example", "evidence",
                     "agent_adjusted", "cost", "owner", "revoked_before"]),
    JSON,
)  # fmt: skip


@given(PACKETS)
def test_no_packet_however_malformed_breaks_a_page(packet: dict[str, object]) -> None:
    belief_of({"kind": "?"}, packet, parts.effect_of(packet), parts.held_out_of(packet))
    parts.strata_of(packet)
    parts.checks_of(packet)
    parts.exceptions_of(packet)
    parts.facts_of(packet)
    parts.counter_example_of(packet)
    parts.packet_conflicts_of(packet)
    parts.content_of(packet, "acme")


def test_a_confirmation_needs_direction_and_level() -> None:
    held = {"groups": 9, "odds_ratio": 0.2, "p_value": 0.01, "alpha": 0.02, "same_direction": True}
    assert parts.held_out_of({"held_out": held}).verdict == "confirmed"
    assert parts.held_out_of({"held_out": held | {"alpha": 0.005}}).verdict == "not confirmed"
    assert parts.held_out_of({"held_out": held | {"same_direction": False}}).verdict == "not confirmed"
    assert parts.held_out_of({}).verdict == "not tested"


PRESENT = {"kind": "call-present", "call": "read", "direction": "do", "family": "f"}
REMEDY = {"kind": "recovery", "call": "push", "error": "no", "then": "pull", "direction": "do", "family": EVERYWHERE}
COUNTS = {"success_with": 31, "success_total": 34, "failure_with": 1, "failure_total": 27, "strata": 6}


def told(predicate: dict[str, object], **packet: object) -> Belief:
    whole = {"effect": {**COUNTS, "odds_ratio": 90.0, "low": 8.0, "high": 900.0}, **packet}
    return belief_of(predicate, whole, parts.effect_of(whole), parts.held_out_of(whole))


def test_a_finding_is_first_told_by_how_many_did_it_and_succeeded() -> None:
    assert told(PRESENT).lead.startswith("Where `read` was called, 31 of 32 runs succeeded; of the others, 3 of 29.")
    assert "same task (6 tasks)" in told(PRESENT).lead
    order = {"kind": "order", "first": "a", "then": "b", "direction": "avoid"}
    assert "of the other runs that called both `a` and `b`, 3 of 29" in told(order).lead
    assert told({}).lead.startswith("Where it was done, 31 of 32")
    assert told(PRESENT, effect={}).lead == ""


def test_a_remedy_found_among_all_sessions_is_told_by_agents_and_retries() -> None:
    one = told(REMEDY)
    assert "the next try worked in 31 of 32 sessions; without it, in 3 of 29" in one.lead
    assert "same agent (6 agents)" in one.lead
    assert (one.words.noun, one.words.success_with, one.words.effect_in) == (
        "Agent", "worked, with it", "Effect for each agent"
    )  # fmt: skip
    assert not any("task" in line for line in one.ruled_out)


def test_only_what_the_packet_shows_is_ruled_out() -> None:
    held = {"groups": 9, "odds_ratio": 40.0, "p_value": 0.001, "alpha": 0.02, "same_direction": True}
    known = {"held_out": held, "agent_adjusted": {"verdict": "same", "agents": 3},
             "evidence": {"independent_groups": 40}}  # fmt: skip
    assert [line.partition(":")[0] for line in told(PRESENT, **known).ruled_out] == [
        "not how hard the task is", "not who ran", "not chance", "not copies of a few runs",
        "not a matter of some tasks only",
    ]  # fmt: skip
    assert told(PRESENT, effect={**COUNTS, "odds_ratio": 1.1, "low": 0.5, "high": 2.0}).ruled_out == ()
    missed = told(PRESENT, held_out=held | {"p_value": 0.5})
    assert not any(line.startswith("not chance") for line in missed.ruled_out)
    assert "does not bear it out" in missed.seen_again


def test_an_infinite_ratio_is_told_from_none() -> None:
    effect = parts.effect_of({"effect": {**COUNTS, "odds_ratio": None, "low": 27.0, "high": None}})
    assert effect.words == "∞ (27.0 to ∞)"
    assert (effect.ratio, effect.interval) == ("∞", "95 % 27.0 to ∞")
    assert parts.effect_of({"effect": dict(COUNTS)}).ratio == "none"


def test_a_check_that_does_not_apply_is_no_pass() -> None:
    rows = [("pass", "not applicable: no hook"), ("pass", "all 47 exist"), ("warn", "not applicable as it stands")]
    checks = parts.checks_of({"checks": [{"name": "x", "verdict": verdict, "detail": why} for verdict, why in rows]})
    assert sorted(check.badge for check in checks) == ["n/a", "pass", "warn"]


def test_failing_checks_come_first() -> None:
    verdicts = ["pass", "warn", "fail", "pass"]
    found = parts.checks_of({"checks": [{"name": name, "verdict": name} for name in verdicts]})
    assert [check.verdict for check in found] == ["fail", "warn", "pass", "pass"]


@given(st.text(max_size=300), st.lists(st.text(max_size=300), max_size=6), st.integers(1, 50))
def test_a_text_in_parts_leaves_nothing_out(when_to_use: str, guidance: list[str], size: int) -> None:
    content = parts.content_of({"when_to_use": when_to_use, "guidance": guidance}, "acme")
    made = parts_of(content, size)
    assert "".join(line.text for part in made for line in part) == when_to_use + "".join(guidance)
    assert all(sum(len(line.text) for line in part) <= size for part in made)


def test_a_part_outside_the_text_is_brought_inside() -> None:
    content = parts.content_of({"when_to_use": "x" * 50_000, "guidance": ["y"]}, "acme")
    assert (reading(content, 0).part, reading(content, 99).part, reading(content, 99).parts) == (1, 3, 3)
    assert reading(content, 3).is_last


def steps(count: int) -> list[dict[str, object]]:
    return [
        {"id": str(number), "kind": "tool_call", "name": "look", "arguments": {"n": number}} for number in range(count)
    ]


def test_an_excerpt_shows_cited_steps_with_neighbours_and_counts_the_rest() -> None:
    found = excerpt({"steps": steps(20)}, ["5", "12"])
    assert [step.id for _, step in found.steps] == ["4", "5", "6", "11", "12", "13"]
    assert [gap for gap, _ in found.steps] == [4, 0, 0, 4, 0, 0]
    assert found.left_out_after == 6


def test_an_excerpt_of_steps_that_are_gone_shows_the_beginning() -> None:
    assert [step.id for _, step in excerpt({"steps": steps(9)}, ["nope"]).steps] == ["0", "1", "2"]
    assert excerpt({"steps": []}, ["1"]).left_out_after == 0


@given(st.text(min_size=1, max_size=20_000))
def test_a_shortened_step_says_how_much_is_left(text: str) -> None:
    view = step_views({"steps": [{"id": "1", "kind": "observation", "text": text}]})[0]
    assert text.startswith(view.head + view.rest)
    assert view.is_cut == (len(view.head + view.rest) < len(text))


def test_a_long_step_is_shown_whole_in_parts() -> None:
    payload = {"steps": [{"id": "1", "kind": "observation", "text": "z" * (2 * WHOLE_PART + 1)}]}
    shown = [whole_step("acme", "e", payload, "1", part) for part in (1, 2, 3)]
    assert "".join(part.text for part in shown if part) == step_text(payload["steps"][0])
    assert whole_step("acme", "e", payload, "2", 1) is None


def test_external_text_is_marked_and_a_step_inherits_its_episodes_trust() -> None:
    views = step_views(
        {"trust": "external", "steps": [{"id": "1", "kind": "user"}, {"id": "2", "kind": "user", "trust": "user"}]}
    )
    assert [bool(view.marker) for view in views] == [True, False]


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "–"), (float("nan"), "–"), (0, "0"), (0.00025, "2.5 × 10⁻⁴"), (0.0312, "0.0312"), (12345.6, "12,346")],
)
def test_figures_are_told_at_the_precision_a_reader_needs(value: float | None, words: str) -> None:
    assert figure(value) == words


def test_ratios_durations_and_ages_read_well() -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    assert [ratio(value) for value in (0.001, 0.113, 13.94, 250.0)] == ["< 0.01", "0.11", "13.9", "> 100"]
    assert [span_words(s) for s in (None, 0.42, 12, 185, 7800)] == ["–", "0.4 s", "12 s", "3 min 5 s", "2 h 10 min"]
    assert age_words(now - timedelta(hours=1), now) == "1 hour ago"
    assert age_words(now, now) == "just now"
    assert shortened("abcdef", 4) == "abc…"


def test_times_are_in_the_readers_zone_with_utc_for_machines_and_on_hover() -> None:
    local = datetime.fromisoformat("2026-11-30T01:02:03+02:00")
    head = '<time datetime="2026-11-29T23:02:03Z" title="2026-11-29 23:02:03 UTC">'
    assert when(local) == f"{head}29 Nov 2026, 23:02 UTC</time>"
    with answering(Reader(zone="Asia/Shanghai")):
        assert when(local) == f"{head}30 Nov 2026, 07:02</time>"
    with answering(Reader(language="zh-Hans", zone="Asia/Shanghai")):
        assert "2026" in when(local)
        assert "Nov" not in when(local)


@pytest.mark.parametrize(
    "wanted", ["//evil.example", "/\\evil.example", "https://evil.example", "", "queue", "/a\\b", "/\n/x"]
)
def test_a_login_leads_nowhere_but_to_this_site(wanted: str) -> None:
    assert local_path(wanted) == "/queue"
    assert local_path("/rules?state=active") == "/rules?state=active"
