"""The agent that reads memory: what it reads is in the trace, and it does as it is told, right or wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from worlds import WORLDS, Rule, generate, planted
from worlds.engine.rules import as_rule, understand

START = datetime(2026, 1, 5, 8, tzinfo=UTC)


def rule(**fields: Any) -> dict[str, Any]:
    return {"id": "r1", "version": 3, "when_to_use": "Always", "guidance": ["Take care"]} | fields


def stream(
    world: str, memory: Any = None, agents: Sequence[str] = ("reader",), count: int = 240
) -> list[dict[str, Any]]:
    return list(generate(11, count, worlds=(world,), start=START, memory=memory, agents=agents))


def successes(episodes: list[dict[str, Any]]) -> int:
    return sum(data["outcome"] == "success" for data in episodes)


@pytest.mark.parametrize("world", WORLDS)
def test_true_rules_make_the_reader_better(world: str) -> None:
    rules = [rule(id=habit.id, predicate=habit.predicate) for habit in planted((world,))]
    assert successes(stream(world, rules)) > 1.5 * successes(stream(world))


@pytest.mark.parametrize("world", WORLDS)
def test_wrong_rules_make_the_reader_worse(world: str) -> None:
    flip = {"do": "avoid", "avoid": "do"}
    rules = [
        rule(id=habit.id, predicate={**habit.predicate, "direction": flip[habit.predicate["direction"]]})
        for habit in planted((world,))
    ]
    assert successes(stream(world, rules)) < 0.7 * successes(stream(world))


def test_only_the_reader_asks_memory() -> None:
    others = ("careful", "hasty", "stubborn")
    assert stream("travel", [rule()], others) == stream("travel", None, others)


def test_what_was_read_is_in_the_trace_and_the_obeying_call_cites_it() -> None:
    memory = [rule(predicate={"kind": "call-present", "call": "get_fare_rules", "direction": "do"})]
    cited = 0
    for data in stream("travel", memory):
        read = data["steps"][1]
        assert (read["kind"], read["rule"], read["version"]) == ("memory_read", "r1", 3)
        assert read["snapshot"] == "Always\nTake care"
        cited += sum(step.get("cites") == [read["id"]] for step in data["steps"])
    assert cited > 0


def test_with_and_without_memory_the_same_customers_ask_for_the_same_things() -> None:
    pairs = zip(stream("support"), stream("support", [rule()]), strict=True)
    assert all(one["task"] == two["task"] and one["session_id"] == two["session_id"] for one, two in pairs)


def test_a_rule_about_nothing_the_agent_decides_changes_nothing_but_the_reading() -> None:
    plain, read = stream("shopping"), stream("shopping", [rule()])
    assert [data["outcome"] for data in plain] == [data["outcome"] for data in read]


def test_memory_is_asked_with_task_environment_and_session() -> None:
    asked: list[tuple[str, Mapping[str, str], str]] = []

    class Server:
        def rules(self, task: str, *, environment: Mapping[str, str], session_id: str) -> list[Any]:
            asked.append((task, environment, session_id))
            return []

    episodes = stream("travel", Server(), count=5)
    assert asked == [(data["task"], {"booking-api": "7.1"}, data["session_id"]) for data in episodes]


def test_a_rule_may_be_any_object_with_its_fields() -> None:
    @dataclass
    class Served:
        id: str = "r9"
        version: int = 2
        when_to_use: str = "When"
        guidance: tuple[str, ...] = ("Do",)

    assert as_rule(Served()) == Rule("r9", 2, "When", ("Do",))
    with pytest.raises(ValueError, match="a rule needs an id"):
        as_rule({"guidance": []})


@pytest.mark.parametrize(
    ("habit", "line", "takes"),
    [
        ("exchange-unchecked", "Before `exchange_item`, call `check_stock`.", False),
        ("exchange-unchecked", "Call check_stock before exchange_item", False),
        ("exchange-unchecked", "Don't call `check_stock`; it is slow.", True),
        ("cancel-first", "Call `place_order` before `cancel_order`.", False),
        ("cancel-first", "Before `place_order`, call `cancel_order`.", True),
        ("cancel-first", "Do not call `cancel_order` before `place_order`.", False),
        ("express-shipping", "Avoid `place_order` with `shipping` = `express`.", False),
        ("express-shipping", "Prefer `place_order` with shipping express.", True),
        ("cancel-on-request", "Avoid `cancel_reservation`.", False),
        ("cancel-on-request", "Call `issue_travel_credit` where the fare gives nothing back.", False),
        ("repeated-search", "Do not repeat the same `search_flights` call.", False),
        ("retry-locked", "After `refund_charge` fails, call `release_invoice`, then `refund_charge` again.", False),
        ("factory-reset", "Never use `factory_reset`.", False),
        ("close-unconfirmed", "Before close_ticket, use check_with_customer.", False),
        ("close-unconfirmed", "Be friendly.", None),
    ],
)
def test_a_rule_without_a_predicate_is_understood_by_the_tools_it_names(
    habit: str, line: str, takes: bool | None
) -> None:
    choice = next(h.choice for h in planted() if h.id == habit)
    advice = understand([Rule("r1", 1, "", (line,))], [choice]).get(habit)
    assert (None if advice is None else advice.take) is takes


def test_the_first_rule_that_speaks_is_followed() -> None:
    choice = next(h.choice for h in planted() if h.id == "factory-reset")
    rules = [
        Rule("a", 1, "", ("Be kind",)),
        Rule("b", 1, "", ("Avoid factory_reset",)),
        Rule("c", 1, "", ("Use factory_reset",)),
    ]
    assert understand(rules, [choice])["factory-reset"].rule == 1
