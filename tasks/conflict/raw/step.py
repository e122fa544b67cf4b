"""Tonight's raw episodes against what was recorded before: facts that cannot both be current, and mixed outcomes.

Only the bodies of episodes that hold claims are read, once; afterwards their statements are rows. Nothing is decided
here: both sides are kept and shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from storage.bodies import load_bodies
from storage.conflicts import EPISODE, RUNS, close, note, put_statements
from storage.engine import Database
from storage.ledger import Claim, guard
from storage.queries import conflicts as queries
from storage.queries.taint import tainted_among
from tasks.conflict import sides
from tasks.conflict.disagree import Disagreement, disagreements
from tasks.conflict.mixed import MOST, OUTCOMES, Mixed, Tally, mixed_outcomes
from tasks.conflict.pairs import GRAVITY
from tasks.conflict.statements import Statement, key_of, statements_of
from tasks.conflict.times import Interval
from tasks.context import StepContext

Item = TypeVar("Item")
MOST_FACTS = 100
"""New conflicts of stated facts noted in one night; the next night finds the rest again where it looks."""

MOST_SIDES = 200
"""Episodes of one task and act that are looked at to show and to count its sides."""


def look_at_episodes(database: Database, claim: Claim, context: StepContext) -> dict[str, Any]:
    """Keep what tonight's episodes state, and note what contradicts; run again, it writes the same."""
    subjects, read = _read_statements(database, claim, context)
    facts = _note_facts(database, claim, context, sorted(subjects))
    mixed = _note_mixed(database, claim, context)
    return {"statements": read, **facts, "mixed_outcomes": mixed}


def _read_statements(database: Database, claim: Claim, context: StepContext) -> tuple[set[str], int]:
    with database.read() as session:
        stating = queries.stating_of_run(session, claim.namespace, claim.run_id)
    subjects: set[str] = set()
    read = 0
    for page in _pages(stating, context.settings.read_batch):
        with database.read() as session:
            bodies = load_bodies(session, claim.namespace, [each.id for each in page])
        found = [
            one
            for each in page
            if each.id in bodies
            for one in statements_of(
                bodies[each.id], each.id, each.started_at or each.ingested_at, each.session_id or each.id
            )
        ]
        with database.write() as session:
            guard(session, claim)
            put_statements(session, claim.namespace, [each.id for each in page], [_row(claim, one) for one in found])
        subjects |= {key_of(one.subject) for one in found}
        read += len(found)
    return subjects, read


def _row(claim: Claim, one: Statement) -> dict[str, Any]:
    return {
        "namespace": claim.namespace, "episode_id": one.episode_id, "step_id": one.step_id, "number": one.number,
        "subject_key": key_of(one.subject), "subject": one.subject, "attribute": one.attribute, "value": one.value,
        "previous": one.previous, "denied": one.denied, "single": one.single, "valid_from": one.valid.low,
        "valid_to": one.valid.high, "said_at": one.said_at, "session": one.session, "trust": one.trust,
    }  # fmt: skip


def _statement(row: Any) -> Statement:
    return Statement(
        row.subject, row.attribute, row.value, row.said_at, previous=row.previous, denied=row.denied,
        single=row.single, valid=Interval(row.valid_from, row.valid_to), episode_id=row.episode_id,
        step_id=row.step_id, number=row.number, session=row.session, trust=row.trust,
    )  # fmt: skip


def _note_facts(database: Database, claim: Claim, context: StepContext, subjects: Sequence[str]) -> dict[str, int]:
    """Compare all that is stated of tonight's subjects; what was found before and is not now is closed."""
    found: list[Disagreement] = []
    for page in _pages(subjects, context.settings.read_batch):
        with database.read() as session:
            rows = queries.statements_of_subjects(session, claim.namespace, page)
            tainted = tainted_among(session, claim.namespace, sorted({row.episode_id for row in rows}))
        found += disagreements(_statement(row) for row in rows if row.episode_id not in tainted)
    noted = _save_facts(database, claim, context, set(subjects), found)
    return {"facts_in_conflict": len(found), "facts_noted": noted}


