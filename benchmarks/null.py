"""What a namespace confirms in a year of nights when nothing is true, and how soon it confirms what is.

    python benchmarks/null.py --streams 200 --nights 90 --design plain
    python benchmarks/null.py --streams 40 --effect 1.5

A stream is one namespace: three families of unlike size, tasks of unlike difficulty, agents of unlike skill, calls that
go with the difficulty of a task and habits that go with an agent, sessions that arrive night by night and ever more of
them. Outcomes are shuffled within tasks, so that no feature has an effect, and every night goes the pipeline's way:
alpha of the night, its share of the family, the cross-fit on groups that arrived since a feature's last look.

Designs: ``plain``; ``correlated`` (features are wordings of few things); ``clustered`` (several episodes a session that
succeed and act alike, one group each); ``growing`` (tasks appear over the year, so that families pass from splitting by
group to splitting by task); ``peek`` (the tempting way, for comparison: every night tests everything again at 5 %);
``episodes`` (clustered, and every episode taken for a group of its own: what grouping is for).

Printed is the share of streams that ever confirmed something, with its 95 % interval (Clopper and Pearson 1934).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np  # noqa: E402 - the path and the thread count above come first
from scipy import stats  # noqa: E402

from tasks.contrast.analyse import Question, analyse  # noqa: E402
from tasks.contrast.confirm import MOST_FOLDS, Trial, already_tested, family_alpha, look, night_alpha  # noqa: E402
from tasks.contrast.features import Columns  # noqa: E402
from tasks.contrast.predicate import Predicate  # noqa: E402
from tasks.contrast.sample import Sample  # noqa: E402

YEARLY_ALPHA = 0.05
DESIGNS = ("plain", "correlated", "clustered", "growing", "peek", "episodes")


@dataclass(frozen=True)
class Family:
    """Size of a family: tasks, features, sessions on the first night (three times as many on the last)."""

    tasks: int
    features: int
    sessions: int


FAMILIES = (Family(24, 24, 6), Family(10, 20, 4), Family(40, 30, 8))


@dataclass(frozen=True)
class Arrived:
    """A family's whole year: the sample, in order of arrival, and the night each unit arrived."""

    sample: Sample
    night: np.ndarray


@dataclass(frozen=True)
class Outcome:
    """What became of a stream: nights of the first test passed and of the first finding confirmed (None: never)."""

    passed: int | None
    confirmed: int | None
    looks: int
    found: tuple[int | None, ...]
    """By family, the night on which the planted effect was confirmed."""


def main() -> None:
    """Simulate, then print one line a design."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--streams", type=int, default=200)
    asked.add_argument("--nights", type=int, default=90)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--design", action="append", choices=DESIGNS, help="may be repeated (default plain)")
    asked.add_argument("--effect", type=float, default=0.0, help="log odds ratio of one habit a family; 0: no effect")
    asked.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = asked.parse_args()
    print(f"{given.streams} streams of {given.nights} nights, seed {given.seed}, effect {given.effect}")
    for design in given.design or ["plain"]:
        started = time.perf_counter()
        jobs = [(given.seed * 100_000 + stream, given.nights, design, given.effect) for stream in range(given.streams)]
        with ProcessPoolExecutor(given.workers) as pool:
            done = list(pool.map(_job, jobs, chunksize=1))
        print(_said(design, done, given), f"{time.perf_counter() - started:.0f} s", flush=True)


def _job(job: tuple[int, int, str, float]) -> Outcome:
    seed, nights, design, effect = job
    return stream(seed, nights, design, effect)


def _said(design: str, done: Sequence[Outcome], given: argparse.Namespace) -> str:
    looks = sum(each.looks for each in done) / len(done)
    if given.effect:
        first = [night for each in done for night in each.found]
        known = sorted(night for night in first if night is not None)
        shares = ", ".join(
            f"by night {by}: {sum(night <= by for night in known) / len(first):.0%}" for by in (10, 30, given.nights)
        )
        middle = known[len(known) // 2] if known else None
        return f"{design}: planted effect confirmed {shares} (median night {middle}), {looks:.1f} looks a stream,"
    words = []
    for what, hits in (
        ("passed a test", sum(each.passed is not None for each in done)),
        ("confirmed a finding", sum(each.confirmed is not None for each in done)),
    ):
        low, high = interval(hits, len(done))
        words.append(f"{what} {hits} of {len(done)} = {hits / len(done):.1%} ({low:.1%} to {high:.1%})")
    return f"{design}: ever {'; '.join(words)}; {looks:.1f} looks a stream,"


def interval(hits: int, trials: int) -> tuple[float, float]:
    """Exact 95 % interval of a share."""
    low = float(stats.beta.ppf(0.025, hits, trials - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(0.975, hits + 1, trials - hits)) if hits < trials else 1.0
    return low, high


def stream(
    seed: int,
    nights: int,
    design: str = "plain",
    effect: float = 0.0,
    families: Sequence[Family] = FAMILIES,
    yearly: float = YEARLY_ALPHA,
) -> Outcome:
    """One namespace, night by night. With an effect outcomes are left as they are, else shuffled within tasks."""
    random = np.random.default_rng(seed)
    years = [_year(random, family, nights, design, effect) for family in families]
    looked_at: list[dict[int, list[int]]] = [{} for _ in years]
    looked, looks, passed, confirmed = 0, 0, None, None
    found: list[int | None] = [None] * len(years)
    for night in range(nights):
        tonight = [_until(year, night) for year in years]
        informative = {str(i): int(one.informative_strata().sum()) for i, one in enumerate(tonight)}
        spent = False
        for i, one in enumerate(tonight):
            alpha = yearly if design == "peek" else night_alpha(yearly, looked)
            question = Question(f"null-{seed}", str(i), family_alpha(alpha, informative, str(i)))
            arrived = years[i].night[: len(one.success)]
            before = {} if design == "peek" else looked_at[i]
            trials = look(
                one, alpha=question.alpha, salt=question.salt, q_level=question.q_level,
                min_strata=question.min_strata, tested=already_tested(one, question.salt, arrived, before),
            )  # fmt: skip
            for trial in trials:
                looked_at[i].setdefault(trial.feature, [-1] * MOST_FOLDS)[trial.fold] = night
            if trials:
                spent, looks = True, looks + 1
            if any(trial.confirmed for trial in trials):
                true = _confirms(one, question)
                passed = night if passed is None else passed
                confirmed = night if confirmed is None and true else confirmed
                if found[i] is None and _names_planted(trials):
                    found[i] = night
        looked += spent
        if confirmed is not None and not effect:
            break
    return Outcome(passed, confirmed, looks, tuple(found))


def _names_planted(trials: Sequence[Trial]) -> bool:
    return any(trial.confirmed and trial.feature == 0 for trial in trials)


def _confirms(sample: Sample, question: Question) -> bool:
    """Whether the night's contrast would hand a finding on to be drafted: with the check for the agent and all."""
    return any(finding.verdict == "confirmed" for finding in analyse(sample, question).findings)


