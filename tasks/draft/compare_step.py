"""Put a model's claim through tonight's contrast: among its findings first, then on the runs that it compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from storage.engine import Database
from storage.ledger import Claim
from storage.queries.evidence import conclusions_of_family
from tasks.context import StepContext
from tasks.contrast.predicate import Predicate, from_canonical
from tasks.contrast.reading.step import load_family
from tasks.contrast.units import Units, build_units, without_kin
from tasks.draft.model import claims
from tasks.draft.model.claims import Concluded
from tasks.draft.model.compare import compared, same_finding


@dataclass(frozen=True)
class Standing:
    """Where a claim stands: the confirmed finding that makes it, or else what was concluded of it, if anything.

    ``tasks`` counts the tasks in which the claim could tell successes from failures.
    """

    confirmed: Concluded | None
    otherwise: Concluded | None = None
    tasks: int = 0


def standing_of(
    database: Database, claim: Claim, context: StepContext, family: str, wanted: Sequence[Predicate]
) -> Standing:
    """Where tonight's contrast leaves a claim. Nothing is written, and no alpha is spent."""
    with database.read() as session:
        rows = conclusions_of_family(session, claim.namespace, claim.run_id, family)
    concluded = [Concluded(r.id, r.predicate, r.verdict, r.statement, r.statistics, r.next_step) for r in rows]
    found = claims.confirmed_by(wanted, concluded)
    if found is not None:
        return Standing(found)
    confirmed = [one for one in concluded if one.verdict == "confirmed"]
    findings = [from_canonical(dict(one.predicate)) for one in confirmed]
    units = _units(database, claim, context, family, [*wanted, *findings])
    same = same_finding(units.sample, wanted, findings)
    if same is not None:
        return Standing(confirmed[same])
    tables = units.sample.with_columns(units.sample.columns.take([0])).tables()
    said = claims.judged(wanted, concluded) or compared(units.sample, wanted, claim.namespace, family)
    return Standing(None, said, int(tables.informative.sum()))


def _units(
    database: Database, claim: Claim, context: StepContext, family: str, predicates: Sequence[Predicate]
) -> Units:
    """The units of the contrast, with these features: the same runs, groups and echoes left out."""
    runs = load_family(database, claim.namespace, family, context.settings)
    units = build_units(runs.runs, runs.table, salt=f"fold\x00{claim.namespace}", last_look=None, predicates=predicates)
    return replace(units, sample=without_kin(units.sample, units.runs, runs.reads, runs.promoted))
