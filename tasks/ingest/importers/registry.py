"""Which importers there are, and which one a source is for.

A module of this package that defines ``IMPORTER`` is a format: adding one is adding a file. Others ship theirs
under the entry-point group ``slowwave.importers``: each entry point names an ``Importer`` object.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from tasks.ingest import importers as package
from tasks.ingest.importers.base import Importer, Joining
from tasks.ingest.source import Sample, Source

GROUP = "slowwave.importers"
AUTO = "auto"
ENOUGH = 0.3


class UnknownFormat(ValueError):
    """Asked for an importer that is not installed; the message lists those that are."""


class NotRecognised(ValueError):
    """No importer takes this source for its own; the message says what it looks like."""


@lru_cache(maxsize=1)
def importers() -> dict[str, Importer]:
    """Every importer by name: built-in ones first, so that a plug-in cannot take over a built-in's name.

    Raises:
        TypeError: if a plug-in is not an importer.
    """
    found: dict[str, Importer] = {each.name: each for each in sorted(_built_in(), key=lambda each: each.name)}
    for point in entry_points(group=GROUP):
        plugin = point.load()
        plugin = plugin() if isinstance(plugin, type) else plugin
        if not isinstance(plugin, Importer):
            raise TypeError(
                f"the entry point {point.name} ({point.value}) of {GROUP} is no importer: see docs/formats.md"
            )
        found.setdefault(plugin.name, plugin)
    return found


def _built_in() -> Iterator[Importer]:
    for module in iter_modules(package.__path__):
        importer = getattr(import_module(f"{package.__name__}.{module.name}"), "IMPORTER", None)
        if importer is not None:
            yield importer


def part_of(source: Source, name: str = AUTO) -> str | None:
    """The file that reads this source as a part of its own episodes, or None; asks the importer of ``name``, or all."""
    asked = (each for each in importers().values() if name in (AUTO, each.name))
    owners = (each.part_of(source) for each in asked if isinstance(each, Joining))
    return next((owner for owner in owners if owner is not None), None)


def choose(source: Source, name: str = AUTO) -> Importer:
    """The importer called ``name``, or the one most confident of the source's content.

    Raises:
        UnknownFormat: if there is none of that name.
        NotRecognised: if ``auto`` finds none.
    """
    known = importers()
    if name != AUTO:
        if name not in known:
            raise unknown_format(name)
        return known[name]
    sample = source.sample()
    best = max(known.values(), key=lambda each: each.sniff(sample))
    if best.sniff(sample) < ENOUGH:
        raise NotRecognised(f"no episode format recognised: {_looks_like(source, sample)}")
    return best


def unknown_format(name: str) -> UnknownFormat:
    """The error for a format that is not installed."""
    return UnknownFormat(f"no format called {name!r}; there are: {AUTO}, {', '.join(importers())}")


def _looks_like(source: Source, sample: Sample) -> str:
    if source.broken is not None:
        return source.broken.reason
    if sample.shape == "empty":
        return "the file is empty"
    if sample.shape == "text":
        return source.fault or "it is not JSON"
    first = sample.records[0] if sample.records else None
    if isinstance(first, list):
        first = first[0] if first else {}
        return f"a list of items with {_keys(first)}"
    return f"{'lines' if sample.shape == 'lines' else 'a document'} with {_keys(first)}"


def _keys(value: object) -> str:
    if not isinstance(value, dict):
        return f"{type(value).__name__} values, not objects"
    if not value:
        return "no fields"
    shown = ", ".join(repr(str(key)[:40]) for key in list(value)[:6])
    return f"the fields {shown}{' …' if len(value) > 6 else ''}"
