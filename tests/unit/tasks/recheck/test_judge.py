"""What fresh runs say of an active rule, and what a look may cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import pytest

from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate
from tasks.contrast.sample import Sample
from tasks.contrast.units import Units
from tasks.recheck.judge import GONE, Judged, Standing, judge, promised_effect
from tasks.verify.support import Compared, remaining

AVOID = Predicate("call-present", ("cancel",), "avoid")
STANDING = Standing(looks=0, promised=math.log(5), active=1, yearly_alpha=0.05)


@dataclass(frozen=True)
class Night:
    """Groups that arrived in one night: task, whether the call was made, whether the run succeeded."""

    number: int
    task: np.ndarray
    did: np.ndarray
    won: np.ndarray


def arrived(number: int, effect: float, *, tasks: int = 10, each: int = 8, seed: int = 1) -> Night:
    """Runs in which the call changes the log odds of success by ``-effect``."""
    random = np.random.default_rng(seed)
    task = np.repeat(np.arange(tasks), each)
    did = np.arange(tasks * each) % 2 == 0
    won = random.random(tasks * each) < 1 / (1 + np.exp(-(0.2 - effect * (did - 0.5))))
    return Night(number, task, did, won)


def compared(*nights: Night, echoes: int | None = None, last: int = 1) -> Compared:
    """All nights together; those after ``last`` are fresh, and the runs of the night ``echoes`` had read the rule."""
    task = np.concatenate([night.task for night in nights])
    did = np.concatenate([night.did for night in nights])
    number = np.concatenate([np.full(len(night.task), night.number) for night in nights])
    echo = number == (echoes if echoes is not None else -1)
    groups = [f"g{n}" for n in range(len(task))]
    sample = Sample(
        Columns([AVOID.undirected()], (did & ~echo)[:, None], ~echo[:, None]),
        np.concatenate([night.won for night in nights]), task.astype(np.int64),
        [f"t{n}" for n in range(task.max() + 1)],
        groups, ["bot"] * len(task), number > last,
    )  # fmt: skip
    return Compared(AVOID, cast(Units, None), sample, did, echo)


def verdict(*nights: Night, echoes: int | None = None, standing: Standing = STANDING) -> Judged:
    return judge(compared(*nights, echoes=echoes), standing, {})


OLD = arrived(1, 4.0, each=12, tasks=20)


def test_fresh_runs_that_agree_leave_it_standing_and_cost_a_look() -> None:
    found = verdict(OLD, arrived(2, 4.0, each=12, tasks=20))
    assert (found.verdict, found.spent) == ("stands", True)
    assert found.statistics["alpha"] == pytest.approx(0.05 * 6 / math.pi**2)


def test_an_effect_that_is_no_longer_there_has_vanished() -> None:
    found = verdict(OLD, arrived(2, 0.0, each=12, tasks=20))
    assert (found.verdict, found.spent) == ("vanished", True)
    assert "less than half of the promised effect" in found.words


def test_an_effect_that_goes_the_other_way_is_reversed() -> None:
    found = verdict(OLD, arrived(2, -4.0, each=12, tasks=20))
    assert found.verdict == "reversed"
    assert found.statistics["p_reversed"] <= found.statistics["alpha"]


def test_too_few_fresh_runs_cost_nothing_and_say_how_many_more() -> None:
    found = verdict(OLD, arrived(2, 0.0, tasks=1, each=4, seed=3))
    assert (found.verdict, found.spent) == ("not-enough", False)
    assert found.statistics["more_groups"] > 0
    assert "about" in found.words


def test_new_groups_are_told_apart_from_the_old() -> None:
    new = arrived(2, -4.0, tasks=1, each=8, seed=3)
    found = verdict(OLD, new)
    assert found.verdict == "not-enough"
    alone, together = found.words.split("; with the old: ")
    own = remaining(compared(OLD, new), compared(OLD, new).sample.fresh)
    assert alone.endswith(f"of the 8 new groups: {own.words()}")
    assert remaining(compared(OLD, new)).words() in together
    assert own.words() != remaining(compared(OLD, new)).words()


def test_where_all_had_read_it_nothing_compares_and_a_holdout_is_advised() -> None:
    new = arrived(2, 0.0, each=12, tasks=20)
    found = verdict(OLD, new, echoes=2)
    assert (found.verdict, found.spent) == ("no-comparison", False)
    assert "holdout_fraction" in found.words


def test_echoes_neither_keep_a_rule_alive_nor_end_it() -> None:
    agreeing, against = arrived(2, 6.0, each=12, tasks=20), arrived(2, -6.0, each=12, tasks=20)
    for new in (agreeing, against):
        assert verdict(OLD, new, echoes=2).verdict == "no-comparison"


def test_what_lies_outside_its_scope_opens_a_recheck_in_words() -> None:
    found = judge(compared(OLD), STANDING, {"api 4.0, verified for 3.2": 7})
    assert found.verdict == "outside-scope"
    assert "api 4.0, verified for 3.2 (7 groups)" in found.words


def test_a_rule_without_new_runs_stands_on_what_there_is() -> None:
    assert verdict(OLD).verdict == "stands"


def test_later_looks_and_more_rules_leave_less_alpha() -> None:
    assert Standing(1, None, 1, 0.05).alpha == pytest.approx(STANDING.alpha / 4)
    assert Standing(0, None, 10, 0.05).alpha == pytest.approx(STANDING.alpha / 10)
    assert sum(Standing(n, None, 1, 0.05).alpha for n in range(10_000)) < 0.05


@pytest.mark.parametrize(
    ("packet", "promised"),
    [
        ({"held_out": {"low": 0.1, "high": 0.5}}, math.log(2)),
        ({"held_out": {"low": 2.0, "high": None}}, math.log(2)),
        ({"held_out": {"low": 0.5, "high": 2.0}, "effect": {"low": 0.1, "high": 0.25}}, math.log(4)),
        ({"held_out": None, "effect": {"low": 0.5, "high": 1.5}}, None),
        ({}, None),
    ],
)
def test_what_was_promised_is_the_cautious_end(packet: dict[str, object], promised: float | None) -> None:
    assert promised_effect(packet) == (promised if promised is None else pytest.approx(promised))


def test_a_true_rule_is_seldom_called_gone_over_many_looks() -> None:
    """Forty rules whose effect is as promised, each looked at on eight nights: the year's alpha bounds all looks."""
    gone = 0
    for rule in range(40):
        nights, standing, last = [OLD], STANDING, 1
        for night in range(2, 10):
            nights = [*nights, arrived(night, math.log(5), each=6, tasks=12, seed=100 * rule + night)]
            found = judge(compared(*nights, last=last), standing, {})
            if found.spent:
                standing, last = Standing(standing.looks + 1, math.log(5), 1, 0.05), night
            if found.verdict in GONE:
                gone += 1
                break
    assert gone <= 4  # 40 rules at 5 % a year: 2 expected if the effect were just half as promised, fewer at it.
