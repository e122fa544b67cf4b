"""Seeded races between a decision and whatever else may happen to its candidate: one legal outcome, never a fault.

``SLOWWAVE_RACES`` is how many of each kind are run on each database; the full suite runs a hundred.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import Response
from sqlmodel import col, select
from starlette.requests import Request
from starlette.testclient import TestClient

from review_ui.access import Viewer, viewer
from review_ui.routes.candidates import _seen
from storage import audit
from storage.engine import Database
from storage.ids import uuid7
from storage.tables import Candidate, CandidateRevision, Decision, Exposure, OutboxEvent, RuleVersion
from support import factories
from support.full import FULL
from support.review_pages import SPACE, Browse, Clock, fields
from support.reviewing import Desk, Found, Ran, finding
from tasks.context import PipelineSettings

RACES = int(os.environ.get("SLOWWAVE_RACES", "100" if FULL else "15"))
FIRST_SEED = 500


@dataclass
class Person:
    """Somebody who is logged in, and what their forms carry."""

    browser: TestClient
    csrf: str
    viewer: Viewer


@dataclass
class Arena:
    """Two people before one store."""

    database: Database
    app: FastAPI
    clock: Clock
    rosa: Person
    otto: Person
    pool: ThreadPoolExecutor
    outcomes: Counter[str] = field(default_factory=Counter)
    took: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def race(self, seed: int, *acts: Callable[[], Any]) -> list[Any]:
        """Start both acts at one moment; their results in order.

        One of them is held up by a share, drawn from the seed, of what the other one took so far, so that either
        comes first now and then on a fast machine and on a slow one.
        """
        chance, gate = random.Random(seed), threading.Barrier(len(acts))
        held = chance.randrange(len(acts))
        late = chance.uniform(0, 1.3) * self.took[1 - held]

        def run(place: int) -> Any:
            gate.wait()
            if place == held:
                threading.Event().wait(late)  # the hold-up itself; nothing is expected of it
            began = time.monotonic()
            done = acts[place]()
            self.took[place] += (time.monotonic() - began - self.took[place]) / 4
            return done

        started = [self.pool.submit(run, place) for place in range(len(acts))]
        return [one.result() for one in started]

    def approval(self, who: Person, candidate_id: str, namespace: str = SPACE) -> Callable[[], Response]:
        """The act of approving what stands there now, ready to be sent."""
        with self.database.read() as session:
            row = session.get_one(Candidate, (namespace, candidate_id))
            revision = session.get_one(CandidateRevision, (namespace, candidate_id, row.number))
        form = {
            "csrf": who.csrf, "content_hash": row.content_hash, "packet_hash": row.packet_hash, "reason": "seen it",
            "seen": _seen(self.app.state.site, who.viewer, revision, 1),
        }  # fmt: skip
        return lambda: self.sent(who, f"/candidates/{namespace}/{candidate_id}/approve", form)

    def sent(self, who: Person, path: str, form: dict[str, str]) -> Response:
        """A form as it is answered. A fault of ours is none of the legal outcomes."""
        answer = who.browser.post(path, data={"csrf": who.csrf, **form})
        assert answer.status_code < 500, answer.text
        return answer

    def stands(self, candidate_id: str, namespace: str = SPACE) -> tuple[Candidate, list[str], list[RuleVersion]]:
        """A candidate, who approved it with a vote that counts, and the versions made of it."""
        with self.database.read() as session:
            row = session.get_one(Candidate, (namespace, candidate_id))
            votes = session.exec(
                select(Decision.reviewer_id).where(
                    Decision.namespace == namespace, Decision.candidate_id == candidate_id,
                    Decision.verdict == "approve", col(Decision.voided_at).is_(None),
                )
            ).all()  # fmt: skip
            made = session.exec(
                select(RuleVersion).where(RuleVersion.namespace == namespace, RuleVersion.candidate_id == candidate_id)
            ).all()
        return row, list(votes), list(made)


def person(app: FastAPI, browser: TestClient) -> Person:
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    scope = {"type": "http", "headers": [(b"cookie", cookies.encode())], "client": ("testclient", 1)}
    csrf = fields(browser.get("/queue").text, "/logout")["csrf"]
    return Person(browser, csrf, viewer(Request(scope), app.state.site))


@pytest.fixture
def arena(app: FastAPI, browse: Browse, database: Database, clock: Clock) -> Iterator[Arena]:
    rosa, otto = (person(app, browse(name)) for name in ("rosa", "otto"))
    with ThreadPoolExecutor(2) as pool:
        arena = Arena(database, app, clock, rosa, otto, pool)
        yield arena
    print(f"seeds {FIRST_SEED} to {FIRST_SEED + RACES - 1} on {database.dialect}: {dict(arena.outcomes)}")
    with database.read() as session:
        assert audit.verify(session).ok
        epochs = session.exec(select(OutboxEvent.epoch).where(OutboxEvent.namespace == SPACE)).all()
    assert sorted(epochs) == list(range(1, len(epochs) + 1))


def seeds() -> range:
    return range(FIRST_SEED, FIRST_SEED + RACES)


def test_two_approvals_make_one_version(arena: Arena) -> None:
    for seed in seeds():
        tier, name = ("high" if seed % 2 else "standard"), f"c{seed}"
        factories.make_candidate(arena.database, SPACE, name, arena.clock(), tier=tier)
        both = arena.race(seed, arena.approval(arena.rosa, name), arena.approval(arena.otto, name))
        candidate, votes, made = arena.stands(name)
        assert [answer.status_code for answer in both] == [303, 303], seed
        assert (candidate.state, len(made)) == ("promoted", 1), seed
        assert len(set(votes)) == len(votes) == (2 if tier == "high" else 1), seed
        arena.outcomes[f"{tier}: promoted once"] += 1


def test_of_an_approval_and_an_edit_one_is_done_and_the_other_is_told(arena: Arena) -> None:
    for seed in seeds():
        name = f"c{seed}"
        hashes = factories.make_candidate(arena.database, SPACE, name, arena.clock())
        edit = {
            "content_hash": hashes[0], "when_to_use": f"Before `cancel_order`, in case {seed}",
            "guidance": "Call `get_order` first.", "recheck_at": "2027-02-28", "reason": "clearer",
        }  # fmt: skip
        approved, edited = arena.race(
            seed,
            arena.approval(arena.rosa, name),
            lambda name=name, edit=edit: arena.sent(arena.otto, f"/candidates/{SPACE}/{name}/edit", edit),
        )
        candidate, votes, made = arena.stands(name)
        done = (approved.status_code, edited.status_code)
        assert done in {(303, 409), (409, 303)}, (seed, done)
        if done == (303, 409):
            assert (candidate.state, candidate.content_hash, len(made)) == ("promoted", hashes[0], 1), seed
        else:
            assert (candidate.state, candidate.number, made, votes) == ("staged", 2, [], []), seed
        arena.outcomes["approved" if done[0] == 303 else "edited"] += 1


def test_what_leans_on_a_rule_is_never_served_once_that_is_revoked(arena: Arena) -> None:
    for seed in seeds():
        rule_id = _promoted(arena, f"old{seed}")
        name = _leaning_on(arena, rule_id, f"c{seed}")
        approved, revoked = arena.race(
            seed,
            arena.approval(arena.rosa, name),
            lambda rule_id=rule_id: arena.sent(arena.otto, f"/rules/{SPACE}/{rule_id}/revoke", {"reason": "wrong"}),
        )
        candidate, _votes, made = arena.stands(name)
        assert revoked.status_code == 303, (seed, revoked.text)
        assert approved.status_code in (303, 409), seed
        if approved.status_code == 303:
            assert (candidate.state, [one.state for one in made]) == ("promoted", ["quarantined"]), seed
        else:
            assert (candidate.state, made) == ("staged", []), seed
        arena.outcomes["approved, then withheld" if made else "refused"] += 1


def _promoted(arena: Arena, name: str) -> str:
    claim = factories.content_for(SPACE)["predicate"] | {"before": f"close_{name}"}
    content = factories.content_for(SPACE, predicate=claim)
    factories.make_candidate(arena.database, SPACE, name, arena.clock(), content=content)
    assert arena.approval(arena.otto, name)().status_code == 303
    _candidate, _votes, made = arena.stands(name)
    return made[0].rule_id


def _leaning_on(arena: Arena, rule_id: str, name: str) -> str:
    """A candidate whose evidence ran in a session that was served the rule."""
    now = arena.clock()
    factories.make_episode(arena.database, SPACE, f"ep-{name}", now, session_id=f"s-{name}")
    with arena.database.write() as session:
        session.add(
            Exposure(
                namespace=SPACE, id=uuid7(), session_id=f"s-{name}", token_id="t", rule_id=rule_id, version=1, epoch=1,
                position=0, request_id=uuid7(), at=now,
            )
        )  # fmt: skip
    factories.make_candidate(arena.database, SPACE, name, now, evidence=[(f"ep-{name}", "support")])
    return name


def test_of_an_approval_and_new_counter_evidence_the_first_counts(
    arena: Arena, database: Database, secret: bytes
) -> None:
    desk = Desk(database, arena.clock(), secret, settings=PipelineSettings(max_candidates=RACES)).open()
    found = {f"call_{seed}": finding(desk, f"call_{seed}", tasks=2) for seed in seeds()}
    desk.night(*found.values())
    assert len(desk.candidates()) == RACES
    tomorrow = desk.later()
    against = [_with_a_run_against(tomorrow, call, one) for call, one in found.items()]
    night = tomorrow.start(*against)
    for stage in ("draft", "conflict", "verify"):
        tomorrow.do(night, stage)
    waiting = {candidate.id: candidate for candidate, _ in desk.candidates()}
    acts = {name: arena.approval(arena.rosa, name, desk.namespace) for name in waiting}
    order = random.Random(FIRST_SEED).sample(sorted(acts), len(acts))
    _staged, answers = arena.race(
        FIRST_SEED,
        lambda: tomorrow.do(night, "stage"),
        lambda: {name: acts[name]() for name in order},
    )
    for name, answer in answers.items():
        candidate, votes, made = arena.stands(name, desk.namespace)
        assert answer.status_code in (303, 409), name
        if answer.status_code == 303:
            assert (candidate.state, candidate.number, len(made), len(votes)) == ("promoted", 1, 1, 1), name
        else:
            assert (candidate.state, candidate.number, made, votes) == ("staged", 2, [], []), name
        arena.outcomes["approved first" if made else "refused"] += 1


def _with_a_run_against(desk: Desk, call: str, found: Found) -> Found:
    fresh = desk.record(Ran("t-new", "success", (call,)))
    return replace(found, episodes=found.episodes + fresh)
