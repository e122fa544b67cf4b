"""Verify: ask of every draft what a careful reader would, and write the answers beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from storage.engine import Database
from storage.ledger import Claim, guard
from storage.queries import candidates as candidate_queries
from storage.tables import Draft
from tasks.context import StepContext
from tasks.draft.model.wording import is_by_model
from tasks.verify.check import advice
from tasks.verify.checks import Subject, check_all, held_back, rows_of
from tasks.verify.replay import ReplayHook
from tasks.verify.revoked import name_kin, revoked_row
from tasks.verify.subject_step import asked_of_draft, load_known, subject_of
from tasks.verify.tier import tier_of


def run(database: Database, claim: Claim, context: StepContext, hook: ReplayHook | None = None) -> dict[str, Any]:
    """Check every rule that was drafted in the run. Run again, it writes the same.

    Returns ``checked``, ``failed`` and ``warned`` by check, ``echoes`` (cited runs that were exposed to kin of what
    they are cited for), ``tainted`` (cited runs that ran under a revoked rule), and ``held_back``: candidate ids with
    why. Neither echoes nor tainted runs support anything.
    """
    with database.read() as session:
        drafts = [one for one in candidate_queries.drafts_of(session, claim.namespace, claim.run_id) if is_rule(one)]
        known = load_known(session, claim.namespace, hook)
    verdicts: Counter[tuple[str, str]] = Counter()
    held: list[dict[str, str]] = []
    set_aside = {"echoes": set[str](), "tainted": set[str]()}
    for draft in drafts:
        with database.read() as session:
            asked = asked_of_draft(session, draft)
        subject = subject_of(database, asked, known, context.now, context.settings)
        checks = name_kin(check_all(subject), subject)
        _save(database, claim, draft, subject, rows_of(checks, known.blocking))
        verdicts.update((check.verdict, check.name) for check in checks)
        held += [{"candidate": draft.candidate_id, "check": c.name, "why": c.detail} for c in held_back(checks)]
        set_aside["echoes"] |= {one.episode_id for one in subject.cited if one.echo}
        set_aside["tainted"] |= {one.episode_id for one in subject.cited if one.tainted}
    counts = {kind: {name: n for (v, name), n in sorted(verdicts.items()) if v == kind} for kind in ("fail", "warn")}
    return {
        "checked": len(drafts), "failed": counts["fail"], "warned": counts["warn"], "held_back": held,
        **{name: len(ids) for name, ids in set_aside.items()},
    }  # fmt: skip


def is_rule(draft: Draft) -> bool:
    """Whether a draft claims something that can be checked here; an exemplar brings the checks of its own kind."""
    return draft.kind == "rule"


def _save(
    database: Database, claim: Claim, draft: Draft, subject: Subject, checks: Sequence[Mapping[str, Any]]
) -> None:
    tiered = tier_of(
        draft.content["predicate"],
        external=any(run.external for run in subject.cited),
        ordered=any(check["name"] == "injection" and check["verdict"] != "pass" for check in checks),
        said=advice(draft.content) if is_by_model(draft.drafter) else (),
    )
    with database.write() as session:
        guard(session, claim)
        stored = session.get_one(Draft, (draft.namespace, draft.id))
        stored.checks = [dict(check) for check in checks]
        stored.packet = {
            **stored.packet,
            "checks": [dict(check) for check in checks],
            "conflicts": stored.conflicts,
            "tier": tiered.tier,
            "tier_why": tiered.why,
            "revoked_before": revoked_row(subject.revoked),
        }
