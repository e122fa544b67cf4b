"""Every refusal of a decision has a title and advice of its own, in the reader's language."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module

import pytest

import tasks
from review_ui.reader import LANGUAGES, Reader, answering
from review_ui.routes.answers import TOLD, told
from tasks.promote.errors import DecisionRefused

for found in pkgutil.walk_packages(tasks.__path__, "tasks."):
    if found.name.endswith(("errors", "step")):
        import_module(found.name)


def refusals(kind: type[DecisionRefused] = DecisionRefused) -> Iterator[type[DecisionRefused]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from refusals(narrower)


@pytest.mark.parametrize(
    "kind", sorted(set(refusals()), key=lambda kind: kind.__name__), ids=lambda kind: kind.__name__
)
def test_every_refusal_says_what_happened_and_what_to_do(kind: type[DecisionRefused]) -> None:
    assert kind in TOLD
    seen = set()
    for language in LANGUAGES:
        with answering(Reader(language=language)):
            title, now = told(kind("its own words"))
        assert title
        assert now
        seen |= {title, now}
    assert len(seen) == 2 * len(LANGUAGES), "each in its own language"


def test_a_narrower_refusal_is_told_as_the_kind_that_it_is_one_of() -> None:
    class Odd(DecisionRefused):
        """A refusal that nobody named."""

    assert told(Odd("x")) == TOLD[DecisionRefused]
