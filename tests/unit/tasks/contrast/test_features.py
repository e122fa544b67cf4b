from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.contrast import features
from tasks.contrast.facts import Facts, error_signature, holds, read_facts, steps_that_show
from tasks.contrast.features import Columns, View, distinct, is_consequential
from tasks.contrast.predicate import SHAPE_ABSENT, Predicate
from tasks.contrast.table import FactsTable, Reading, TableUnreadable, joined, table_of, unpack
from tasks.ingest.episode import Episode


def episode(*calls: str | dict[str, Any], **fields: Any) -> Episode:
    steps: list[dict[str, Any]] = []
    for number, call in enumerate(calls):
        asked = {"name": call} if isinstance(call, str) else dict(call)
        error = asked.pop("error", None)
        steps.append({"id": f"c{number}", "kind": "tool_call", **asked})
        if error:
            steps.append(
                {"id": f"e{number}", "kind": "observation", "of": f"c{number}", "text": error, "is_error": True}
            )
    return Episode(task="t", steps=steps, **fields)


def facts(*calls: str | dict[str, Any], **fields: Any) -> Facts:
    return read_facts(episode(*calls, **fields))


def table(runs: list[Facts], first: int = 0) -> FactsTable:
    return table_of([Reading(str(first + at), one, np.full(8, at, np.uint16)) for at, one in enumerate(runs)])


def build_columns(runs: list[Facts], min_support: int) -> Columns:
    return features.build_columns(table(runs), min_support)


def test_a_missing_check_speaks_only_of_runs_that_made_the_call() -> None:
    predicate = Predicate("missing-check", ("get", "cancel"))
    assert holds(predicate, facts("get", "cancel")) is False
    assert holds(predicate, facts("cancel", "get")) is True
    assert holds(predicate, facts("cancel")) is True
    assert holds(predicate, facts("get")) is None
    assert steps_that_show(predicate, facts("x", "cancel")) == ["c1"]


def test_order_speaks_only_of_runs_that_made_both_calls() -> None:
    assert holds(Predicate("order", ("a", "b")), facts("a", "b", "a")) is True
    assert holds(Predicate("order", ("a", "b")), facts("a")) is None


def test_the_users_calls_are_kept_apart_from_the_agents() -> None:
    run = facts({"name": "reboot", "requestor": "user"})
    assert holds(Predicate("call-present", ("user:reboot",)), run) is True
    assert holds(Predicate("call-present", ("reboot",)), run) is False


@pytest.mark.parametrize(
    ("calls", "is_loop"),
    [
        ([{"name": "a", "arguments": {"x": 1}}] * 2, True),
        ([{"name": "a", "arguments": {"x": 1}}, {"name": "a", "arguments": {"x": 2}}], False),
        (["a", "b", "a"], False),
        (["a", "b", "a", "b", "a"], True),
    ],
)
def test_a_loop_is_the_same_call_with_the_same_arguments(calls: list[Any], is_loop: bool) -> None:
    assert holds(Predicate("loop", ("a",)), facts(*calls)) is is_loop


def test_a_recovery_is_what_was_called_after_the_error() -> None:
    run = facts("look", {"name": "pay", "error": "Error: card 4411 was declined"}, "ask")
    signature = error_signature("Error: card 9 was declined")
    assert holds(Predicate("recovery", ("pay", signature, "ask")), run) is True
    assert holds(Predicate("recovery", ("pay", signature, "look")), run) is False
    assert steps_that_show(Predicate("recovery", ("pay", signature, "ask")), run) == ["e1", "c2"]


def test_argument_values_and_absence() -> None:
    run = facts({"name": "book", "arguments": {"cabin": "economy"}})
    assert holds(Predicate("argument", ("book", "cabin", '"economy"')), run) is True
    assert holds(Predicate("argument", ("book", "cabin", '"business"')), run) is False
    assert holds(Predicate("argument", ("book", "bags", SHAPE_ABSENT)), run) is True
    assert holds(Predicate("argument", ("book", "cabin", SHAPE_ABSENT)), run) is False


def test_an_argument_with_many_values_is_no_feature() -> None:
    runs = [facts({"name": "find", "arguments": {"id": f"R{i}"}}) for i in range(40)] + [facts("x")] * 5
    assert not [p for p in build_columns(runs, 3).predicates if p.kind == "argument" and p.parts[2].startswith('"R')]


