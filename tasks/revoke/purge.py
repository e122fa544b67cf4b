"""What a purge has to find and to black out, without a store: words that one episode alone has, and figures without it.

A text made from many episodes may hold a word of one of them. Such a word is told by asking everybody else: what no
other episode of the namespace says, and what is no everyday word, is the erased episode's own, and is blacked out
wherever it was said again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tasks.cluster.text import UNSPACED

KEY = "purge:"
"""How the key of the repair run begins that follows a purge."""
GONE = "[purged]"
WEAK = "a purge took the last run that it rested on"
BLACKED = "a purge blacked out words of it: read what is left"
OWN = "what it says was of a run that was purged"

_STRUCTURE = """
    action at author candidate_id direction drafter episode episode_id event family form groups id inputs kind mode
    namespace outcome predicate_id prompt_hash read recheck_at regime removes run rule shard stage stale stance
    standing state step step_ids steps tainted tier valid_from valid_to verdict version with
    """
STRUCTURE = frozenset(_STRUCTURE.split())
"""Keys under which no words stand, but names and times that our own code reads."""
_PLAIN = """
    act advice agent allowed answer argument asked avoid began break call called calling calls case cases change changed
    check choice claim compare component components confirmed correct decide decision does done end ended environment
    error errors evidence example exceptions failed fails failure failures family figures flagged given goes group
    groups held independent interval kind label last leaves length line lists look looked loop made make makes message
    model name names namespace need needed night nothing observed odds occasion offer order ordered outcome part parts
    place plan policy prefer present quotation quoted ratio read reads recall record recorded recovery repair repeat
    result results returned returns reviewer reviewers right row rule rules run runs said say says scope sentence
    session sessions settled short shown situation soon splits stands start stays step steps stop succeeded success
    successes support task tasks tell tells tested text times tool tools true turn unchanged unless use used user
    value values verify version way went word words work works
    """
PLAIN = ENGLISH_STOP_WORDS | frozenset(_PLAIN.split())
"""Everyday words, and those that our own sentences are made of: one says nothing about anybody."""

_RUN = re.compile(r"\w+")
_UNSPACED = re.compile(f"[{UNSPACED}]")


def words_of(value: Any) -> set[str]:
    """Every telling word in a JSON value, case levelled: of its keys too, but for those that are names of fields.

    Of scripts without spaces each pair of neighbouring letters is a word. Numbers of one or two digits tell nothing.
    """
    found: set[str] = set()
    for text in _texts(value):
        for run in _RUN.findall(text):
            found.update(word for word, _, _ in _words(run))
    return found


def derived_words(value: Any) -> set[str]:
    """The words of a derived value that could be blacked out: those outside of what is structure."""
    found: set[str] = set()
    for text in _prose(value):
        for run in _RUN.findall(text):
            found.update(word for word, _, _ in _words(run))
    return found


def letter_words(data: bytes) -> set[str]:
    """The words of a refused record, whatever it is: read as JSON where it is some, else as text."""
    text = data.decode("utf-8", "replace")
    try:
        return words_of(json.loads(text)) | words_of(text)
    except (ValueError, RecursionError):
        return words_of(text)


def blacked(value: Any, own: Collection[str]) -> Any:
    """The same JSON value with every one of these words replaced; what is structure stays as it is."""
    if isinstance(value, str):
        return _RUN.sub(lambda found: _black(found.group(), own), value)
    if isinstance(value, list | tuple):
        return [blacked(each, own) for each in value]
    if isinstance(value, Mapping):
        return {_key(key, own): each if key in STRUCTURE else blacked(each, own) for key, each in value.items()}
    return value


def without_example(content: Mapping[str, Any], episode_ids: Collection[str]) -> dict[str, Any]:
    """The text of an exemplar whose run was purged: where it pointed, and nothing of the run."""
    example = content.get("exemplar") or {}
    if example.get("episode_id") not in set(episode_ids):
        return dict(content)
    empty = {"episode_id": example["episode_id"], "task": GONE, "calls": [], "steps": 0}
    return {**content, "when_to_use": GONE, "exemplar": empty}


def counted_without(
    evidence: Mapping[str, Any], packet: Mapping[str, Any], lost: Collection[str], cited: Collection[str]
) -> dict[str, Any]:
    """The figures that agents are told of a version, without groups of which no run is left.

    A packet cites a sample: of a group that it does not cite it is not known here whether it was support, so it is
    taken from the number of groups alone, which the support cannot be above.

    Args:
        evidence: what is told now; asked again with more runs gone, it counts on from there.
        packet: the packet that was approved.
        lost: groups of its comparison that have no run any more.
        cited: those of them that it cites in its support.
    """
    before = set(evidence.get("purged_groups") or ())
    fresh = set(lost) - before
    listed = set(((packet.get("evidence") or {}).get("groups") or {}).get("support") or ()) or set(cited)
    groups = max(0, int(evidence.get("independent_groups") or 0) - len(fresh))
    support = int(evidence.get("support") or 0) - len(fresh & set(cited) & listed)
    figures = {"support": max(0, min(support, groups)), "independent_groups": groups}
    return {**evidence, **figures, "purged_groups": sorted(before | fresh)} if fresh else dict(evidence)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if not _is_code(key):
                yield str(key)
            yield from _texts(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _prose(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if not _is_code(key):
                yield str(key)
            if key not in STRUCTURE:
                yield from _prose(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _prose(each)


def _is_code(key: object) -> bool:
    """Whether a key is the name of a field: small letters alone."""
    return re.fullmatch("[a-z_]+", str(key)) is not None


def _key(key: Any, own: Collection[str]) -> Any:
    return key if _is_code(key) else blacked(str(key), own)


def _words(run: str) -> Iterable[tuple[str, int, int]]:
    """The words of an unbroken run of letters and digits, with their places in it."""
    if _UNSPACED.search(run):
        last = max(1, len(run) - 1)
        return [(run[at : at + 2].casefold(), at, at + 2) for at in range(last)]
    word = run.casefold()
    tells = len(word) > 2 if word.isdigit() else len(word) > 1
    return [(word, 0, len(run))] if tells and word not in PLAIN else []


def _black(run: str, own: Collection[str]) -> str:
    hit = [place for word, start, end in _words(run) if word in own for place in range(start, end)]
    if not hit:
        return run
    covered = set(hit)
    left = "".join("\x00" if place in covered else letter for place, letter in enumerate(run))
    return re.sub("\x00+", GONE, left)
