from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from tasks.cluster.independence import Record, group_ids, likeness, sketch, trace_text
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


def test_likeness_does_not_run_on_along_a_chain() -> None:
    """Each is like the one before; the last has little in common with the first."""
    words = [f"w{i}" for i in range(400)]
    chain = [record(f"r{n}", " ".join([f"n{n}x{k}" for k in range(8 * n)] + words[8 * n :])) for n in range(12)]
    found = groups(*chain)
    assert found[0] == found[1]
    assert found[0] != found[-1]


def test_what_a_token_claims_of_others_records_never_makes_two_of_them_one() -> None:
    theirs = [record(f"op{n}", f"{n} " * 40, session=f"s{n}") for n in range(6)]
    claims = [record(f"evil{n}", f"x{n} " * 40, session="evil", retry_of=f"op{n}", owner="token") for n in range(6)]
    bridge = record("evil-bridge", "y z " * 40, session="s1", retry_of="op2", owner="token")
    assert len(set(groups(*theirs, *claims, bridge)[:6])) == 6


def test_a_token_that_repeats_anothers_run_counts_as_that_run_again() -> None:
    one, two, three = groups(
        record("op", session="s1"), record("copy", session="evil", task="other", owner="token"),
        record("claim", OTHER, session="s1", owner="token"),
    )  # fmt: skip
    assert one == two == three


def test_a_tokens_own_session_is_one_group_whatever_it_claims_of_others() -> None:
    mine = [record(f"e{n}", f"{n} " * 40, session="evil", owner="token") for n in range(5)]
    leaf = record("e9", "leaf " * 40, session="evil", retry_of="op", owner="token")
    found = groups(record("op", session="s1"), leaf, *mine)
    assert found[0] == found[1]
    assert len(set(found[2:])) == 1
    assert found[2] != found[0]


RECORDS = st.lists(
    st.tuples(st.sampled_from([None, "a", "b"]), st.sampled_from(["s1", "s2", "s3", None]), st.integers(0, 6)),
    min_size=1, max_size=14,
)  # fmt: skip


@given(RECORDS)
def test_capped_records_never_change_how_others_are_grouped(rows: list[tuple[str | None, str | None, int]]) -> None:
    every = [
        record(f"r{n}", f"{n} {n + 1} " * 30, session=session, retry_of=f"r{back}", owner=owner)
        for n, (owner, session, back) in enumerate(rows)
    ]
    operators = [each for each in every if each.owner is None]
    with_all, alone = group_ids(every), group_ids(operators)
    ids = [each.episode_id for each in operators]
    assert [[with_all[x] == with_all[y] for y in ids] for x in ids] == [
        [alone[x] == alone[y] for y in ids] for x in ids
    ]


@given(RECORDS, st.integers(1, 13))
def test_groups_that_were_settled_before_a_night_stay(rows: list[tuple[str | None, str | None, int]], cut: int) -> None:
    every = [
        record(f"r{n}", f"{n} {n + 1} " * 30, session=session, retry_of=f"r{back}", owner=owner)
        for n, (owner, session, back) in enumerate(rows)
    ]
    before = group_ids(every[:cut])
    known = [replace(each, group=before[each.episode_id]) for each in every[:cut]]
    after = group_ids([*known, *every[cut:]])
    same = [(x, y) for x in before for y in before if before[x] == before[y]]
    assert all(after[x] == after[y] for x, y in same)
