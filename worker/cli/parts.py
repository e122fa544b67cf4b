"""Commands that make several candidates of one, or one of several. They act as the person behind SLOWWAVE_TOKEN."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worker.cli.decide import CandidateId, Hash, Reason, namespace_of_candidate
from worker.cli.output import CommandFailed, JsonFlag, counted, print_json, print_paragraphs, say
from worker.cli.queue import OptionalNamespace
from worker.cli.store import open_store, person

if TYPE_CHECKING:
    # Imported where it is used: SciPy comes along and takes a second that other commands need not wait for.
    from tasks.stage.split_step import Choices, Tally

By = Annotated[str | None, typer.Option("--by", help="One of the ways that are listed without it.")]
SplitHash = Annotated[str | None, typer.Option("--hash", help="content_hash of exactly what you read.")]
SplitReason = Annotated[str | None, typer.Option("--reason", "-r", help="Why, in words; it is kept.")]
OtherId = Annotated[str, typer.Argument(metavar="OTHER", help="The duplicate, which is closed.")]
OtherHash = Annotated[str, typer.Option("--other-hash", help="content_hash of exactly what you read of the other.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("split")(split)
    app.command("merge")(merge)


def split(
    candidate: CandidateId,
    by: By = None,
    content_hash: SplitHash = None,
    reason: SplitReason = None,
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Split a candidate by agent or version into narrower ones; without --by, list how it can be split.

    Each part has the same text, a narrower scope, and the evidence of its own runs. Whoever splits may not approve one.

    Examples:
      slowwave split ID
      export SLOWWAVE_TOKEN=sw_…
      slowwave split ID --by "api<=3.2" --hash HASH --reason "3.3 does it itself"
    """
    from tasks.context import PipelineSettings
    from tasks.stage import split_step

    settings = PipelineSettings()
    with open_store() as store:
        where = namespace_of_candidate(store, candidate, namespace)
        if by is None:
            found = split_step.choices_of(store.database, where, candidate, settings)
            print_json(_listed(found)) if json else _tell_choices(found)
            return
        if content_hash is None or reason is None:
            raise CommandFailed(
                "A split needs the hash of what you read, and a reason.", "Give --hash and --reason.", 2
            )
        who = person(store)
        done = split_step.split(
            store.database, where, candidate, content_hash=content_hash, by=by, reviewer=who, reason=reason,
            now=store.now, secret=store.secret, settings=settings,
        )  # fmt: skip
    if json:
        print_json(asdict(done))
    elif not done.changed:
        say(f"it was split so before: {', '.join(done.parts)}")
    else:
        say(f"split into {counted(len(done.parts), 'candidate')}: {', '.join(done.parts)}")
        if done.refused:
            say(f"rejected before, and still so: {', '.join(done.refused)}")


def _listed(found: Choices) -> dict[str, Any]:
    return {**asdict(found), "choices": [asdict(one) for one in found.choices]}


def _tell_choices(found: Choices) -> None:
    entries = []
    for one in found.choices:
        neither = f"{counted(one.neither, 'group')} on neither side" if one.neither else ""
        entries.append([f'--by "{one.key}"', *(_side(side) for side in one.sides), neither])
    title = f"content_hash {found.content_hash}; {counted(found.groups, 'independent group')} counted"
    print_paragraphs(title, entries, f"it cannot be split: {found.why}")


def _side(side: Tally) -> str:
    left = side.left
    verdict = "the effect is seen" if left.stands else "no effect to be told" if left.enough else "too few to compare"
    return f"{side.words}: {counted(side.runs, 'run')}, {counted(side.groups, 'group')}; {verdict}: {left.words()}"


def merge(
    candidate: CandidateId,
    other: OtherId,
    content_hash: Hash,
    other_hash: OtherHash,
    reason: Reason,
    namespace: OptionalNamespace = None,
    json: JsonFlag = False,
) -> None:
    """Merge a duplicate into a candidate, whose text stays; the evidence of both counts, a group once.

    The other is closed. It comes back by itself if the one that is kept is rejected or withdrawn.

    Examples:
      export SLOWWAVE_TOKEN=sw_…
      slowwave merge KEPT OTHER --hash HASH --other-hash HASH --reason "the same"
    """
    from tasks.stage import merge_step

    with open_store() as store:
        who = person(store)
        done = merge_step.merge(
            store.database, namespace_of_candidate(store, candidate, namespace), candidate, other,
            content_hash=content_hash, other_hash=other_hash, reviewer=who, reason=reason, now=store.now,
            secret=store.secret,
        )  # fmt: skip
    if json:
        print_json(asdict(done))
    elif not done.changed:
        say(f"{other} was merged into {candidate} before")
    else:
        fell = f"; its approvals fell, since {done.voids}" if done.voids else ""
        say(f"merged {other} into {candidate}, which is {done.state} at revision {done.number}{fell}")
