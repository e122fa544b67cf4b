"""Which files are due: given what was found, what is remembered, and the time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.ingest.follow_plan import Known, Plan, Sighting, Stamp, is_unfinished_name, plan, retry_after

NOW = 1_000_000.0
SETTLE = 30.0


def stamp(age: float = 3600.0, size: int = 10, inode: int = 1) -> Stamp:
    """A stamp whose file was last written ``age`` seconds before NOW."""
    return Stamp(size, int((NOW - age) * 1e9), inode)


def planned(found: dict[str, Stamp], *, seen=None, known=None, generation: str = "g1", now: float = NOW) -> Plan:
    return plan(found, seen or {}, known or {}, generation=generation, now=now, settle=SETTLE)


def read(of: Stamp, generation: str = "g1") -> Known:
    return Known(of, generation)


def failed(of: Stamp, attempts: int, ago: float) -> Known:
    return Known(of, "g1", failed=True, attempts=attempts, at=NOW - ago)


def test_an_old_new_file_is_due_at_once() -> None:
    assert planned({"/a": stamp()}).due == ("/a",)


def test_a_file_written_a_moment_ago_is_waited_for_exactly_as_long_as_it_needs() -> None:
    result = planned({"/a": stamp(age=10)})
    assert (result.due, result.growing, result.wait) == ((), ("/a",), SETTLE - 10)


def test_a_file_that_stayed_as_it_was_by_our_clock_is_finished_whatever_its_own_says() -> None:
    ahead = stamp(age=-7200)
    first = planned({"/a": ahead})
    assert first.growing == ("/a",)
    assert planned({"/a": ahead}, seen=first.sightings, now=NOW + SETTLE).due == ("/a",)


def test_a_change_starts_the_wait_anew() -> None:
    seen = {"/a": Sighting(stamp(age=5), NOW - 100)}
    grown = stamp(age=1, size=20)
    result = planned({"/a": grown}, seen=seen)
    assert (result.growing, result.sightings["/a"]) == (("/a",), Sighting(grown, NOW))


def test_what_was_read_is_not_due_again() -> None:
    assert planned({"/a": stamp()}, known={"/a": read(stamp())}).due == ()


@pytest.mark.parametrize("changed", [stamp(size=11), stamp(age=3599), stamp(inode=2)])
def test_another_size_time_or_inode_is_another_content(changed: Stamp) -> None:
    assert planned({"/a": changed}, known={"/a": read(stamp())}).due == ("/a",)


def test_new_importers_read_everything_again() -> None:
    assert planned({"/a": stamp()}, known={"/a": read(stamp())}, generation="g2").due == ("/a",)


def test_a_failed_file_is_held_back_until_its_time_comes() -> None:
    held = planned({"/a": stamp()}, known={"/a": failed(stamp(), attempts=3, ago=1)})
    assert (held.due, held.held_back, held.wait) == ((), ("/a",), retry_after(3) - 1)
    assert planned({"/a": stamp()}, known={"/a": failed(stamp(), attempts=3, ago=retry_after(3))}).due == ("/a",)


def test_a_failed_file_that_changed_is_not_held_back() -> None:
    assert planned({"/a": stamp(size=11)}, known={"/a": failed(stamp(), attempts=9, ago=0)}).due == ("/a",)


def test_a_clock_that_was_set_back_holds_nothing_back_for_ever() -> None:
    later = {"/a": Sighting(stamp(age=1), NOW + 9999)}
    assert planned({"/a": stamp(age=1)}, seen=later).sightings["/a"].since == NOW
    assert planned({"/a": stamp()}, known={"/a": failed(stamp(), attempts=9, ago=-9999)}).due == ("/a",)


def test_the_wait_is_that_of_the_next_file_to_be_due() -> None:
    found = {"/a": stamp(age=10), "/b": stamp(age=25), "/c": stamp()}
    result = planned(found, known={"/c": failed(stamp(), attempts=2, ago=2)})
    assert result.wait == 5
    assert planned({}).wait is None


def test_the_pause_doubles_and_has_a_limit() -> None:
    pauses = [retry_after(attempts) for attempts in (0, 1, 2, 3, 9, 10**6)]
    assert pauses == [5, 5, 10, 20, 600, 600]


def test_a_file_that_is_gone_is_not_remembered_as_seen() -> None:
    assert planned({"/a": stamp()}, seen={"/b": Sighting(stamp(), NOW)}).sightings.keys() == {"/a"}


@pytest.mark.parametrize("name", [".hidden", "a.jsonl.part", "A.TMP", "b.crdownload", "c~", ".a.jsonl.Xy12"])
def test_names_of_what_is_being_written(name: str) -> None:
    assert is_unfinished_name(name)


@pytest.mark.parametrize("name", ["a.jsonl", "part.json", "tmp", "a.jsonl.gz"])
def test_names_of_what_is_finished(name: str) -> None:
    assert not is_unfinished_name(name)


stamps = st.builds(Stamp, st.integers(0, 3), st.integers(int((NOW - 60) * 1e9), int((NOW + 60) * 1e9)), st.just(1))
files = st.dictionaries(st.sampled_from("abcdef"), stamps)
knowns = st.builds(
    Known, stamps, st.sampled_from(["g1", "g0"]), st.booleans(), st.integers(0, 9), st.floats(NOW - 99, NOW + 99)
)


@given(files, st.dictionaries(st.sampled_from("abcdef"), knowns))
def test_every_file_is_due_growing_held_back_or_known_and_only_one_of_them(found, known) -> None:
    result = planned(found, known=known)
    sorted_out = [*result.due, *result.growing, *result.held_back]
    assert len(sorted_out) == len(set(sorted_out))
    assert set(sorted_out) <= found.keys()
    for path in found.keys() - set(sorted_out):
        assert known[path] == Known(found[path], "g1", False, known[path].attempts, known[path].at)
    assert result.wait is None or result.wait > 0
