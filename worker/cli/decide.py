"""Commands that decide. They act as the person behind SLOWWAVE_TOKEN, never as a name given."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from storage.queries import find, runs
from storage.tables import Run
from tasks.promote.errors import CandidateGone, RuleGone
from tasks.promote.people import Reviewer
from worker.cli.nights import drive
from worker.cli.output import DONE, FAILED, USAGE, CommandFailed, JsonFlag, finish, print_json, say
from worker.cli.queue import OptionalNamespace
from worker.cli.reached import reached_by, say_reached, tell_reached
from worker.cli.store import Store, open_store, person

if TYPE_CHECKING:
    # Imported where they are used: SciPy comes along and takes a second that other commands need not wait for.
    from tasks.promote.step import DecisionResult
    from tasks.revoke.step import RevokeResult

Hash = Annotated[str, typer.Option("--hash", help="content_hash of exactly what you read (queue or show print it).")]
PacketHash = Annotated[str | None, typer.Option("--packet-hash", help="packet_hash of the evidence you read.")]
Reason = Annotated[str, typer.Option("--reason", "-r", help="Why, in words; it is kept.")]
CandidateId = Annotated[str, typer.Argument(metavar="ID", help="The candidate.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("approve")(approve)
    app.command("reject")(reject)
    app.command("revoke")(revoke)


def approve(
    candidate: CandidateId,
    content_hash: Hash,
    reason: Reason,
    packet_hash: PacketHash = None,
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Approve exactly the text you read; it is promoted when its tier has the reviewers it needs.

    Examples:
      export SLOWWAVE_TOKEN=sw_…
      slowwave approve CANDIDATE_ID --hash HASH --reason "seen in 12 refunds"
    """
    _decide("approve", candidate, content_hash, packet_hash, reason, namespace, json)


def reject(
    candidate: CandidateId,
    content_hash: Hash,
    reason: Reason,
    packet_hash: PacketHash = None,
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Reject exactly the text you read: one rejection closes the candidate until its content changes.

    Examples:
      export SLOWWAVE_TOKEN=sw_…
      slowwave reject CANDIDATE_ID --hash HASH --reason "only true for one shop"
    """
    _decide("reject", candidate, content_hash, packet_hash, reason, namespace, json)


def _decide(
    verdict: Literal["approve", "reject"],
    candidate: str,
    content_hash: str,
    packet_hash: str | None,
    reason: str,
    namespace: str | None,
    json: bool,
) -> None:
    from tasks.promote import step as promote

    step = promote.approve if verdict == "approve" else promote.reject
    with open_store() as store:
        who = person(store)
        result = step(
            store.database,
            namespace_of_candidate(store, candidate, namespace),
            candidate,
            content_hash=content_hash,
            packet_hash=packet_hash,
            reviewer=who,
            reason=reason,
            now=store.now,
            secret=store.secret,
        )
    if json:
        print_json(asdict(result))
    else:
        _tell(result, who)


def _tell(result: DecisionResult, who: Reviewer) -> None:
    if result.revoked and result.changed:
        say(f"revoked {result.rule_id} (epoch {result.epoch}), and what leans on it was withdrawn; a repair is open")
    elif result.rule_id and result.changed:
        say(f"promoted as {result.rule_id} version {result.version}, epoch {result.epoch}: agents are served it now")
    elif not result.changed:
        say(f"{who.name} had decided so before; the candidate is {result.state}")
    else:
        more = f" ({result.have} of {result.needed} approvals)" if result.state == "approved" else ""
        say(f"candidate {result.candidate_id} is {result.state}{more}")


def namespace_of_candidate(store: Store, candidate: str, namespace: str | None) -> str:
    """The namespace that a candidate is in.

    Raises:
        CandidateGone: if there is no such candidate.
        CommandFailed: if several namespaces have one of this id, and none is named.
    """
    with store.database.read() as session:
        rows = find.candidates_named(session, candidate, namespace)
    if not rows:
        raise CandidateGone(f"there is no candidate {candidate!r}; list them: slowwave queue -n NAMESPACE")
    return _the_one([row.namespace for row in rows], candidate)


def namespace_of_rule(store: Store, rule: str, namespace: str | None) -> str:
    """The namespace that a rule is in.

    Raises:
        RuleGone: if there is no such rule.
        CommandFailed: if several namespaces have one of this id, and none is named.
    """
    with store.database.read() as session:
        rows = find.rules_named(session, rule, namespace)
    if not rows:
        raise RuleGone(f"there is no rule {rule!r}; list them: slowwave rules -n NAMESPACE")
    return _the_one([row.namespace for row in rows], rule)


def _the_one(namespaces: list[str], name: str) -> str:
    if len(namespaces) > 1:
        raise CommandFailed(f"{name!r} is in {', '.join(namespaces)}.", "Say which with --namespace.", 2)
    return namespaces[0]


def revoke(
    rule: Annotated[str, typer.Argument(metavar="RULE_ID", help="The rule, in every version.")],
    reason: Annotated[str | None, typer.Option("--reason", "-r", help="Why, in words; it is kept.")] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Say whom it reached, and do nothing.")] = False,
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Withdraw a rule and at once all that descends from it; then restore what stands without it.

    Tells which sessions may have read it, and which calls they made after that can still be cancelled.

    Examples:
      export SLOWWAVE_TOKEN=sw_…
      slowwave revoke RULE_ID --preview
      slowwave revoke RULE_ID --reason "the refund window changed"
    """
    if preview:
        with open_store() as store:
            tell_reached(store, namespace_of_rule(store, rule, namespace), rule, json=json)
        return
    if reason is None:
        raise CommandFailed("A revocation needs a reason.", "Say why: --reason TEXT; or look first: --preview.", USAGE)
    from tasks.revoke.step import revoke as revoke_step

    with open_store() as store:
        who = person(store)
        where = namespace_of_rule(store, rule, namespace)
        result = revoke_step(store.database, where, rule, reason=reason, actor=who, now=store.now, secret=store.secret)
        repair = _repair(store, result)
        found = reached_by(store, where, rule)
    document: dict[str, Any] = {**asdict(result), "repair_state": repair.state if repair else None}
    if json:
        print_json({**document, "reached": found})
    else:
        _tell_revoked(result, repair)
        say_reached(found)
    finish(FAILED if repair and repair.state in ("partial", "failed") else DONE)


def _tell_revoked(result: RevokeResult, repair: Run | None) -> None:
    below = f", {len(result.quarantined)} that lean on it withdrawn too" if result.quarantined else ""
    rule = result.rule_id
    say(f"revoked {rule} (epoch {result.epoch}){below}" if result.changed else f"{rule} was revoked before")
    if repair is not None:
        say(f"its repair is {repair.state}: slowwave show {repair.id}")


def _repair(store: Store, result: RevokeResult) -> Run | None:
    """Work off the repair here, whether or not a worker runs: the claim decides who gets its step."""
    if result.repair_run_id is None:
        return None
    with store.database.read() as session:
        run = runs.run_by_id(session, result.repair_run_id)
    return drive(store, run) if run is not None and run.state == "running" else run
