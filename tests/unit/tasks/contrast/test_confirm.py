from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tasks.contrast.confirm import (
    BY_GROUP,
    FOLDS,
    MOST_FOLDS,
    Trial,
    already_tested,
    draws,
    family_alpha,
    folds,
    holm_levels,
    look,
    night_alpha,
    splits,
    still_holds,
)
from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate
from tasks.contrast.sample import Sample

Make = Callable[..., Sample]
STRICT: dict[str, Any] = {"q_level": 0.10, "min_strata": 8}


def test_alpha_of_any_number_of_nights_adds_up_to_the_years() -> None:
    spent = [night_alpha(0.05, night) for night in range(100_000)]
    assert sum(spent) <= 0.05
    assert spent == sorted(spent, reverse=True)


def test_families_share_a_nights_alpha_by_the_tasks_that_can_tell() -> None:
    informative = {"a": 30, "b": 10, "c": 0}
    shares = [family_alpha(0.03, informative, family) for family in informative]
    assert shares == pytest.approx([0.0225, 0.0075, 0])
    assert family_alpha(0.03, {}, "a") == 0


def test_features_of_many_tasks_are_split_by_task_and_those_of_few_by_group(sample: Make) -> None:
    whole = sample(1, tasks=30)
    few = whole.columns.mask.copy()
    few[:, 5] = whole.stratum < 4
    part = whole.with_columns(Columns(whole.columns.predicates, whole.columns.values & few, few))
    by_task, by_group = splits(part, "salt", 8)
    assert all(len(set(by_task.fold[part.stratum == task])) == 1 for task in range(30))
    assert any(len(set(by_group.fold[part.stratum == task])) == 2 for task in range(4))
    assert by_task.whole[0]
    assert not by_task.whole[5]
    assert by_group.whole[5]
    assert not by_group.whole[0]


def test_all_tasks_of_a_feature_on_one_side_send_it_to_the_split_by_group(sample: Make) -> None:
    whole = sample(1, tasks=40)
    side = folds(whole.strata, "salt")
    one_sided = whole.columns.mask.copy()
    one_sided[:, 3] = side[whole.stratum]
    part = whole.with_columns(Columns(whole.columns.predicates, whole.columns.values & one_sided, one_sided))
    by_task, by_group = splits(part, "salt", 8)
    assert not by_task.whole[3]
    assert by_group.whole[3]


def test_a_task_or_group_keeps_its_fold_as_nights_add_data() -> None:
    names = [f"task-{i}" for i in range(50)]
    assert (folds(names, "s")[:20] == folds(names[:20], "s")).all()
    assert 10 < folds(names, "s").sum() < 40


def test_a_strong_effect_is_confirmed_on_tasks_it_was_not_found_on(sample: Make) -> None:
    whole = sample(3, effect=3.0)
    trials = [trial for trial in look(whole, alpha=0.03, salt="s", **STRICT) if trial.feature == 0]
    trials = [trial for trial in trials if trial.fold < FOLDS]
    assert any(trial.confirmed and trial.fold < BY_GROUP for trial in trials)
    assert all(trial.side == -1 and trial.odds_ratio < 1 for trial in trials)
    tasks, groups = folds(whole.strata, "s")[whole.stratum], folds(whole.groups, "s")
    for trial in trials:
        side = tasks if trial.fold < BY_GROUP else groups
        assert {int(side[int(group[1:])]) for group in trial.groups} == {trial.fold % 2}


def test_a_habit_that_only_harms_in_few_tasks_of_many_is_confirmed_there() -> None:
    """A seed each way would be luck: of ten streams most must confirm it, and on few tasks."""
    found = [_local_trial(seed) for seed in range(10)]
    confirmed = [trial for trial in found if trial is not None]
    local = [trial for trial in confirmed if trial.fold >= BY_GROUP]
    assert len(confirmed) >= 7
    assert len(local) >= 5
    assert all(trial.strata <= 12 for trial in local)


def _local_trial(seed: int) -> Trial | None:
    """30 tasks of 40 runs; the first call spoils most of the runs of four of them and none of the others."""
    random = np.random.default_rng(seed)
    stratum = np.repeat(np.arange(30), 40)
    values = random.random((1200, 12)) < 0.4
    success = (random.random(1200) < 0.7) & ~(values[:, 0] & (stratum < 4) & (random.random(1200) < 0.9))
    columns = Columns([Predicate("call-present", (f"c{i:02}",)) for i in range(12)], values, np.ones_like(values))
    whole = Sample(
        columns, success, stratum, [f"t{i}" for i in range(30)], [f"g{i}" for i in range(1200)], ["a"] * 1200,
        np.ones(1200, dtype=bool),
    )  # fmt: skip
    trials = look(whole, alpha=0.03, salt=str(seed), **STRICT)
    confirmed = [trial for trial in trials if trial.confirmed and trial.feature == 0]
    return max(confirmed, key=lambda trial: trial.fold, default=None)


def test_the_same_sign_alone_confirms_nothing(sample: Make) -> None:
    trials = look(sample(4, effect=3.0), alpha=1e-12, salt="s", **STRICT)
    assert not any(trial.confirmed for trial in trials)


