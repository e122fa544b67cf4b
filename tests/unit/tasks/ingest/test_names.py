import pytest

from tasks.ingest.namespace import BadNamespace, check_namespace
from tasks.ingest.task_key import derive_task_key


@pytest.mark.parametrize("path", ["tau", "acme/support", "a-b_c.1/x"])
def test_whole_words_make_a_namespace(path: str) -> None:
    assert check_namespace(path) == path


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "Acme", "a b", "a/../b", ".", "a\n", "é", "x" * 300])
def test_anything_else_is_refused_in_words(path: str) -> None:
    with pytest.raises(BadNamespace, match="is not a namespace"):
        check_namespace(path)


def test_the_same_task_in_other_case_and_spacing_is_one_stratum() -> None:
    key = derive_task_key(b"k", "a", "Cancel  my\nflight")
    assert key == derive_task_key(b"k", "a", "cancel my FLIGHT ")
    assert key.startswith("derived/")


def test_another_word_or_number_or_namespace_is_another_stratum() -> None:
    keys = {derive_task_key(b"k", *args) for args in (("a", "pay 1"), ("a", "pay 2"), ("b", "pay 1"))}
    assert len(keys) == 3
