"""Real nights for ``findings.py``, and the comparison without strata that stands beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import fisher_exact
from sqlmodel import Session, col, select

from storage.bodies import load_bodies
from storage.engine import Database
from storage.tables import Candidate, CandidateRevision, Episode
from tasks.contrast.facts import Facts, holds, read_facts
from tasks.contrast.fdr import q_values
from tasks.contrast.features import Columns, build_columns, distinct
from tasks.contrast.predicate import from_canonical
from tasks.contrast.table import Reading, table_of
from tasks.contrast.units import MIN_SUPPORT
from tasks.ingest.episode import Episode as CanonicalEpisode

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "bench"
Q_LEVEL = 0.10
PAGE = 500


class NightWentWrong(RuntimeError):
    """A command of the night ended with an error; the message holds what it said."""


@dataclass(frozen=True)
class Claim:
    """A finding in the form in which it is graded, and in words."""

    predicate: Mapping[str, Any]
    words: str


@dataclass(frozen=True)
class Known:
    """One recorded run as the door took it in. ``group`` is what may be compared without strata: a world, a domain."""

    body: dict[str, Any]
    facts: Facts
    group: str
    stratum: str
    success: bool | None


def night(episodes: Sequence[Mapping[str, Any]], namespace: str) -> tuple[list[Claim], list[Known]]:
    """What one night on these canonical episodes leaves in the queue: rules that claim something, best first.

    The episodes as they were taken in come second. Folds are drawn by namespace, so figures of one namespace alone
    would owe much to one draw.
    """
    with _home(_lines(episodes)) as (folder, file):
        _run(folder, "ingest", str(file), "--namespace", namespace)
        said = _run(folder, "consolidate", "--namespace", namespace, "--local", fails=True)
        for problem in json.loads(said)["problems"]:
            # The rest of the night counts all the same, as it would for a reviewer.
            print(f"{namespace}: {problem['stage']} was parked: {problem['error'][:200]}", file=sys.stderr)
        with _database(folder).read() as session:
            return list(_staged(session)), list(_stored(session, namespace))


def read_in(logs: Path) -> list[Known]:
    """The files of a folder as they are stored once taken in."""
    with _home([]) as (folder, _):
        _run(folder, "ingest", str(logs), "--namespace", NAMESPACE, fails=True)
        with _database(folder).read() as session:
            return list(_stored(session, NAMESPACE))


def _lines(episodes: Iterable[Mapping[str, Any]]) -> list[str]:
    return [json.dumps(each, ensure_ascii=False) + "\n" for each in episodes]


class _home:
    """A home folder for one night, with the episodes in a file beside it."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="slowwave-findings-")
        self._lines = lines

    def __enter__(self) -> tuple[Path, Path]:
        folder = Path(self._folder.name)
        file = folder / "episodes.jsonl"
        file.write_text("".join(self._lines), encoding="utf-8")
        return folder, file

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def _run(folder: Path, *arguments: str, fails: bool = False) -> str:
    """Run a command; returns what it printed. With ``fails``, something refused or parked is no reason to stop."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SLOWWAVE_")}
    env = {**kept, "SLOWWAVE_HOME": str(folder), "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-m", "worker.cli", *arguments, "--json"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, cwd=ROOT)
    if done.returncode > int(fails):
        said = f"{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
        raise NightWentWrong(f"slowwave {' '.join(arguments)}: exit code {done.returncode}\n{said}")
    return done.stdout


def _database(folder: Path) -> Database:
    return Database(f"sqlite:///{folder}/slowwave.db")


def _staged(session: Session) -> Iterator[Claim]:
    rows = session.exec(
        select(Candidate, CandidateRevision)
        .join(
            CandidateRevision,
            (col(CandidateRevision.namespace) == col(Candidate.namespace))
            & (col(CandidateRevision.candidate_id) == col(Candidate.id))
            & (col(CandidateRevision.number) == col(Candidate.number)),
        )
        .where(col(Candidate.state) == "staged")
        .order_by(col(Candidate.rank).desc(), col(Candidate.id))
    )
    for _, revision in rows:
        predicate = revision.content.get("predicate")
        if predicate and predicate.get("direction"):
            yield Claim(predicate, str(revision.packet.get("summary") or revision.content.get("when_to_use")))


def _stored(session: Session, namespace: str) -> Iterator[Known]:
    rows = session.exec(select(Episode).order_by(col(Episode.id))).all()
    for start in range(0, len(rows), PAGE):
        page = rows[start : start + PAGE]
        bodies = load_bodies(session, namespace, [row.id for row in page])
        for row in page:
            yield _known(row, bodies[row.id])


def _known(row: Episode, body: dict[str, Any]) -> Known:
    judged = row.outcome in ("success", "failure") and row.outcome_source != "self-reported"
    episode = CanonicalEpisode.model_validate(body)
    described = str(body.get("metadata", {}).get("instruction") or "")
    group = ",".join(sorted(episode.environment) + sorted(episode.tools_offered or ()))
    return Known(
        {**body, "task_key": row.task_key} if row.task_key else body,
        read_facts(episode),
        group,
        f"{group}\x00{row.task_key}\x00{described}",
        row.outcome == "success" if judged else None,
    )


def claims_without_strata(known: Sequence[Known]) -> list[Claim]:
    """What Fisher's exact test and Benjamini-Hochberg make of the same features, over all runs of a group together."""
    found: list[tuple[float, Claim]] = []
    for group in sorted({one.group for one in known}):
        runs = [one for one in known if one.group == group and one.success is not None]
        success = np.array([bool(one.success) for one in runs], dtype=bool)
        columns = _columns([one.facts for one in runs])
        tested = [_fisher(columns, index, success) for index in range(len(columns.predicates))]
        q = q_values(np.array([p for p, _ in tested])) if tested else np.zeros(0)
        for index in np.flatnonzero(q <= Q_LEVEL):
            p, direction = tested[index]
            claim = columns.predicates[index].toward("do" if direction > 0 else "avoid").canonical("")
            found.append((p, Claim(claim, f"p = {p:.2g}")))
    return [claim for _, claim in sorted(found, key=lambda each: each[0])]


