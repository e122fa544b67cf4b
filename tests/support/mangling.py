"""Spoiling JSON in a reproducible way: the same choices give the same damage."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

Choose = Callable[[int], int]
"""A number from 0 up to, and without, its argument."""

ODD: list[Any] = [
    None, True, False, 0, -1, 3.5, 1e308, 2**63, -(2**40), "NaN",
    "", "\x00", "\ud800", ["\ud800"], "x", " ", "\u202eabc", "é" * 300, "{", '{"a": 1}', "[" * 50, "2026-13-45",
    "not a time",     [], {}, [[]], [None], [1, "a", {}], {"": None}, {"a": {"b": {"c": []}}},
    {"type": "text"}, {"role": "user"}, {"text": 5}, [{"type": "text", "text": None}], {"content": [1]},
]  # fmt: skip
"""Values that stand where something else belongs."""


def mangle(value: Any, choose: Choose, times: int = 1) -> Any:
    """A copy with ``times`` places overwritten, dropped, doubled or renamed."""
    spoilt = deepcopy(value)
    for _ in range(times):
        spoilt = _spoil(spoilt, choose)
    return spoilt


def _spoil(value: Any, choose: Choose) -> Any:
    places = list(_places(value))
    if not places or choose(20) == 0:
        return deepcopy(ODD[choose(len(ODD))])
    parent, key = places[choose(len(places))]
    act = choose(6)
    if act == 0:
        del parent[key]
    elif act == 1 and isinstance(parent, list):
        parent.insert(key, deepcopy(parent[key]))
    elif act == 2 and isinstance(parent, dict):
        parent[f"{key}\x00\ud800"[: 1 + choose(8)]] = parent.pop(key)
    elif act == 3 and isinstance(parent[key], str):
        cut = choose(len(parent[key]) + 1)
        parent[key] = parent[key][cut:] + parent[key][:cut]
    else:
        parent[key] = deepcopy(ODD[choose(len(ODD))])
    return value


def _places(value: Any) -> Any:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(children):
        yield value, key
        yield from _places(child)