def test_a_feature_is_never_tested_twice_on_one_group(sample: Make) -> None:
    whole = sample(5, effect=3.0, runs=16)
    tested = np.zeros_like(whole.columns.mask)
    tested[::2, 0] = True
    trials = look(whole, alpha=0.03, salt="s", **STRICT, tested=[tested] * 3)
    again = [trial for trial in trials if trial.feature == 0]
    assert again
    assert not any(tested[int(group[1:]), 0] for trial in again for group in trial.groups)


def test_what_was_tested_everywhere_is_not_looked_at_again(sample: Make) -> None:
    whole = sample(5, effect=3.0)
    assert look(whole, alpha=0.03, salt="s", **STRICT, tested=[np.ones_like(whole.columns.mask)] * 3) == []


def test_a_look_at_one_feature_leaves_the_groups_fresh_for_another(sample: Make) -> None:
    whole = sample(5, effect=3.0)
    tested = np.ones_like(whole.columns.mask)
    tested[:, 0] = False
    assert {trial.feature for trial in look(whole, alpha=0.03, salt="s", **STRICT, tested=[tested] * 3)} == {0}


def test_a_group_was_tested_on_where_a_look_of_its_fold_could_see_it(sample: Make) -> None:
    whole = sample(6)
    arrived = np.arange(len(whole.success)) % 3
    by_task = folds(whole.strata, "s")[whole.stratum]
    before = already_tested(whole, "s", arrived, {2: (1, *[-1] * 11)})
    assert (before[0][:, 2] == (~by_task & (arrived <= 1))).all()
    assert not np.delete(before[0], 2, axis=1).any()
    assert not any(draw.any() for draw in before[1:])


def test_a_hopeless_test_is_not_made_and_so_costs_nothing(sample: Make) -> None:
    assert look(sample(6, tasks=8, runs=3, effect=1.0), alpha=1e-6, salt="s", **STRICT) == []


def test_an_earlier_confirmation_falls_with_the_groups_it_rested_on(sample: Make, part: Make) -> None:
    whole = sample(3, effect=3.0)
    trial = next(t for t in look(whole, alpha=0.03, salt="s", **STRICT) if t.confirmed and t.feature == 0)
    assert still_holds(whole, 0, trial.groups, trial.side, trial.alpha)
    left = np.ones(len(whole.success), bool)
    left[[int(group[1:]) for group in trial.groups[4:]]] = False
    assert not still_holds(part(whole, left, left), 0, trial.groups, trial.side, trial.alpha)


def test_holm_steps_down_until_the_first_miss() -> None:
    levels = holm_levels(np.array([0.04, 0.001, 0.03]), 0.05)
    assert levels == pytest.approx([0.025, 0.05 / 3, 0.025])


def test_under_no_effect_a_year_confirms_something_false_within_its_alpha(sample: Make, part: Make) -> None:
    """60 streams of 5 nights, outcomes shuffled within tasks, every task and agent confounded as they come.

    With the level kept, more than 8 false streams of 60 have a probability under 1 in 200.
    """
    false = sum(_stream(sample(seed, tasks=16), part, seed) for seed in range(60))
    assert false <= 8


def _stream(whole: Sample, part: Make, seed: int) -> bool:
    random = np.random.default_rng(seed)
    null = whole.shuffled(random)
    arrives = random.integers(0, 5, len(null.success))
    looked: dict[int, list[int]] = {}
    looks = 0
    for night in range(5):
        here = arrives <= night
        now = part(null, here, np.ones(len(here), bool))
        tested = already_tested(now, str(seed), arrives[here], looked)
        trials = look(now, alpha=night_alpha(0.05, looks), salt=str(seed), **STRICT, tested=tested)
        if any(trial.confirmed for trial in trials):
            return True
        for trial in trials:
            looked.setdefault(trial.feature, [-1] * MOST_FOLDS)[trial.fold] = night
        looks += bool(trials)
    return False


def test_shuffling_keeps_the_outcomes_of_every_task(sample: Make) -> None:
    whole = sample(7)
    null = whole.shuffled(np.random.default_rng(7))
    before, after = (np.bincount(one.stratum, one.success) for one in (whole, null))
    np.testing.assert_array_equal(before, after)
    assert (whole.success != null.success).any()


def test_a_small_family_is_cut_three_times_and_its_alpha_shared(sample: Make) -> None:
    whole = sample(5, effect=3.0)
    trials = look(whole, alpha=0.03, salt="s", **STRICT)
    drawn = {trial.fold // FOLDS for trial in trials}
    assert len(drawn) > 1
    assert max(trial.fold for trial in trials) < MOST_FOLDS
    assert draws(len(whole.success)) * draws(10**6) == 3
    by_fold: dict[int, float] = {}
    for trial in trials:
        by_fold[trial.fold] = max(by_fold.get(trial.fold, 0.0), trial.alpha)
    assert sum(by_fold.values()) <= 0.03 + 1e-9


def test_what_one_draw_tested_another_may_test_once(sample: Make) -> None:
    whole = sample(5, effect=3.0)
    everywhere, nowhere = np.ones_like(whole.columns.mask), np.zeros_like(whole.columns.mask)
    trials = look(whole, alpha=0.03, salt="s", **STRICT, tested=[everywhere, nowhere, everywhere])
    assert {trial.fold // FOLDS for trial in trials} == {1}
