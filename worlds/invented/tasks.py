"""Instances of invented tasks, and the one checker that all of them share."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.engine.state import State, unchanged
from worlds.engine.wording import Person, Voice, number
from worlds.engine.world import Spec, Task, Verdict, verdict
from worlds.invented.moments import Moment
from worlds.invented.words import EVERYBODY, FRAMES, GREETINGS, LANGUAGES, MONTHS, Errand, Said, Subject

BLOCKED = 0.75
"""How often the call that may be refused is refused."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How the customers of one world write. ``second`` is the share of texts in ``language``, 0 for none."""

    firm: str
    subject: Subject
    language: str
    second: float
    prefix: str
    greets: bool


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds instances of one kind of task: ``build`` of :class:`worlds.engine.world.Kind`.

    ``harms`` is, by moment, how often its habit bites.
    """

    world: str
    wording: Wording
    errand: Errand
    moments: Sequence[Moment]
    harms: Mapping[str, float]

    def __call__(self, spec: Spec, rng: random.Random, voice: Voice) -> Task:
        del voice  # These customers do not all open with a greeting, and some write in another language throughout.
        second = rng.random() < self.wording.second
        language = self.wording.language if second else "en"
        person = rng.choice([one for one in EVERYBODY if one.speaks == language])
        # The two records look alike: nothing about an id says that it is the wrong one.
        ids = [number(rng, self.wording.prefix, low, low + 44_999) for low in (10_000, 55_000)]
        rng.shuffle(ids)
        record, other = ids
        facts: dict[str, Any] = {
            "name": person.name, "email": person.email, "record": record, "other_record": other,
            "other": rng.choice([one.name for one in EVERYBODY if one.speaks == language and one != person]),
            "date": _date(rng, language), "reference": number(rng, "ref-"), "taste": rng.randrange(6),
            "options": (number(rng, "opt", 100, 499), number(rng, "opt", 500, 999)),
        }  # fmt: skip
        text = self._text(spec, rng, person, language, facts)
        state = self._state(spec, rng, facts)
        return Task(self.world, spec.key, spec.kind, spec.difficulty, text, facts, facts, state)

    def check(self, task: Task, final: State) -> Verdict:
        """Every part of the work is done and nothing is spoilt, on the record that was meant and on no other."""
        row = final["records"][task.goal["record"]]
        touched = not unchanged(task.state, final, "records", task.goal["other_record"])
        parts = [(not row.get(f"{each.id}.done"), f"{each.id}: not done") for each in self.moments]
        spoilt = [(bool(row.get(f"{each.id}.spoilt")), f"{each.id}: spoilt") for each in self.moments]
        return verdict((touched, "another record was changed"), *parts, *spoilt)

    def _text(self, spec: Spec, rng: random.Random, person: Person, language: str, facts: Mapping[str, Any]) -> str:
        at = LANGUAGES.index(language)
        reason: Said = spec.details["reason"]
        noun = self.wording.subject.noun[at]
        errand = self.errand.words[at].format(noun=noun, **facts)
        frames = FRAMES[language][: spec.details["frames"]]
        request = rng.choice(frames).format(errand=errand, reason=reason[at], record=facts["record"])
        greeting = rng.choice(GREETINGS[language]).format(
            firm=self.wording.firm, name=person.name, email=person.email, trade=self.wording.subject.trade[at]
        )
        request = request[0].upper() + request[1:]
        if not self.wording.greets:
            return request
        return f"{greeting} {request}" if language == "en" else greeting + request

    def _state(self, spec: Spec, rng: random.Random, facts: Mapping[str, Any]) -> State:
        owner = {"owner": facts["email"], "status": "active", "since": rng.randint(2011, 2024)}
        quirks = {}
        for moment in self.moments:
            bites, blocked = rng.random() < self.harms[moment.id], rng.random() < BLOCKED
            reverse = moment.id in spec.details["reverse"]
            quirks[moment.id] = {"bites": bites, "blocked": blocked, "reverse": reverse}
        return {
            "parties": {"P1": {"name": facts["name"], "email": facts["email"]}},
            "records": {facts["record"]: dict(owner), facts["other_record"]: dict(owner)},
            "quirks": quirks,
            "handoffs": {},
        }


def _date(rng: random.Random, language: str) -> str:
    month, day = rng.randint(1, len(MONTHS)), rng.randint(1, 28)
    if language != "en":
        return f"{month}月{day}日"
    return rng.choice((f"{day} {MONTHS[month - 1]}", f"2026-{month:02d}-{day:02d}", f"{MONTHS[month - 1]} {day}"))
