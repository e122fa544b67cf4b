from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tasks.cluster import groups
from tasks.cluster.groups import Task, assign, describe, terms_of

FLIGHTS = [
    f"Cancel my flight to {city} please, booking under {name}" for city, name in (("Oslo", "Ida"), ("Rome", "Per"))
]
COOKING = [f"Write a recipe for {dish} with lemon and garlic" for dish in ("pasta", "trout")]


def tasks(*texts: str, cluster: str | None = None) -> list[Task]:
    return [Task(text[:28], text, cluster) for text in texts]


def test_like_tasks_share_a_cluster_and_unlike_ones_do_not() -> None:
    found = list(assign("fam", tasks(*FLIGHTS, *COOKING)).values())
    assert len(set(found)) == 2


def test_the_order_of_arrival_does_not_matter() -> None:
    one = assign("fam", tasks(*FLIGHTS, *COOKING))
    assert one == assign("fam", tasks(*reversed([*FLIGHTS, *COOKING])))


def test_a_task_stays_in_its_cluster_and_draws_new_ones_to_it() -> None:
    found = assign("fam", [*tasks(FLIGHTS[0], cluster="old"), *tasks(FLIGHTS[1], COOKING[0])])
    assert [found[text[:28]] for text in FLIGHTS] == ["old", "old"]
    assert found[COOKING[0][:28]] != "old"


def test_a_label_names_what_sets_a_cluster_apart() -> None:
    drafts = describe({"a": FLIGHTS, "b": COOKING}, {"a": Counter(cancel=2, find=1)})
    assert "flight" in drafts[0].terms
    assert "recipe" in drafts[1].terms
    assert drafts[0].tools == ["cancel", "find"]


def labels(**texts: list[str]) -> dict[str, list[str]]:
    return {draft.id: draft.terms for draft in describe(texts, {})}


def test_a_term_of_most_clusters_names_none() -> None:
    found = labels(
        a=["please cancel this flight with care"] * 4, b=["please print this invoice with care"] * 4,
        c=["please water this tomato with lemon"] * 4,
    )  # fmt: skip
    assert found == {"a": ["cancel", "flight"], "b": ["invoice", "print"], "c": ["tomato", "lemon", "water"]}


def test_a_name_labels_no_cluster_and_a_noun_of_german_does() -> None:
    english = labels(
        a=["Please cancel the flight that was booked last week for Anatoly Petrov"] * 4,
        b=["Print the invoice of last month again, and send it to Kovacs"] * 4,
    )
    assert {"anatoly", "petrov", "kovacs"}.isdisjoint(english["a"] + english["b"])
    german = labels(
        a=["Bitte den Flug von Oslo absagen und das Geld erstatten"] * 4, b=["Bitte die Rechnung drucken"] * 4
    )
    assert set(german["b"]) == {"rechnung", "drucken"}


def test_parts_of_ids_and_addresses_are_no_terms() -> None:
    assert terms_of("user anatoly_petrov_8020 (mei@mail.example) of order_items") == {"user", "order", "items"}


def test_a_cluster_without_terms_of_its_own_is_named_by_its_tools() -> None:
    drafts = describe({"a": FLIGHTS, "b": FLIGHTS}, {"a": Counter(cancel=2)})
    assert [draft.label for draft in drafts] == ["cancel", "b"]


def test_terms_of_text_without_spaces_are_bigrams() -> None:
    assert {"取消", "航班"} <= terms_of("取消航班")


def many(count: int, topics: int = 6) -> list[Task]:
    """Tasks of a few topics, with words of their own."""
    words = ["cancel the flight to Rome", "repair the broken kettle", "print an invoice again", "walk the old dog",
             "translate a poem", "water the tomato plants"][:topics]  # fmt: skip
    return [Task(f"t{place:05d}", f"{words[place % topics]} number {place // topics}") for place in range(count)]


def test_the_order_tasks_come_in_changes_nothing() -> None:
    tasks = many(60)
    assert assign("f", tasks) == assign("f", tasks[::-1])


def test_a_new_night_never_moves_a_task_and_never_renames_a_cluster() -> None:
    tasks = many(90)
    first = assign("f", tasks[:60])
    settled = [Task(task.key, task.text, first[task.key]) for task in tasks[:60]]
    for later in (tasks[60:], tasks[60:][::-1], tasks[60:75]):
        second = assign("f", [*settled, *later])
        assert {key: cluster for key, cluster in second.items() if key in first} == first
        assert {second[task.key] for task in later} <= set(first.values())


def test_blocks_give_one_cluster_a_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "BLOCK", 20)
    tasks = many(60)
    found = assign("f", tasks)
    topics = {(int(task.key[1:]) % 6, found[task.key]) for task in tasks}
    assert len({cluster for _, cluster in topics}) == len(topics)  # no cluster holds two topics


def test_clusters_that_became_one_are_absorbed_by_the_older() -> None:
    tasks = [Task("a", "cancel the flight to Rome", "old"), Task("b", "cancel the flight to Rome", "young"),
             Task("c", "water the tomato plants", "other")]  # fmt: skip
    assert groups.merges(tasks) == {"young": "old"}
    assert groups.merges([]) == {}


def test_vectors_of_an_embedder_decide_where_they_are_given() -> None:
    tasks = [Task("a", "one"), Task("b", "two"), Task("c", "three")]
    vectors = {"one": np.array([1.0, 0.0]), "two": np.array([2.0, 0.1]), "three": np.array([0.0, 1.0])}
    found = assign("f", tasks, vectors)
    assert found["a"] == found["b"] != found["c"]
