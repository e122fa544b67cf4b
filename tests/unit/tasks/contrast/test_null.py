"""A year of nights in which nothing is true, in small; ``benchmarks/null.py`` does it in full."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from scipy import stats

STREAMS = 16


@pytest.fixture(scope="module")
def null() -> ModuleType:
    path = Path(__file__).resolve().parents[4] / "benchmarks" / "null.py"
    spec = importlib.util.spec_from_file_location("null_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # Where dataclasses look up what their annotations name.
    spec.loader.exec_module(module)
    return module


def false_streams(null: ModuleType, design: str, seed: int, nights: int, yearly: float) -> int:
    print(f"design {design}, seeds {seed} to {seed + STREAMS - 1}")
    families = [null.Family(9, 40, 14)]
    done = [null.stream(seed + at, nights, design, 0.0, families, yearly) for at in range(STREAMS)]
    return sum(each.passed is not None for each in done)


@pytest.mark.long
def test_alpha_that_is_spent_keeps_all_nights_within_it_and_alpha_that_is_not_does_not(null: ModuleType) -> None:
    """At a yearly 20 %, so that 16 streams can tell: more than 6 false ones have a probability under 3 %."""
    assert stats.binom.sf(6, STREAMS, 0.2) < 0.03
    spent = false_streams(null, "plain", 300, 30, 0.2)
    assert spent <= 6
    assert false_streams(null, "peek", 300, 30, 0.2) >= spent + 4


@pytest.mark.long
def test_episodes_taken_for_groups_of_their_own_break_the_level(null: ModuleType) -> None:
    """What independence by group is for: a session's episodes go alike, and counting each makes chance look certain."""
    assert stats.binom.sf(3, STREAMS, 0.05) < 0.01
    assert false_streams(null, "clustered", 400, 10, 0.05) <= 3
    assert false_streams(null, "episodes", 400, 10, 0.05) > 3


def test_an_effect_is_confirmed_before_the_season_is_over(null: ModuleType) -> None:
    done = [null.stream(500 + at, 10, "plain", 3.0, [null.Family(12, 20, 30)]) for at in range(4)]
    assert sum(each.found[0] is not None for each in done) >= 3


def test_the_interval_of_a_share_is_exact(null: ModuleType) -> None:
    assert null.interval(0, 200) == pytest.approx((0.0, 1 - 0.025 ** (1 / 200)))
    low, high = null.interval(5, 200)
    assert low < 5 / 200 < high
