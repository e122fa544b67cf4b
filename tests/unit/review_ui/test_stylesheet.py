"""Every pair of text and ground that the stylesheet uses keeps WCAG AA contrast, in both schemes."""

from __future__ import annotations

import re
from itertools import product

import pytest

from review_ui.templating import STATIC

CSS = (STATIC / "slowwave.css").read_text()
PAIRS = [
    *product(("ink", "muted", "accent"), ("paper", "surface", "sunken")),
    ("accent-ink", "accent"), ("good", "good-soft"), ("warn", "warn-soft"), ("bad", "bad-soft"),
    ("accent", "accent-soft"), ("ink", "accent-soft"), ("ink", "good-soft"), ("ink", "warn-soft"), ("ink", "bad-soft"),
    ("good", "surface"), ("warn", "surface"), ("bad", "surface"), ("surface", "bad-fill"), ("muted", "accent-soft"),
]  # fmt: skip


def colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))


LIGHT, DARK = (colours(block) for block in re.findall(r":root \{(.*?)\}", CSS, re.DOTALL))


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("scheme", "pair"), list(product(("light", "dark"), PAIRS)), ids=str)
def test_text_keeps_its_contrast(scheme: str, pair: tuple[str, str]) -> None:
    named = LIGHT if scheme == "light" else LIGHT | DARK
    high, low = sorted((luminance(named[name]) for name in pair), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert "url(" not in CSS
    assert "@import" not in CSS
