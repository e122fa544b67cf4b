"""The stream: same seed, same episodes; every one canonical; the options do what they say."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import pytest

from tasks.ingest.episode import Episode
from worlds import WORLDS, generate

START = datetime(2026, 1, 5, 8, tzinfo=UTC)


def episodes(seed: int = 7, count: int = 240, **options: Any) -> list[dict[str, Any]]:
    return list(generate(seed, count, start=START, **options))


def test_the_same_seed_gives_the_same_episodes() -> None:
    assert episodes() == episodes()


def test_another_seed_gives_other_episodes() -> None:
    assert episodes(seed=7, count=3) != episodes(seed=8, count=3)


def test_a_longer_stream_begins_like_a_shorter_one() -> None:
    assert list(islice(generate(7, 500, start=START), 40)) == episodes(count=40)


def test_every_episode_is_canonical() -> None:
    for data in episodes(confound=("difficulty", "agent"), release="mixed"):
        episode = Episode.model_validate(data)
        assert episode.outcome in ("success", "failure")
        assert episode.outcome_source == "environment"
        assert not episode.time_is_naive
        assert episode.task == episode.steps[0].text


def test_traces_are_of_a_realistic_length_and_every_observation_answers_a_call() -> None:
    lengths = []
    for data in episodes():
        steps = data["steps"]
        lengths.append(len(steps))
        calls = [step["id"] for step in steps if step["kind"] == "tool_call"]
        assert [step["of"] for step in steps if step["kind"] == "observation"] == calls
        assert (steps[0]["kind"], steps[1]["kind"], steps[-1]["kind"]) == ("user", "plan", "answer")
    assert min(lengths) >= 5
    assert sorted(lengths)[len(lengths) // 2] <= 15


def test_an_agent_calls_only_what_it_was_offered() -> None:
    for data in episodes():
        own = {s["name"] for s in data["steps"] if s["kind"] == "tool_call" and s.get("requestor") != "user"}
        assert own <= set(data["tools_offered"])


def test_every_world_has_many_tasks_each_dealt_equally_often() -> None:
    counts = Counter(data["task_key"] for data in episodes(count=600))
    for world in WORLDS.values():
        keys = [spec.key for spec in world.specs]
        assert len(keys) >= 16
        dealt = [counts[key] for key in keys]
        assert max(dealt) - min(dealt) <= 1


def test_a_family_has_one_starting_point_and_many_wordings() -> None:
    """Tools and environment are one per world; the opening names its shop; no two first texts are alike."""
    brands = {"shopping": "Lindenmarkt", "travel": "Aerona", "support": "Brightline"}
    found = episodes()
    for name, brand in brands.items():
        own = [data for data in found if data["id"].startswith(name)]
        assert len({tuple(data["tools_offered"]) for data in own}) == 1
        assert len({tuple(data["environment"].items()) for data in own}) == 1
        assert all(brand in data["task"][:60] for data in own)
        assert len({data["task"] for data in own}) == len(own)


def test_task_keys_can_be_left_out_and_nothing_else_changes() -> None:
    bare = episodes(task_keys=False)
    assert all("task_key" not in data for data in bare)
    assert bare == [{k: v for k, v in data.items() if k != "task_key"} for data in episodes()]


def test_a_session_has_one_agent_and_one_world() -> None:
    sessions: dict[str, set[tuple[str, str]]] = {}
    for data in episodes():
        sessions.setdefault(data["session_id"], set()).add((data["agent"], data["id"].split("-")[0]))
    assert all(len(who) == 1 for who in sessions.values())
    assert len(sessions) < 240


def test_runs_start_in_order_at_the_given_time() -> None:
    starts = [data["started_at"] for data in episodes(count=50)]
    assert starts == sorted(starts)
    assert starts[0] == "2026-01-05T08:00:00Z"


def test_worlds_agents_and_release_can_be_chosen() -> None:
    chosen = episodes(count=30, worlds=("travel",), agents=("hasty",), release="next")
    assert {data["agent"] for data in chosen} == {"hasty"}
    assert {data["environment"]["booking-api"] for data in chosen} == {"8.0"}
    mixed = episodes(count=60, worlds=("travel",), release="mixed")
    assert {data["environment"]["booking-api"] for data in mixed} == {"7.1", "8.0"}


def test_difficulty_carries_harmless_calls_only_where_it_is_told_to() -> None:
    def share(confound: tuple[str, ...], difficulty: str) -> float:
        keys = {spec.key for world in WORLDS.values() for spec in world.specs if spec.difficulty == difficulty}
        own = [data for data in episodes(count=600, confound=confound) if data["task_key"] in keys]
        return sum(_calls(data, "transfer_to_human") for data in own) / len(own)

    assert share(("difficulty",), "hard") > 0.8
    assert share(("difficulty",), "easy") < 0.2
    assert abs(share((), "hard") - share((), "easy")) < 0.15


def test_the_clumsy_agent_carries_its_calls_only_where_it_is_told_to() -> None:
    def share(confound: tuple[str, ...], agent: str) -> float:
        own = episodes(count=300, worlds=("support",), confound=confound, agents=(agent,))
        return sum(_calls(data, "search_articles") for data in own) / len(own)

    assert share(("agent",), "hasty") - share(("agent",), "careful") > 0.5
    assert abs(share((), "hasty") - share((), "careful")) < 0.15


def test_awkward_names_come_through_whole() -> None:
    texts = "\n".join(data["task"] for data in episodes(count=400))
    for name in ("林小雨", 'Dolores "Dee" D\'Angelo', "Zoë O’Brien"):
        assert name in texts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"worlds": ("casino",)}, "unknown worlds: casino; choose from shopping, travel, support"),
        ({"worlds": ()}, "worlds must be a collection of names"),
        ({"worlds": "shopping"}, "worlds must be a collection of names"),
        ({"confound": ("weather",)}, "unknown confound: weather"),
        ({"agents": ("nobody",)}, r"unknown agents \['nobody'\]: choose from careful"),
        ({"release": "last"}, "unknown release: last"),
        ({"start": datetime(2026, 1, 5)}, "start needs a zone"),  # noqa: DTZ001
        ({"episodes": -1}, "must not be negative"),
    ],
)
def test_a_wrong_option_is_refused_at_once(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"seed": 7, "episodes": 1, "start": START} | options
    with pytest.raises(ValueError, match=message):
        generate(**arguments)


def _calls(data: dict[str, Any], name: str) -> bool:
    return any(step.get("name") == name for step in data["steps"])
