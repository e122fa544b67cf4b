"""How well findings match what was planted, judged by their plain words alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from worlds.coding.errors import TROUBLES, Cure, Trouble


@dataclass(frozen=True)
class Found:
    """A finding: ``then`` makes ``command`` work again after it failed with ``error``."""

    command: str
    error: str
    then: str


@dataclass(frozen=True)
class Grade:
    """``right``: planted (trouble id, cure key) that were found. ``doubled``: found again in other words."""

    right: frozenset[tuple[str, str]]
    missed: frozenset[tuple[str, str]]
    false: tuple[Found, ...]
    doubled: tuple[Found, ...]

    @property
    def precision(self) -> float:
        """Of what was found, how much is planted; a second wording of one recovery counts as wrong."""
        total = len(self.right) + len(self.false) + len(self.doubled)
        return len(self.right) / total if total else 1.0

    @property
    def recall(self) -> float:
        """Of what was planted, how much was found."""
        total = len(self.right) + len(self.missed)
        return len(self.right) / total if total else 1.0


def grade(found: Iterable[Found]) -> Grade:
    """Match findings with the planted recoveries."""
    planted = {(one.id, cure.key) for one in TROUBLES for cure in one.cures}
    right: set[tuple[str, str]] = set()
    false: list[Found] = []
    doubled: list[Found] = []
    for finding in found:
        key = next((key for one in TROUBLES for cure in one.cures if (key := _matched(finding, one, cure))), None)
        if key is None:
            false.append(finding)
        elif key in right:
            doubled.append(finding)
        else:
            right.add(key)
    return Grade(frozenset(right), frozenset(planted - right), tuple(false), tuple(doubled))


def _matched(finding: Found, trouble: Trouble, cure: Cure) -> tuple[str, str] | None:
    says_it = finding.command == trouble.key and trouble.telltale in finding.error
    return (trouble.id, cure.key) if says_it and finding.then.removeprefix("sudo ").startswith(cure.key) else None