def _until(year: Arrived, night: int) -> Sample:
    """What the family had by a night; units are in order of arrival, so this is a prefix."""
    whole = year.sample
    n = int(np.searchsorted(year.night, night, side="right"))
    columns = Columns(whole.columns.predicates, whole.columns.values[:n], whole.columns.mask[:n])
    return Sample(
        columns, whole.success[:n], whole.stratum[:n], whole.strata, whole.groups[:n], whole.agents[:n],
        whole.fresh[:n],
    )  # fmt: skip


def _year(random: np.random.Generator, family: Family, nights: int, design: str, effect: float) -> Arrived:
    per_night = random.poisson(family.sessions * (1 + 2 * np.arange(nights) / max(1, nights - 1)))
    night = np.repeat(np.arange(nights), per_night)
    n = len(night)
    opened = np.sort(random.integers(0, nights * 3 // 4, family.tasks)) if design == "growing" else np.zeros(0)
    known = np.searchsorted(opened, night, side="right") if design == "growing" else np.full(n, family.tasks)
    stratum = np.floor(random.random(n) * np.maximum(known, 2)).astype(np.int64).clip(max=family.tasks - 1)
    agent = random.integers(0, 5, n)
    difficulty = random.normal(0, 1.5, family.tasks)
    likely = _rates(random, family.features, difficulty[stratum], agent, design)
    values = random.random((n, family.features)) < likely
    session = random.normal(0, 1.5 if design in ("clustered", "episodes") else 0.0, n)
    log_odds = 0.4 - difficulty[stratum] - 0.3 * (agent - 2) + session - effect * (values[:, 0] - 0.5)
    success = random.random(n) < 1 / (1 + np.exp(-log_odds))
    groups = [f"g{i}" for i in range(n)]
    mask = np.ones_like(values)
    mask[:, family.features // 2 :] = random.random((n, family.features - family.features // 2)) < 0.6
    predicates = [Predicate("call-present", (f"call_{i:02}",)) for i in range(family.features)]
    whole = Sample(
        Columns(predicates, values & mask, mask), success, stratum, [f"task-{i}" for i in range(family.tasks)],
        groups, [f"agent-{a}" for a in agent], np.ones(n, dtype=bool),
    )  # fmt: skip
    whole = whole if effect else whole.shuffled(random)
    return Arrived(*_repeated(random, whole, night)) if design == "episodes" else Arrived(whole, night)


def _rates(
    random: np.random.Generator, features: int, difficulty: np.ndarray, agent: np.ndarray, design: str
) -> np.ndarray:
    """Chance of each feature in each unit: with the difficulty of the task for some, with the agent for others."""
    base = random.normal(-0.5, 1.0, features)
    with_task = random.normal(0, 0.8, features)
    with_agent = np.where(random.random(features) < 0.3, random.normal(0, 0.6, features), 0.0)
    logit = base + difficulty[:, None] * with_task + (agent[:, None] - 2) * with_agent
    if design == "correlated":
        few = max(2, features // 6)
        logit = logit + 4 * random.normal(0, 1, (len(agent), few))[:, np.arange(features) % few]
    return np.asarray(1 / (1 + np.exp(-logit)))


def _repeated(random: np.random.Generator, whole: Sample, night: np.ndarray) -> tuple[Sample, np.ndarray]:
    """Each session's episodes, one to five that go alike, each taken for a group of its own."""
    rows = np.repeat(np.arange(len(night)), random.integers(1, 6, len(night)))
    columns = Columns(whole.columns.predicates, whole.columns.values[rows], whole.columns.mask[rows])
    groups = [f"e{i}" for i in range(len(rows))]
    agents = [whole.agents[row] for row in rows.tolist()]
    sample = Sample(
        columns, whole.success[rows], whole.stratum[rows], whole.strata, groups, agents, np.ones(len(rows), dtype=bool)
    )
    return sample, night[rows]


if __name__ == "__main__":
    main()
