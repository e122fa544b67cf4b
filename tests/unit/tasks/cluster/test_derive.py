"""Tasks told from first texts: other words, names, ids and dates are one task; other wishes are not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, homogeneity_score

from tasks.cluster.derive import derive
from worlds import generate

OPENINGS = (
    "Hello there, dear library desk!", "Good day, I have a question for the library.", "Library? Please help me.",
    "Hi all at the library,",
)  # fmt: skip
CLOSINGS = ("Thank you!", "Many thanks in advance.", "That would be great.", "Have a nice day, all of you.")
NAMES = ("Anna Berg", "Ivo Klein", "Mia Sato", "Tom Reed", "Lea Novak", "Juan Rey", "Oda Lund", "Kim Park")
WORDINGS = ("Could you renew the loan {id}, since {why}?", "I must keep {id} longer: {why}.", "Extend {id}; {why}.")
REASONS = (
    "the dog chewed the cover and glue is drying", "exam week was moved by two fortnights",
    "snow closed every road out of our valley", "the print is tiny and reading aloud takes ages",
    "grandmother borrowed it without asking anyone", "a translation for the theatre is only half done",
)  # fmt: skip


def requests(seed: int, count: int) -> list[tuple[str, str]]:
    """(text, true task), every task equally often."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        why = REASONS[number % len(REASONS)]
        wish = rng.choice(WORDINGS).format(id=f"B-{rng.randrange(10_000)}", why=why)
        made.append((f"{rng.choice(OPENINGS)} This is {rng.choice(NAMES)}. {wish} {rng.choice(CLOSINGS)}", why))
    rng.shuffle(made)
    return made


def keyed(made: Sequence[tuple[str, str]], prefix: str = "k") -> list[tuple[str, str]]:
    return [(f"{prefix}{number:04d}", text) for number, (text, _) in enumerate(made)]


def test_the_same_wish_in_other_words_is_one_task() -> None:
    made = requests(1, 240)
    found = derive(keyed(made), [])
    true = [why for _, why in made]
    labels = [found[key] for key, _ in keyed(made)]
    assert homogeneity_score(true, labels) >= 0.98
    assert adjusted_rand_score(true, labels) >= 0.9


@pytest.mark.parametrize("world", ["shopping", "travel", "support"])
def test_tasks_of_a_tool_world_are_found_without_their_keys(world: str) -> None:
    seed = 23
    start = datetime(2026, 1, 5, tzinfo=UTC)
    made = [(one["task"], one["task_key"]) for one in generate(seed, 500, worlds=(world,), start=start)]
    found = derive(keyed(made), [])
    true, labels = [key for _, key in made], [found[key] for key, _ in keyed(made)]
    score = adjusted_rand_score(true, labels)
    print(f"seed {seed}: {len(set(labels))} strata for {len(set(true))} tasks, ARI {score:.3f}")
    assert homogeneity_score(true, labels) >= 0.97
    assert score >= 0.9


def test_a_later_night_joins_the_tasks_there_are() -> None:
    first, second = requests(2, 120), requests(3, 60)
    known = derive(keyed(first), [])
    settled = [(known[key], text) for key, text in keyed(first)]
    found = derive(keyed(second, "later"), settled)
    true = {known[key]: why for (key, _), (_, why) in zip(keyed(first), first, strict=True)}
    right = [true.get(found[key]) == why for (key, _), (_, why) in zip(keyed(second, "later"), second, strict=True)]
    assert sum(right) / len(right) >= 0.95


def test_a_task_never_seen_before_founds_its_own_stratum() -> None:
    first = requests(4, 120)
    known = derive(keyed(first), [])
    settled = [(known[key], text) for key, text in keyed(first)]
    new = [(f"new{number}", f"{OPENINGS[number]} My card is demagnetised by a loudspeaker. {CLOSINGS[number]}")
           for number in range(4)]  # fmt: skip
    found = derive(new, settled)
    assert set(found.values()).isdisjoint(known.values())


def test_what_was_thrown_together_by_a_small_night_is_parted_when_more_is_known() -> None:
    made = requests(5, 200)
    settled = [("mixed", text) for text, _ in made[:4]]
    found = derive(keyed(made[4:]), settled)
    true, labels = [why for _, why in made[4:]], [found[key] for key, _ in keyed(made[4:])]
    assert homogeneity_score(true, labels) >= 0.95


def test_a_founder_keeps_its_own_key() -> None:
    made = requests(6, 60)
    found = derive(keyed(made), [])
    assert all(found[stratum] == stratum for stratum in set(found.values()))


def test_a_key_that_is_a_known_stratum_keeps_it() -> None:
    made = requests(7, 40)
    assert derive([("old", made[0][0])], [("old", made[0][0])]) == {"old": "old"}


def test_nothing_gives_nothing() -> None:
    assert derive([], []) == {}
    assert derive([], [("s", "text")]) == {}


@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(st.text(max_size=40), max_size=12, unique=True),
    known=st.lists(st.tuples(st.sampled_from("abc"), st.text(max_size=40)), max_size=6),
)
def test_every_text_gets_one_stratum_and_always_the_same(texts: list[str], known: list[tuple[str, str]]) -> None:
    tasks = [(f"k{number}", text) for number, text in enumerate(texts)]
    found = derive(tasks, known)
    assert sorted(found) == sorted(key for key, _ in tasks)
    assert set(found.values()) <= {key for key, _ in tasks} | {stratum for stratum, _ in known}
    assert found == derive(tasks, known)


def test_scripts_without_spaces_are_told_apart_too() -> None:
    rng = random.Random(8)
    print("seed 8")
    wishes = ("因为暴风掀掉了屋顶，请检修菜单", "我结婚改了姓，请拆分合同", "冰柜坏了东西都在融化，请注销许可证")
    names = ("林小雨", "陈志远", "王秀英", "刘洋")
    made = [
        (f"您好，客服！我是{rng.choice(names)}。{wishes[number % 3]}#{rng.randrange(99_999)}。谢谢！", str(number % 3))
        for number in range(90)
    ]
    found = derive(keyed(made), [])
    assert adjusted_rand_score([true for _, true in made], [found[key] for key, _ in keyed(made)]) >= 0.9
