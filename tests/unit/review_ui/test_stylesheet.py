"""Every pair of text and ground that the stylesheet uses keeps WCAG AA contrast, in both schemes."""

from __future__ import annotations

import re
from itertools import product

import pytest

from review_ui.templating import STATIC

CSS = "\n".join((STATIC / name).read_text() for name in ("slowwave.css", "pages.css"))
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


UNSTYLED = {"decisions", "difference", "flow", "legend", "queue", "trust"}
"""Classes of the templates that no stylesheet names, on purpose: they name a part for whoever reads the source."""
MADE = re.compile(r'class="([^"]*)"')
TEMPLATES = STATIC.parent / "templates"
SOURCES = {path.name: path.read_text() for path in TEMPLATES.glob("*.html")}
PYTHON = "\n".join(path.read_text() for path in STATIC.parent.rglob("*.py"))
SCRIPT = (STATIC / "slowwave.js").read_text()


def selected() -> set[str]:
    """The classes that the stylesheet names."""
    rules = re.sub(r"/\*.*?\*/|\{[^{}]*\}", " ", CSS, flags=re.DOTALL)
    return set(re.findall(r"\.([a-z][\w-]*)", rules))


def worn() -> tuple[set[str], set[str]]:
    """Classes in templates: those written out, and the beginnings of those that are put together."""
    whole: set[str] = set()
    starts: set[str] = set()
    for text in [*SOURCES.values(), PYTHON]:
        for value in MADE.findall(re.sub(r"\{%.*?%\}", " ", text)):
            for name in re.sub(r"\{\{.*?\}\}", "\0", value).split():
                if "\0" in name:
                    starts.add(name.partition("\0")[0])
                else:
                    whole.add(name)
    return whole, starts - {""}


def test_every_class_of_the_stylesheet_is_used_by_a_template_or_script() -> None:
    whole, starts = worn()
    spoken = {
        name for text in [*SOURCES.values(), PYTHON, SCRIPT] for name in re.findall(r"[\"' .]([a-z][\w-]*)", text)
    }
    built = {start for text in [*SOURCES.values(), PYTHON] for start in re.findall(r"[\"'] ?([a-z]+-)[\"{]", text)}
    found = {
        name
        for name in selected() - whole
        if name not in spoken and not any(name.startswith(start) for start in starts | built)
    }
    assert found == set()


def test_every_class_of_a_template_is_in_the_stylesheet_or_listed() -> None:
    whole, _ = worn()
    assert whole - selected() - UNSTYLED == set()
    assert UNSTYLED & selected() == set(), "listed as unstyled, and styled"