def _columns(facts: Sequence[Facts]) -> Columns:
    empty = np.zeros(1, dtype=np.uint16)
    table = table_of([Reading(str(row), each, empty) for row, each in enumerate(facts)])
    return distinct(build_columns(table, MIN_SUPPORT))


def _fisher(columns: Columns, index: int, success: Any) -> tuple[float, float]:
    """Two-sided p, and the excess of successes among runs that show the feature."""
    spoken = columns.mask[:, index]
    shown, won = columns.values[spoken, index], success[spoken]
    table = [
        [int((shown & won).sum()), int((shown & ~won).sum())],
        [int((~shown & won).sum()), int((~shown & ~won).sum())],
    ]
    excess = table[0][0] - shown.sum() * won.sum() / max(1, len(won))
    return float(fisher_exact(table).pvalue), float(excess)


def within_tasks(predicate: Mapping[str, Any], known: Iterable[Known]) -> float | None:
    """Successes with the predicate beyond what its tasks would give by chance (Mantel-Haenszel); None if none tells."""
    claim = from_canonical(dict(predicate))
    tables: dict[str, list[tuple[bool, bool]]] = {}
    for one in known:
        if one.success is not None and (so := holds(claim, one.facts)) is not None:
            tables.setdefault(one.stratum, []).append((so, one.success))
    excess, informative = 0.0, False
    for rows in tables.values():
        shown, won = sum(s for s, _ in rows), sum(w for _, w in rows)
        if 0 < shown < len(rows) and 0 < won < len(rows):
            informative = True
            excess += sum(s and w for s, w in rows) - shown * won / len(rows)
    return excess if informative else None
