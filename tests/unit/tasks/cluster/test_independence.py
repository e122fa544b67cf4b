from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from tasks.cluster.independence import Record, capped, group_ids, likeness, sketch, trace_text
from tasks.ingest.episode import Episode

WORDS = [f"word{i * 7 % 301}" for i in range(300)]
TRACE, NEARLY, OTHER = " ".join(WORDS), " ".join([*WORDS[:-4], "a", "b"]), " ".join(reversed(WORDS))
NINE, TEN = datetime(2026, 1, 1, 9, tzinfo=UTC), datetime(2026, 1, 1, 10, tzinfo=UTC)


def record(name: str, text: str = TRACE, **changes: object) -> Record:
    given = {"task": "t", "session": None, "started_at": None, "retry_of": None, "names": (name,)}
    return Record(name, sketch=sketch(text), **{**given, **changes})  # type: ignore[arg-type]


def groups(*records: Record) -> list[str]:
    found = group_ids(records)
    return [found[each.episode_id] for each in records]


def test_near_duplicate_records_are_one_group() -> None:
    one, two, three = groups(record("a"), record("b", NEARLY), record("c", OTHER))
    assert one == two != three


def test_forty_copies_are_one_group() -> None:
    assert len(set(groups(*(record(str(i)) for i in range(40))))) == 1


def test_repeated_trials_of_a_task_are_not_near_duplicates() -> None:
    assert len(set(groups(record("a", session="s1"), record("b", session="s2")))) == 2
    assert len(set(groups(record("a", session="s1", started_at=NINE), record("b", session="s2", started_at=TEN)))) == 2


def test_a_copy_under_a_new_session_that_began_at_the_same_moment_is_a_copy() -> None:
    one, two = groups(record("a", session="s1", started_at=NINE), record("b", session="s2", started_at=NINE))
    assert one == two


def test_one_session_and_a_chain_of_retries_are_one_group() -> None:
    chain = [record("a", session="s"), record("b", OTHER, session="s"), record("c", "x y z", retry_of="b")]
    assert len(set(groups(*chain))) == 1


def test_a_group_keeps_its_name_as_it_grows() -> None:
    assert groups(record("a"))[0] == groups(record("a"), record("b"))[0]


def test_short_traces_are_alike_only_when_equal() -> None:
    one, two, three = groups(record("a", "cancel it"), record("b", "cancel that"), record("c", "cancel it"))
    assert one == three != two


def test_likeness_is_close_to_the_jaccard_of_shingles() -> None:
    shingles = [{tuple(text.split()[i : i + 3]) for i in range(len(text.split()) - 2)} for text in (TRACE, NEARLY)]
    exact = len(shingles[0] & shingles[1]) / len(shingles[0] | shingles[1])
    assert abs(likeness(sketch(TRACE), sketch(NEARLY)) - exact) < 0.08


def test_the_system_text_is_not_part_of_a_trace() -> None:
    steps = [{"id": "1", "kind": "system", "text": "policy"}, {"id": "2", "kind": "user", "text": "hello"}]
    assert "policy" not in trace_text(Episode(task="t", steps=steps))


@given(st.lists(st.sampled_from(["p", "q", "r", None]), max_size=60))
def test_no_capped_principal_brings_more_than_a_third(owners: list[str | None]) -> None:
    names = [str(i) for i in range(len(owners))]
    kept = capped(names, owners, "salt")
    assert {name for name, owner in zip(names, owners, strict=True) if owner is None} <= kept
    for principal in ("p", "q", "r"):
        mine = sum(owner == principal for name, owner in zip(names, owners, strict=True) if name in kept)
        assert 3 * mine <= len(kept)
