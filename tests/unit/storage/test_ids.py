"""Identities."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from storage.ids import canonical_json, content_hash, keyed_hash, token_hash, uuid7, uuid7_after

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def test_a_uuid7_is_one_by_the_standard() -> None:
    made = uuid.UUID(uuid7())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)


@given(st.integers(0, 2**60 - 2), st.binary(min_size=8, max_size=8), st.binary(min_size=8, max_size=8))
def test_later_ids_sort_after_earlier_ones_whatever_their_random_part(tick: int, first: bytes, second: bytes) -> None:
    assert uuid7(tick, first) < uuid7(tick + 1, second)


def test_ids_made_in_a_row_sort_in_that_order() -> None:
    made = [uuid7() for _ in range(5000)]
    assert made == sorted(made)


def test_ids_made_by_several_threads_at_once_differ() -> None:
    with ThreadPoolExecutor(4) as pool:
        made = [name for names in pool.map(lambda _: [uuid7() for _ in range(1000)], range(4)) for name in names]
    assert len(set(made)) == 4000


def test_an_id_sorts_after_the_one_before_it_though_the_clock_was_set_back() -> None:
    tomorrow = uuid7((time.time_ns() // 1_000_000 + 86_400_000) * 4096 + 4095)
    ids = [tomorrow]
    for _ in range(50):
        ids.append(uuid7_after(ids[-1]))
    assert ids == sorted(set(ids))
    assert all(uuid.UUID(made).version == 7 for made in ids)
    assert uuid7_after(None) < tomorrow
    assert uuid7_after("run-1") < tomorrow


def test_a_uuid7_carries_its_milliseconds() -> None:
    assert uuid.UUID(uuid7(1_764_471_600_000 * 4096 + 17)).int >> 80 == 1_764_471_600_000


def test_ids_of_the_same_tick_differ() -> None:
    assert len({uuid7(1) for _ in range(1000)}) == 1000


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_the_order_of_keys_does_not_change_a_hash(value: dict[str, object]) -> None:
    assert content_hash(dict(reversed(list(value.items())))) == content_hash(value)


@given(st.text())
def test_any_text_has_canonical_bytes_surrogates_included(text: str) -> None:
    assert canonical_json([text, "\ud800"]).isascii()


def test_a_hash_may_be_shortened() -> None:
    assert content_hash([1], 16) == content_hash([1])[:16]


def test_parts_are_kept_apart() -> None:
    assert keyed_hash(b"k", "ab", "c") != keyed_hash(b"k", "a", "bc")
    assert keyed_hash(b"k", "a", "") != keyed_hash(b"k", "a")


def test_equal_text_under_two_keys_gives_unrelated_digests() -> None:
    assert keyed_hash(b"k1", "text") != keyed_hash(b"k2", "text")


def test_a_token_is_stored_as_a_digest() -> None:
    assert token_hash("swk_secret") == token_hash("swk_secret")
    assert "secret" not in token_hash("swk_secret")
