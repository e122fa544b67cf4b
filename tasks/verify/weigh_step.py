"""The runs that may count for a claim, read from the store, and what they say of it now.

The one way evidence is weighed after it was found: repairs, checks of what was revoked before, and rechecks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from storage.engine import Database
from tasks.cluster.kin import Promoted, VersionKey, kin_of
from tasks.context import PipelineSettings
from tasks.contrast.features import Columns
from tasks.contrast.predicate import Predicate, from_canonical
from tasks.contrast.reading.step import load_family
from tasks.contrast.recoveries import is_everywhere
from tasks.contrast.recoveries.step import Retries, retries_of
from tasks.contrast.table import VERSION, FactsTable, joined
from tasks.contrast.units import Run, Units
from tasks.verify.coverage import belongs
from tasks.verify.support import NOTHING, Compared, Remaining, remaining, weigh


@dataclass(frozen=True)
class FamilyEvidence:
    """What counts of a family: untainted, of trust within, in the order of arrival, with what each run may have read.

    ``environments`` are by row; ``tainted`` is how many runs were left out, having run under a rule that was revoked.
    """

    runs: list[Run]
    table: FactsTable
    reads: Mapping[str, Collection[VersionKey]]
    promoted: Promoted
    environments: list[dict[str, str]]
    tainted: int

    def echoes_of(self, claim: Predicate, lines: Sequence[str] = ()) -> set[str]:
        """The episodes that were exposed to kin of a claim."""
        kin = kin_of(claim, self.promoted, lines)
        return {episode_id for episode_id, keys in self.reads.items() if not kin.isdisjoint(keys)}

    def of(self, predicate: Mapping[str, Any]) -> FamilyEvidence:
        """What of it a stored claim speaks of: all, or the runs that it was split down to."""
        if not predicate.get("within"):
            return self
        places = enumerate(zip(self.runs, self.environments, strict=True))
        return self.only([row for row, (run, versions) in places if belongs(predicate, versions, run.agent)])

    def only(self, rows: Sequence[int]) -> FamilyEvidence:
        """Some of the runs."""
        return replace(
            self,
            runs=[self.runs[row] for row in rows],
            table=self.table.take(rows),
            environments=[self.environments[row] for row in rows],
        )


def weigh_again(
    database: Database,
    namespace: str,
    predicate: Mapping[str, Any],
    settings: PipelineSettings,
    *,
    since: datetime | None = None,
) -> Remaining:
    """The support that a claim has now: over all of its family's runs that count, or those that arrived ``since``.

    Tainted runs and those of external trust do not count, nor for this claim those exposed to a rule akin to it.
    """
    if is_everywhere(predicate):
        retries = retries_of(database, namespace, from_canonical(dict(predicate)), settings, since=since)
        return NOTHING if retries is None else remaining(compared_retries(retries))
    claim = from_canonical(dict(predicate))
    found = load_evidence(database, namespace, str(predicate.get("family")), settings, since=since).of(predicate)
    salt = f"fold\x00{namespace}"
    return weigh(found.runs, found.table, claim, salt=salt, echoes=found.echoes_of(claim))


def compared_retries(retries: Retries) -> Compared:
    """A recovery lined up as any other claim is: a row is a retry, and what it ended in is whether the call worked."""
    columns = retries.trials.sample.columns.take([retries.column])
    shows = columns.values[:, 0] & columns.mask[:, 0]
    mask = columns.mask[:, 0] & ~retries.echo
    column = Columns(columns.predicates, (columns.values[:, 0] & mask)[:, None], mask[:, None])
    sample = retries.trials.sample.with_columns(column)
    nobody = Units([], joined([]), sample, {}, [], 0)
    return Compared(columns.predicates[0].toward("do"), nobody, sample, shows, retries.echo)


def load_evidence(
    database: Database, namespace: str, family: str, settings: PipelineSettings, *, since: datetime | None = None
) -> FamilyEvidence:
    """What counts of a family, from the facts that its nights kept; bodies are read for what they did not."""
    found = load_family(database, namespace, family, settings)
    rows = [
        row
        for row, run in enumerate(found.runs)
        if run.record.episode_id not in found.external
        and (since is None or found.arrived[run.record.episode_id] > since)
    ]
    table = found.table.take(rows)
    return FamilyEvidence(
        [found.runs[row] for row in rows],
        table,
        found.reads,
        found.promoted,
        environments_of(table),
        len(found.tainted),
    )


def environments_of(table: FactsTable) -> list[dict[str, str]]:
    """The versions of components that each run was made on."""
    found: list[dict[str, str]] = [{} for _ in range(len(table))]
    columns = table.cells.tocsc()
    for column, token in enumerate(table.tokens):
        if token[0] == VERSION:
            for row in columns.indices[columns.indptr[column] : columns.indptr[column + 1]].tolist():
                found[row][token[1]] = token[2]
    return found
