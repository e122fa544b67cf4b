from __future__ import annotations

from tasks.cluster.strata import stratum_names

MEAL = "You want to change the meal on your flight to Oslo. You are Ida Berg and dislike fish."
DESK = "You bought a lamp and a desk; return the lamp only. You are Per Dahl of Bergen, order 17."


def test_one_number_for_two_tasks_is_two_strata() -> None:
    first, second, third = stratum_names([("shop/3", MEAL), ("shop/3", DESK), ("shop/3", MEAL)])
    assert first == third == "shop/3"
    assert second.startswith("shop/3~")


def test_an_edited_description_is_the_same_task() -> None:
    assert stratum_names([("shop/3", MEAL), ("shop/3", MEAL + " Be brief.")]) == ["shop/3", "shop/3"]


def test_without_a_description_the_key_decides() -> None:
    assert stratum_names([("shop/3", ""), ("shop/3", DESK), ("shop/4", "")]) == ["shop/3", "shop/3", "shop/4"]


def test_a_stratum_keeps_its_name_when_later_nights_add_tasks() -> None:
    tonight = stratum_names([("a", MEAL), ("a", DESK)])
    assert stratum_names([("a", MEAL), ("a", DESK), ("a", "Sing a song of rain and of the sea")])[:2] == tonight
