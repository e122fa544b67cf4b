"""Putting an invented world together: its tasks, scripts, harmless calls, and the truth about its habits."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.engine.desk import Desk
from worlds.engine.habits import Aside, Choice, PlantedHabit, environment
from worlds.engine.mind import Mind
from worlds.engine.state import State
from worlds.engine.tool import Tool, find, hand_off, tools
from worlds.engine.wording import Voice
from worlds.engine.world import Facts, Kind, Script, Spec, World
from worlds.invented.moments import Moment
from worlds.invented.tasks import BLOCKED, Builder, Wording
from worlds.invented.words import ASIDE_NAMES, ERRANDS, REASONS

Namer = Callable[[str], str]
MOST_KEYS = 7


@dataclass(frozen=True, slots=True)
class Part:
    """A moment and what was drawn about its habit: how often it bites, how often agents fall into it, and whether the
    next release forgives it."""

    kind: str
    moment: Moment
    harm: float
    frequency: float
    forgiven: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """What all parts of a world share. ``record`` is the argument that names a record in every tool."""

    name: str
    component: str
    releases: tuple[str, str]
    namer: Namer
    record: str
    wording: Wording


def put_together(rng: random.Random, frame: Frame, parts: Sequence[Part], aspects: list[str]) -> World:
    """The world of these parts; takes names for its harmless calls from ``aspects``."""
    by_kind = _dealt(rng, parts)
    specs = _specs(rng, frame, by_kind)
    base = _base_tools(frame, frame.record)
    asides = _asides(rng, frame, frame.record, aspects)
    kinds = {name: _kind(rng, frame, name, own) for name, own in by_kind.items()}
    every = [*base.values(), *(tool for part in parts for tool in part.moment.tools), *asides.values()]
    rng.shuffle(every)
    return World(
        name=frame.name,
        component=frame.component,
        releases=frame.releases,
        voice=Voice((f"Hello {frame.wording.firm}.",), f"您好，{frame.wording.firm}！"),
        tools=tools(*every),
        specs=specs,
        kinds=kinds,
        habits=tuple(_habit(frame, part, by_kind, specs) for part in parts if part.kind != "plain"),
        asides=tuple(asides),
        user_tools=frozenset(tool.name for aside, tool in asides.items() if aside.by_user),
        slip_rates={
            "easy": rng.uniform(0.01, 0.05), "medium": rng.uniform(0.05, 0.25), "hard": rng.uniform(0.6, 0.9),
        },
    )  # fmt: skip


def _dealt(rng: random.Random, parts: Sequence[Part]) -> dict[str, list[Part]]:
    """Moments by kind of task: each in one kind or in two, and at most two habits in a kind."""
    errands = rng.sample(ERRANDS, max(3, (len(parts) + 1) // 2 + 1))
    dealt: dict[str, list[Part]] = {errand.slug: [] for errand in errands}
    for part in parts:
        open_kinds = sorted((slug for slug, own in dealt.items() if len(own) < 2), key=lambda slug: len(dealt[slug]))
        for slug in open_kinds[: 2 if rng.random() < 0.3 else 1]:
            dealt[slug].append(part)
    plain = parts[-1]
    return {slug: own or [plain] for slug, own in dealt.items()}


def _specs(rng: random.Random, frame: Frame, by_kind: Mapping[str, Sequence[Part]]) -> tuple[Spec, ...]:
    """Four to seven task keys a kind; in some, one habit is the right thing to do."""
    specs = []
    reasons = list(REASONS)
    rng.shuffle(reasons)
    for slug, own in by_kind.items():
        count = rng.randint(4, min(MOST_KEYS, len(REASONS) // len(by_kind)))
        reversible = [part.moment.id for part in own if part.moment.reversible]
        special = rng.randrange(count) if count >= 5 and reversible and rng.random() < 0.5 else -1
        for at in range(count):
            reverse = frozenset({rng.choice(reversible)}) if at == special else frozenset()
            difficulty = "medium" if reverse else rng.choices(("easy", "medium", "hard"), (5, 4, 3))[0]
            details = {"reason": reasons.pop(), "reverse": reverse, "frames": rng.randint(2, 5)}
            specs.append(Spec(f"{frame.wording.subject.slug}/{slug}-{at + 1}", slug, difficulty, details, ()))
    return tuple(specs)


def _kind(rng: random.Random, frame: Frame, slug: str, own: Sequence[Part]) -> Kind:
    errand = next(errand for errand in ERRANDS if errand.slug == slug)
    moments = [part.moment for part in own]
    harms = {part.moment.id: part.harm for part in own}
    builder = Builder(frame.name, frame.wording, errand, moments, harms)
    pages = rng.choice((0, 0, 0, 1, 3, 12))
    return Kind(builder, _script(rng, frame, moments, pages), builder.check)


def _script(rng: random.Random, frame: Frame, moments: Sequence[Moment], pages: int) -> Script:
    """Find the record, read on (``pages`` at most), do each part of the work; look around somewhere in between."""
    slug, party, name = frame.wording.subject.slug, frame.wording.subject.party, frame.namer
    record = frame.record
    plans, finds, opens, early = (rng.random() < share for share in (0.6, 0.85, 0.75, 0.5))

    def script(desk: Desk, mind: Mind, facts: Facts) -> None:
        if plans:
            desk.plan(f"Find the {party}, open the {slug}, do what was asked for.")
        if finds:
            desk.call(name(f"find_{party}"), email=facts["email"])
        chosen = mind.slip(facts["record"], facts["other_record"])
        if opens:
            desk.call(name(f"get_{slug}"), **{record: chosen})
        for page in range(facts["taste"] * pages // 5):
            desk.call(name("read_file_page"), **{record: chosen, "page": page + 1})
        for at, moment in enumerate(moments):
            if at == (0 if early else len(moments) - 1):
                mind.look_around(facts)
            moment.act(desk, mind, facts, chosen)

    return script


def _base_tools(frame: Frame, record: str) -> dict[str, Tool]:
    subject, name = frame.wording.subject, frame.namer

    def find_party(state: State, release: str, *, email: str) -> dict[str, Any]:
        del release
        rows = [key for key, row in state["records"].items() if row["owner"] == email]
        return {"name": find(state, "parties", "P1", subject.party)["name"], f"{subject.slug}s": sorted(rows)}

    def get_record(state: State, release: str, **given: Any) -> dict[str, Any]:
        del release
        row = find(state, "records", given[record], subject.noun[0])
        return {record: given[record], **{key: row[key] for key in ("owner", "status", "since")}}

    def read_page(state: State, release: str, **given: Any) -> dict[str, Any]:
        del release
        find(state, "records", given[record], subject.noun[0])
        return {"page": given["page"], "text": f"Entry {given['page']}: nothing that changes the matter."}

    return tools(
        Tool(name(f"find_{subject.party}"), find_party),
        Tool(name(f"get_{subject.slug}"), get_record),
        Tool(name("read_file_page"), read_page),
        Tool(name("transfer_to_human"), hand_off, writes=True),
    )


def _asides(rng: random.Random, frame: Frame, record: str, aspects: list[str]) -> dict[Aside, Tool]:
    """Three to five harmless calls with their tools; one of them hands over to a person, as real agents like to."""
    made: dict[Aside, Tool] = {}
    for at, (pattern, writes) in enumerate(rng.sample(ASIDE_NAMES, rng.randint(3, 5))):
        call = frame.namer(pattern.format(n=aspects.pop()))
        when = ("hard", "agent", "noise")[at] if at < 3 else rng.choice(("hard", "agent", "noise"))
        aside = Aside(
            call, lambda facts: {record: facts["record"]}, when, last=rng.random() < 0.3, by_user=rng.random() < 0.1
        )
        made[aside] = Tool(call, _harmless, writes=writes)
    hand_over = Aside(
        frame.namer("transfer_to_human"), lambda facts: {"reason": f"Follow up with {facts['name']}"}, "hard", last=True
    )
    if rng.random() < 0.7:
        made[hand_over] = Tool(hand_over.call, hand_off, writes=True)
    return made


def _harmless(state: State, release: str, **given: Any) -> dict[str, Any]:
    del state, release
    return {"ok": True, "items": len(given)}


def _habit(frame: Frame, part: Part, by_kind: Mapping[str, Sequence[Part]], specs: Sequence[Spec]) -> PlantedHabit:
    moment = part.moment
    old, new = (environment(frame.component, release) for release in frame.releases)
    forgiving = ({**new, "direction": "do"}, {**old, "direction": "avoid"}) if part.forgiven else ()
    choice, releases = moment.choice, frame.releases[:1] if part.forgiven else frame.releases
    if part.kind == "environment":
        choice, releases = Choice(moment.id, taken=(new,), untaken=(old,)), frame.releases[1:]
    keys = [spec.key for spec in specs if part in by_kind[spec.kind]]
    exceptions = tuple(spec.key for spec in specs if moment.id in spec.details["reverse"])
    return PlantedHabit(
        world=frame.name,
        choice=choice,
        why=moment.why,
        applies_to=tuple(key for key in keys if key not in exceptions),
        exceptions=exceptions,
        harm=part.harm * (BLOCKED if part.kind == "recovery" else 1.0),
        releases=releases,
        frequency=part.frequency,
        telltales=() if moment.side is None else (moment.side,),
        echoes=forgiving,
    )
