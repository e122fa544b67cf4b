"""Inventing a world: what it is about, which habits are planted in it, who works there, what its logs look like.

Everything is drawn from one seed. What is true of the world is declared as :class:`PlantedHabit`, as in the hand-made
ones.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from worlds.engine.policies import Policy
from worlds.engine.world import World
from worlds.invented.makers import make
from worlds.invented.moments import Place
from worlds.invented.tasks import Wording
from worlds.invented.words import AGENT_NAMES, ASPECTS, SUBJECTS, SYLLABLES, Subject
from worlds.invented.world import Frame, Namer, Part, put_together

HABIT_KINDS = (
    "call-present", "forgotten", "missing-check", "order", "loop", "argument", "absent", "recovery", "environment",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manners:
    """What the logs of a world look like, whatever happens in it. Shares of episodes, from 0 to 1.

    ``offers_tools`` and ``names_environment`` are shares of the agents: what a client records it records always.
    """

    offers_tools: float
    names_environment: float
    same_session: float
    unknown: float
    self_reported: float
    copies: float
    retries: float
    outcome_source: str
    rewards: bool
    user_talks: float
    other_components: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Invented:
    """A world, the agents that work in it, and its logs' manners."""

    seed: int
    world: World
    crew: tuple[Policy, ...]
    manners: Manners


def invent(seed: int) -> Invented:
    """The world of this seed; the same on every machine."""
    rng = random.Random(f"invented/{seed}")
    subject = rng.choice(SUBJECTS)
    component = f"{subject.slug}-{rng.choice(('api', 'core', 'hub', 'desk'))}"
    major = rng.randint(1, 12)
    releases = (f"{major}.{rng.randint(0, 9)}", f"{major + 1}.0")
    namer = _namer(rng, subject)
    aspects = list(ASPECTS)
    rng.shuffle(aspects)
    record = rng.choice((f"{subject.slug}_id", subject.slug, "id", "number"))
    frame = Frame(f"invented-{seed}", component, releases, namer, record, _wording(rng, subject))
    parts = _parts(rng, frame, aspects)
    world = put_together(rng, frame, parts, aspects)
    crew = _crew(rng, [part.moment.id for part in parts])
    always = any(part.kind == "environment" or part.forgiven for part in parts)
    return Invented(seed, world, crew, _manners(rng, always))


def _namer(rng: random.Random, subject: Subject) -> Namer:
    """How tools are named here: ``check_quota``, ``checkQuota`` or ``plot.check_quota``."""
    style = rng.choices(("snake", "camel", "dotted"), (6, 1, 2))[0]

    def name(plain: str) -> str:
        if style == "camel":
            head, *rest = plain.split("_")
            return head + "".join(part.capitalize() for part in rest)
        return f"{subject.slug}.{plain}" if style == "dotted" else plain

    return name


def _parts(rng: random.Random, frame: Frame, aspects: list[str]) -> list[Part]:
    """The habits of a world: four to seven, of different kinds, two of a kind now and then; and one harmless moment."""
    kinds = list(rng.sample(HABIT_KINDS, rng.randint(4, 6)))
    if rng.random() < 0.3:
        kinds.append(rng.choice(("call-present", "order", "argument")))
    made = []
    for kind in kinds:
        forgiven = kind not in ("recovery", "environment") and rng.random() < 0.15
        forgiving = frozenset(frame.releases[:1] if kind == "environment" else frame.releases[1:] if forgiven else ())
        moment = make(kind, _place(frame, aspects, forgiving), rng)
        made.append(Part(kind, moment, rng.uniform(0.55, 0.95), rng.uniform(0.6, 1.0), forgiven))
    return [*made, Part("plain", make("plain", _place(frame, aspects), rng), 0.0, 0.0, False)]


def _place(frame: Frame, aspects: list[str], forgiving: frozenset[str] = frozenset()) -> Place:
    return Place(aspects.pop(), frame.record, frame.wording.subject.noun[0], frame.namer, forgiving)


def _wording(rng: random.Random, subject: Subject) -> Wording:
    firm = "".join(rng.sample(SYLLABLES, rng.randint(2, 3))).capitalize()
    language = rng.choice(("zh", "ja"))
    second = rng.choice((0.0, 0.0, 0.15, 0.4))
    prefix = rng.choice((subject.slug[0].upper(), f"{subject.slug[:3].upper()}-", "#", "NO"))
    return Wording(firm, subject, language, second, prefix, greets=rng.random() < 0.8)


def _crew(rng: random.Random, habits: Sequence[str]) -> tuple[Policy, ...]:
    """Three to eight agents: some careful, some careless, one or two clumsy, each fond of a habit now and then."""
    names = rng.sample(AGENT_NAMES, rng.randint(3, 8))
    clumsy = rng.randint(1, max(1, len(names) // 3))
    return tuple(
        Policy(
            name,
            f"{rng.randint(0, 4)}.{rng.randint(0, 20)}",
            habit_rate=rng.uniform(0.45, 0.65) if at < clumsy else rng.uniform(0.15, 0.5),
            favourites={rng.choice(habits): rng.uniform(0.6, 0.85)} if rng.random() < 0.4 else {},
            slip=rng.uniform(2.0, 5.0) if at < clumsy else 1.0,
        )
        for at, name in enumerate(names)
    )


def _manners(rng: random.Random, environment_needed: bool) -> Manners:
    """``environment_needed``: something in this world depends on the release, so its logs name it."""
    components = (("model", ("m-large", "m-small")), ("region", ("eu-1", "us-2", "ap-1")), ("os", ("22.04", "24.04")))
    return Manners(
        offers_tools=rng.choice((1.0, 1.0, 0.0, 0.7)),
        names_environment=1.0 if environment_needed else rng.choice((1.0, 0.0, 0.6)),
        same_session=rng.choice((0.0, 0.1, 0.25)),
        unknown=rng.choice((0.0, 0.03, 0.08)),
        self_reported=rng.choice((0.0, 0.02, 0.06)),
        copies=rng.choice((0.0, 0.01, 0.03)),
        retries=rng.choice((0.0, 0.02, 0.05)),
        outcome_source=rng.choice(("environment", "verifier", "exit-code", "human")),
        rewards=rng.random() < 0.5,
        user_talks=rng.choice((0.0, 0.3)),
        other_components=tuple(rng.sample(components, rng.choice((0, 0, 1, 2)))),
    )