def test_an_environment_version_is_a_feature() -> None:
    runs = [facts("a", environment={"api": version}) for version in ("1", "1", "1", "2", "2", "2")]
    assert Predicate("environment", ("api", "2")) in build_columns(runs, 3).predicates


def test_a_name_that_says_it_reads_is_not_consequential() -> None:
    assert not any(map(is_consequential, ("get_user", "db.search-flights")))
    assert all(map(is_consequential, ("cancel_reservation", "取消")))


def test_identical_and_opposite_columns_are_tested_once() -> None:
    runs = [facts("a", "b"), facts("a", "b"), facts("c"), facts("c")]
    assert [p.parts for p in distinct(build_columns(runs, 2)).predicates] == [("a",)]


CALLS = st.lists(st.sampled_from(["get_a", "get_b", "send", "drop", "user:tap"]), max_size=6)


@settings(max_examples=40, deadline=None)
@given(st.lists(CALLS, min_size=1, max_size=12))
def test_columns_say_what_the_predicates_say(runs: list[list[str]]) -> None:
    read = [
        facts(
            *({"name": c.removeprefix("user:"), "requestor": "user" if c.startswith("user:") else "agent"} for c in run)
        )
        for run in runs
    ]
    columns = build_columns(read, 1)
    for index, predicate in enumerate(columns.predicates):
        for row, one in enumerate(read):
            said = holds(predicate, one)
            assert bool(columns.mask[row, index]) is (said is not None)
            assert bool(columns.values[row, index]) is bool(said)


def test_nothing_recorded_gives_no_columns() -> None:
    assert build_columns([], 3).values.shape == (0, 0)
    assert np.size(build_columns([facts()], 3).values) == 0


ARGUED = st.lists(
    st.tuples(st.sampled_from(["find", "book"]), st.integers(0, 30), st.sampled_from(["x", "", "2026-05-01"]))
)


def argued(run: list[tuple[str, int, str]]) -> Facts:
    return facts(*({"name": name, "arguments": {"n": n, "when": when}} for name, n, when in run))


@settings(max_examples=60, deadline=None)
@given(st.lists(ARGUED, max_size=8), st.lists(ARGUED, max_size=8))
def test_facts_added_later_are_the_same_as_facts_read_at_once(one: list[Any], two: list[Any]) -> None:
    apart = joined([table(list(map(argued, one))), table(list(map(argued, two)), len(one))])
    whole = table([argued(run) for run in [*one, *two]])
    assert apart.episode_ids == whole.episode_ids
    left, right = features.build_columns(apart, 1), features.build_columns(whole, 1)
    assert set(left.predicates) == set(right.predicates)
    for at, predicate in enumerate(left.predicates):
        other = right.predicates.index(predicate)
        assert (left.values[:, at] == right.values[:, other]).all()
        assert (left.mask[:, at] == right.mask[:, other]).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(ARGUED, max_size=8))
def test_packed_facts_come_back_as_they_were(runs: list[Any]) -> None:
    before = table([argued(run) for run in runs])
    after = unpack(before.pack())
    assert (list(after.episode_ids), list(after.tokens)) == (list(before.episode_ids), list(before.tokens))
    assert (after.cells != before.cells).nnz == 0
    assert (after.sketches == before.sketches).all()


@pytest.mark.parametrize("spoilt", [b"", b"not packed", table([facts("a")]).pack()[:-3]])
def test_spoilt_facts_are_refused_and_never_half_read(spoilt: bytes) -> None:
    with pytest.raises(TableUnreadable):
        unpack(spoilt)


def test_a_form_of_writing_is_a_feature_where_values_are_too_many() -> None:
    runs = [facts({"name": "find", "arguments": {"day": f"2026-05-{i:02}"}}) for i in range(10, 30)]
    runs += [facts({"name": "find", "arguments": {"day": f"{i}.5.2026"}}) for i in range(10, 30)]
    written = Predicate("argument", ("find", "day", "<9999-99-99>"))
    assert written in build_columns(runs, 3).predicates
    assert [holds(written, run) for run in (runs[0], runs[-1])] == [True, False]


def test_the_length_of_a_run_is_a_feature() -> None:
    runs = [facts(*["a", "b"] * n) for n in (1, 2, 3, 4, 5, 6)]
    longer = Predicate("length", ("5",))
    assert longer in build_columns(runs, 2).predicates
    value, _ = View(table(runs)).column(longer)
    assert value.tolist() == [holds(longer, run) for run in runs] == [False, False, True, True, True, True]
