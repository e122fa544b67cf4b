"""Facts that episodes state: who or what, which attribute, which value, and from when to when. Conservative on purpose.

Read from the structured arguments of a claim where there are some, and from plain sentences otherwise. A sentence that
asks, supposes or plans states nothing. What is not understood is left out: a missed fact costs a reviewer less than an
invented one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from tasks.conflict.times import ALWAYS, Interval, instant, split_tail
from tasks.ingest.episode import STATING

LONGEST_PART = 80
LONGEST_SENTENCE = 240
LONGEST_TEXT = 20_000
MOST_OF_STEP = 20
MOST_OF_EPISODE = 200

IS = "is"
_WORD = r"[^\s,.;:!?()\[\]{}\"“”]+"
_SUBJECT = rf"(?P<subject>(?:[Tt]he )?{_WORD}(?: {_WORD}){{0,3}}?)"
_MOVED = r"(?:moved|migrated|switched|changed|converted|upgraded|downgraded|transitioned|renamed)(?: over)?"
_REST = rf"(?P<value>{_WORD}(?:[ ,]+{_WORD}){{0,5}})"
_PREVIOUS = rf"(?P<previous>{_WORD}(?: {_WORD}){{0,4}}?)"
_VALUE = rf"(?P<value>{_WORD}(?: {_WORD}){{0,4}})"
_CHANGES = (
    re.compile(rf"^{_SUBJECT} (?:has |have |was |were |is |are |has been )?{_MOVED} from {_PREVIOUS} to {_VALUE}$"),
    re.compile(rf"^(?:[Ww]e|I|[Tt]hey)(?: have| has)? {_MOVED} {_SUBJECT} from {_PREVIOUS} to {_VALUE}$"),
    re.compile(rf"^{_SUBJECT} (?:has |have )?replaced {_PREVIOUS} (?:with|by) {_VALUE}$"),
)
_ENDED = re.compile(
    rf"^{_SUBJECT} (?:no longer (?P<relation>[a-z]+)|(?:has |have )?stopped (?P<doing>[a-z]+ing)) {_REST}$"
)
_DENIED = re.compile(rf"^{_SUBJECT} (?:does not|doesn't|do not|don't) (?P<relation>[a-z]+) {_REST}$")
_OF = re.compile(rf"^[Tt]he (?P<attribute>[^\W\d_][\w-]*(?: [\w-]+){{0,2}}) of {_SUBJECT} is {_REST}$")
_POSSESSIVE = re.compile(rf"^{_SUBJECT}['’]s (?P<attribute>[^\W\d_][\w-]*(?: [\w-]+){{0,2}}) is {_REST}$")
_COPULA = re.compile(rf"^{_SUBJECT} is (?P<denied>not )?{_REST}$")
_RELATION = re.compile(
    rf"^(?P<subject>(?:[Tt]he {_WORD}|[^\W\d_a-z]\S*)(?: [^\W\d_a-z]\S*){{0,2}}) "
    rf"(?P<relation>[a-z]+s)(?P<particle> on| in| to| for| with)? {_REST}$"
)
_SENTENCE_END = re.compile(r"(?<=[.!?;。！？；])\s*|\n+")
_SUPPOSES = re.compile(
    r"\b(?:if|unless|may|might|could|should|would|will|shall|can|must|maybe|perhaps|probably|possibly|likely|seems?|"
    r"plans?|want(?:s|ed)?|whether|suppose|assum\w+|think|believe|claims? that|said|says|was|were|used to|had)\b",
    re.IGNORECASE,
)
_SUPPOSES_CHANGE = re.compile(r"\b(?:was|were|had|has|have)\b", re.IGNORECASE)
_NO_SUBJECT = frozenset((
    "it", "this", "that", "these", "those", "there", "he", "she", "we", "i", "you", "they", "who", "which", "what",
    "here", "everything", "nothing", "something", "all", "both", "one", "each", "if", "when", "then", "so", "but",
    "and", "or", "also", "however", "yes", "no", "not",
))  # fmt: skip
_NO_RELATION = frozenset((
    "is", "was", "has", "does", "this", "its", "as", "his", "hers", "ours", "yours", "theirs", "thus", "always",
    "sometimes",
))  # fmt: skip
_MARKS = " .,;:!?\"'`“”‘’*_"
_ARTICLES = re.compile(r"^(?:the|an|a) ")


@dataclass(frozen=True)
class Statement:
    """One fact that one step states.

    ``attribute`` is empty where a change names only the values. ``previous`` is the value that a change ends; ``value``
    is empty where nothing took its place. ``single``: the attribute holds one value at a time. ``denied``: it is said
    not to be so.
    """

    subject: str
    attribute: str
    value: str
    said_at: datetime
    previous: str = ""
    denied: bool = False
    single: bool = False
    valid: Interval = ALWAYS
    episode_id: str = ""
    step_id: str = ""
    number: int = 0
    session: str = ""
    trust: str = ""

    @property
    def is_change(self) -> bool:
        """Whether it says that something ended."""
        return bool(self.previous)

    @property
    def ref(self) -> str:
        """Where it was said, as a conflict names its sides."""
        return f"episode:{self.episode_id}#{self.step_id}" + (f"/{self.number}" if self.number else "")

    @property
    def holds_from(self) -> datetime:
        """Since when it is so, as far as it says; else when it was said."""
        return self.valid.low or self.said_at


@lru_cache(maxsize=20_000)
def key_of(text: str) -> str:
    """A name or value as it is compared: case, width, articles and marks at the ends do not tell two apart."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_MARKS)
    return _ARTICLES.sub("", plain).strip(_MARKS)


