from __future__ import annotations

import inspect

from tasks.cluster import family
from tasks.cluster.family import assign, start_of

CANCEL = "Please cancel my flight to Oslo, the reservation is under Berg"
PASTA = "Write a recipe for pasta with lemon and a shopping list for it"


def ids(*starts: family.Start, leaders: tuple[tuple[str, str], ...] = ()) -> list[str]:
    found = assign(starts, leaders)
    return [found[start.episode_id].id for start in starts]


def test_wording_cannot_shatter_a_family_of_one_environment() -> None:
    one, two = ids(start_of("a", CANCEL, ["flights"], ["x", "y"]), start_of("b", PASTA, ["flights"], ["y", "x"]))
    assert one == two


def test_other_tools_or_environment_are_another_family() -> None:
    found = ids(
        start_of("a", CANCEL, ["flights"], ["x"]),
        start_of("b", CANCEL, ["flights"], ["z"]),
        start_of("c", CANCEL, ["hotels"], ["x"]),
    )
    assert len(set(found)) == 3


def test_text_decides_where_nothing_else_is_known() -> None:
    again = CANCEL.replace("Oslo", "Bergen").replace("Berg", "Dahl")
    one, two, three = ids(start_of("a", CANCEL, [], []), start_of("b", again, [], []), start_of("c", PASTA, [], []))
    assert one == two != three


def test_text_without_spaces_is_told_apart() -> None:
    texts = ("请取消我去奥斯陆的航班预订", "请取消我去卑尔根的航班预订", "写一份柠檬意大利面的食谱和购物清单")
    one, two, three = ids(*(start_of(str(i), text, [], []) for i, text in enumerate(texts)))
    assert one == two != three


def test_a_text_family_keeps_its_id_the_next_night() -> None:
    first = assign([start_of("a", CANCEL, [], [])], [])["a"]
    later = ids(start_of("b", PASTA, [], []), start_of("c", CANCEL + "!", [], []), leaders=((first.id, CANCEL),))
    assert later[1] == first.id != later[0]


def test_a_signature_names_the_founding_episode_and_never_quotes_it() -> None:
    found = assign([start_of("ep-1", CANCEL, [], [])], [])["ep-1"]
    assert found.signature == {"kind": "text", "leader": "ep-1"}


def test_what_the_agent_did_cannot_enter() -> None:
    """A starting point has no field for steps, calls or outcomes: there is nothing to leak through."""
    assert list(inspect.signature(start_of).parameters) == ["episode_id", "task", "environment", "tools"]
