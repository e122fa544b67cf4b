"""Which importers there are, and which one a source is for.

A module of this package that defines ``IMPORTER`` is a format: adding one is adding a file. Others ship theirs
under the entry-point group ``slowwave.importers``: each entry point names an ``Importer`` object.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules

from tasks.ingest import importers as package
from tasks.ingest.importers.base import Importer, Joining
from tasks.ingest.source import Sample, Source

log = logging.getLogger(__name__)

GROUP = "slowwave.importers"
AUTO = "auto"
ENOUGH = 0.3
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "a zip archive",
    b"%PDF": "a PDF",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\xfd7zXZ": "xz",
}


class UnknownFormat(ValueError):
    """Asked for an importer that is not installed; the message lists those that are."""


class NotRecognised(ValueError):
    """No importer takes this source for its own; the message says what it looks like."""


@dataclass(frozen=True)
class _Registry:
    found: dict[str, Importer]
    unusable: dict[str, str]


def importers() -> dict[str, Importer]:
    """Every importer by name. A plug-in cannot take over a built-in's name."""
    return _registry().found


def unusable() -> dict[str, str]:
    """Plug-ins that are installed and cannot be used, each with the reason. One of them costs no other format."""
    return _registry().unusable


@lru_cache(maxsize=1)
def _registry() -> _Registry:
    made = _Registry({each.name: each for each in sorted(_built_in(), key=lambda each: each.name)}, {})
    for point in entry_points(group=GROUP):
        try:
            plugin = _loaded(point, made.found)
        except Exception as error:
            made.unusable[f"{point.name} ({point.value})"] = f"{type(error).__name__}: {error}"
        else:
            made.found[plugin.name] = plugin
    return made


def _loaded(point: EntryPoint, known: Mapping[str, Importer]) -> Importer:
    plugin = point.load()
    plugin = plugin() if isinstance(plugin, type) else plugin
    if not isinstance(plugin, Importer):
        raise TypeError("it is no importer: see docs/formats.md")
    if not isinstance(plugin.name, str) or plugin.name in (AUTO, *known):
        raise ValueError(f"the name {plugin.name!r} is taken")
    return plugin


def _built_in() -> Iterator[Importer]:
    for module in iter_modules(package.__path__):
        importer = getattr(import_module(f"{package.__name__}.{module.name}"), "IMPORTER", None)
        if importer is not None:
            yield importer


def part_of(source: Source, name: str = AUTO) -> str | None:
    """The file that reads this source as a part of its own episodes, or None; asks the importer of ``name``, or all."""
    asked = (each for each in importers().values() if name in (AUTO, each.name))
    owners = (_owner(each, source) for each in asked if isinstance(each, Joining))
    return next((owner for owner in owners if owner is not None), None)


def _owner(importer: Joining, source: Source) -> str | None:
    try:
        return importer.part_of(source)
    except Exception:
        log.exception("importer.failed importer=%s while=part_of", getattr(importer, "name", "?"))
        return None


def _confidence(importer: Importer, sample: Sample) -> float:
    """What the importer says; a plug-in that fails, or says no number, says that the source is not its own."""
    try:
        said = importer.sniff(sample)
    except Exception:
        log.exception("importer.failed importer=%s while=sniff", importer.name)
        return 0.0
    return float(said) if isinstance(said, int | float) else 0.0


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
    said = {each.name: _confidence(each, sample) for each in known.values()}
    best = max(known.values(), key=lambda each: said[each.name])
    if said[best.name] < ENOUGH:
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
        return _other_text(sample.head) or source.fault or "it is not JSON"
    first = sample.records[0] if sample.records else None
    if isinstance(first, list):
        first = first[0] if first else {}
        return f"a list of items with {_keys(first)}"
    return f"{'lines' if sample.shape == 'lines' else 'a document'} with {_keys(first)}"


def _other_text(head: str) -> str | None:
    """What the first bytes say that is no JSON in UTF-8; a byte that is not UTF-8 is a lone surrogate in ``head``."""
    begins = head[:200].encode("utf-8", "surrogateescape")
    if begins.startswith(_WIDE_MARKS) or b"{\x00" in begins or b"\x00{" in begins:
        return "it is text in UTF-16 or UTF-32: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"
    found = next((name for magic, name in _PACKED.items() if begins.startswith(magic)), None)
    return f"it is {found}: unpack it first" if found else None


def _keys(value: object) -> str:
    if not isinstance(value, dict):
        return f"{type(value).__name__} values, not objects"
    if not value:
        return "no fields"
    shown = ", ".join(repr(str(key)[:40]) for key in list(value)[:6])
    return f"the fields {shown}{' …' if len(value) > 6 else ''}"