def relation_key(word: str) -> str:
    """A verb as it is compared: ``uses``, ``use`` and ``using`` are one."""
    plain = key_of(word)
    for ending in ("ing", "es", "s", "e"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 2:
            return plain.removesuffix(ending)
    return plain


def statements_of(
    body: Mapping[str, Any], episode_id: str, recorded_at: datetime, session: str = ""
) -> list[Statement]:
    """The facts that an episode's claims and memory writes state, in order.

    What was copied in from an earlier run is that run's.

    Args:
        body: the episode as it is stored.
        recorded_at: when it ran, or came in; a step's own time goes first.
    """
    found: list[Statement] = []
    for step in body.get("steps") or ():
        if step.get("kind") not in STATING or step.get("is_copied_context") or step.get("deletes"):
            continue
        said_at = instant(step.get("at")) or recorded_at
        trust = str(step.get("trust") or body.get("trust") or "internal")
        stated = list(_of_step(step, said_at))[:MOST_OF_STEP]
        found += [
            replace(each, episode_id=episode_id, step_id=str(step["id"]), number=number, session=session, trust=trust)
            for number, each in enumerate(stated)
        ]
    return found[:MOST_OF_EPISODE]


def _of_step(step: Mapping[str, Any], said_at: datetime) -> Iterator[Statement]:
    arguments = step.get("arguments") or {}
    listed = arguments.get("statements") or arguments.get("facts")
    records = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else [arguments]
    replaces = bool(step.get("updates") or step.get("supersedes"))
    structured = [one for record in records if (one := structured_of(record, said_at, replaces=replaces))]
    yield from structured
    if not structured:
        texts = [step.get("text"), *(arguments.get(name) for name in ("text", "content", "fact", "memory", "claim"))]
        yield from sentences_of(next((text for text in texts if isinstance(text, str) and text.strip()), ""), said_at)


def structured_of(record: Mapping[str, Any], said_at: datetime, *, replaces: bool = False) -> Statement | None:
    """A fact given as fields; None where subject, attribute or value is missing.

    ``attribute`` names a property, which has one value at a time unless ``many`` is true; ``relation`` (or
    ``predicate``) names something that may hold of many, unless ``single`` is true. ``replaces``: the step says that
    it updates what was written before, so one value takes the place of another.
    """
    subject, value = _part(record, "subject", "entity"), _part(record, "value", "object")
    is_property = "attribute" in record or "property" in record
    attribute = _part(record, "attribute", "property") if is_property else _part(record, "relation", "predicate")
    if not (subject and attribute and value):
        return None
    single = record.get("single", is_property and not record.get("many"))
    valid = Interval(
        instant(record.get("valid_from")), instant(record.get("valid_to")) or instant(record.get("valid_until"))
    )
    return Statement(
        subject, attribute if is_property else relation_key(attribute), value, said_at,
        previous=_part(record, "previous"), denied=bool(record.get("negated") or record.get("denied")),
        single=bool(single) or replaces, valid=valid,
    )  # fmt: skip


def _part(record: Mapping[str, Any], *names: str) -> str:
    for name in names:
        value = record.get(name)
        if isinstance(value, str | int | float) and 0 < len(text := str(value).strip()) <= LONGEST_PART:
            return text
    return ""


def sentences_of(text: str, said_at: datetime) -> Iterator[Statement]:
    """The facts that plain sentences state."""
    for piece in _SENTENCE_END.split(text[:LONGEST_TEXT]):
        sentence = " ".join(piece.split()).lstrip("-*• ")
        if 0 < len(sentence) <= LONGEST_SENTENCE and not sentence.endswith(("?", "？")):
            found = sentence_of(sentence.rstrip(".!;。！；"), said_at)
            if found is not None and len(key_of(found.subject)) > 0:
                yield found


def sentence_of(sentence: str, said_at: datetime) -> Statement | None:
    """What one sentence states; None where it states nothing that is understood."""
    head, valid = split_tail(sentence, said_at)
    found = _change(head, said_at) or (None if _SUPPOSES.search(head) else _plain(head, said_at))
    if found is None or key_of(found.subject).split(" ", 1)[0] in _NO_SUBJECT:
        return None
    if max(map(len, (found.subject, found.attribute, found.value, found.previous))) > LONGEST_PART:
        return None
    # A change in March is so from March on.
    return replace(found, valid=Interval(valid.low, None) if found.is_change else valid)


def _change(head: str, said_at: datetime) -> Statement | None:
    if _SUPPOSES.search(_SUPPOSES_CHANGE.sub("", head)):
        return None
    for pattern in _CHANGES:
        if found := pattern.match(head):
            subject, attribute = _owner(found["subject"])
            return Statement(subject, attribute, found["value"], said_at, previous=found["previous"])
    if found := _ENDED.match(head):
        relation = relation_key(found["relation"] or found["doing"])
        return Statement(found["subject"], relation, "", said_at, previous=found["value"])
    return None


def _owner(subject: str) -> tuple[str, str]:
    """(owner, attribute) of "Orchid's database"; (subject, nothing) of anything else."""
    found = re.match(r"^(.+)['’]s (.+)$", subject)
    return (found[1], found[2]) if found else (subject, "")


def _plain(head: str, said_at: datetime) -> Statement | None:
    if found := _DENIED.match(head):
        return Statement(found["subject"], relation_key(found["relation"]), found["value"], said_at, denied=True)
    if found := _OF.match(head) or _POSSESSIVE.match(head):
        return Statement(found["subject"], key_of(found["attribute"]), found["value"], said_at, single=True)
    if found := _COPULA.match(head):
        return Statement(found["subject"], IS, found["value"], said_at, denied=bool(found["denied"]))
    if (found := _RELATION.match(head)) and found["relation"] not in _NO_RELATION:
        relation = relation_key(found["relation"]) + (found["particle"] or "")
        return Statement(found["subject"], relation, found["value"], said_at)
    return None
