from __future__ import annotations

from collections import Counter

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


def test_terms_of_text_without_spaces_are_bigrams() -> None:
    assert {"取消", "航班"} <= terms_of("取消航班")