def _save_facts(
    database: Database, claim: Claim, context: StepContext, subjects: set[str], found: Sequence[Disagreement]
) -> int:
    """Note those that are known, and of the new ones the gravest: a flood of claims must not bury the rest."""
    rows = [(hit.refs, sides.stated_row(claim.namespace, hit)) for hit in found]
    with database.read() as session:
        known = queries.conflicts_known(session, claim.namespace, claim.run_id)
    still = {row["id"] for _, row in rows}
    fresh = sorted((row for row in rows if row[1]["id"] not in known), key=_gravity)[:MOST_FACTS]
    rows = [*(row for row in rows if row[1]["id"] in known), *fresh]
    for page in _pages(rows, context.settings.write_batch):
        with database.write() as session:
            guard(session, claim)
            for refs, row in page:
                note(session, claim.namespace, refs, row, claim.run_id, context.now)
    with database.write() as session:
        guard(session, claim)
        open_now = queries.open_of_kind(session, claim.namespace, EPISODE)
        looked_at = [row for row in open_now if row.sides.get("subject") in subjects]
        close(session, looked_at, still, context.now)
    return len(rows)


def _gravity(noted: tuple[tuple[str, str], dict[str, Any]]) -> tuple[int, int, str]:
    """Contradictions first, then what was said in the most sessions on both sides."""
    row = noted[1]
    return GRAVITY[row["kind"]], -min(side["support"] for side in row["sides"].values()), row["id"]


def _note_mixed(database: Database, claim: Claim, context: StepContext) -> int:
    """Tasks of tonight's families in which the same calls had both outcomes, tainted runs left out."""
    with database.read() as session:
        tallies = [Tally(*row) for row in queries.tallies_of_run(session, claim.namespace, claim.run_id)]
        # Some more than are kept: a few may fall once what is tainted is left out.
        likely = mixed_outcomes(tallies, most=2 * MOST)
        shown = [_shown(session, claim.namespace, one) for one in likely]
    counted = mixed_outcomes(tally for tallies, _ in shown for tally in tallies)
    cited = {(one.family, one.task, one.act): runs for one, (_, runs) in zip(likely, shown, strict=True)}
    families = {tally.family for tally in tallies}
    with database.write() as session:
        guard(session, claim)
        kept = set()
        for one in counted:
            runs = cited[one.family, one.task, one.act]
            row = sides.mixed_row(claim.namespace, one, runs["failure"], runs["success"]) | {"subject": one.family}
            note(session, claim.namespace, one.refs, row, claim.run_id, context.now)
            kept.add(row["id"])
        session.flush()
        before = [
            row for row in queries.open_of_kind(session, claim.namespace, RUNS) if row.sides.get("subject") in families
        ]
        close(session, before, kept, context.now)
    return len(counted)


def _shown(session: Any, namespace: str, one: Mixed) -> tuple[list[Tally], dict[str, list[sides.Cited]]]:
    """Its untainted runs, counted by group, and named by outcome."""
    did = queries.episodes_that_did(session, namespace, one.family, one.task, one.act, MOST_SIDES)
    tainted = tainted_among(session, namespace, [episode_id for episode_id, *_ in did])
    clean = [each for each in did if each[0] not in tainted]
    tallies = []
    for outcome in OUTCOMES:
        whole = one.success if outcome == "success" else one.failure
        groups = len({group for _, ended, group in clean if ended == outcome})
        # Where nothing is tainted, all runs count, also those beyond the page that was looked at.
        tallies.append(Tally(one.family, one.task, one.act, outcome, groups if tainted else whole))
    runs = {outcome: [(episode, "") for episode, ended, _ in clean if ended == outcome] for outcome in OUTCOMES}
    return tallies, runs


def _pages(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
