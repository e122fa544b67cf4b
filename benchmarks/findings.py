"""Whether what a night stages is true: ``make bench``, or ``python benchmarks/findings.py --quick``.

Each night is a real one: a home folder of its own, ``slowwave ingest``, ``slowwave consolidate --local``, and then the
rules that wait in the queue. Beside it stands what a comparison without strata would have said: Fisher's exact test on
the same features over all runs, Benjamini-Hochberg at the same level.

On the tool worlds the truth is known. ``precision`` is the share of findings that are not false (other wordings of a
planted habit are redundant, and counted apart); ``recall`` the share of habits found among those that these episodes
can show at all, and, in brackets, among all that are planted. On real logs the truth is not known: there, rules found
on half of the tasks are looked up in the other half, and ``kept`` is the share whose effect within tasks points the
same way.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from finding_nights import Claim, Known, claims_without_strata, night, read_in, within_tasks  # noqa: E402

from worlds import WORLDS, PlantedHabit, generate, invented, planted  # noqa: E402
from worlds.grade import Grade, findable_habits, grade  # noqa: E402

START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
SEED = 7
WANTED = {"precision": 0.95, "recall": 0.9}
INVENTED = tuple(range(1, 9))


@dataclass(frozen=True)
class Condition:
    """What is made hard on purpose."""

    name: str
    confound: tuple[str, ...]
    task_keys: bool = True


CONDITIONS = (
    Condition("plain", ()),
    Condition("difficulty", ("difficulty",)),
    Condition("agent", ("agent",)),
    Condition("both, no keys", ("difficulty", "agent"), task_keys=False),
)


@dataclass(frozen=True)
class Stream:
    """Episodes of one world or of several, always with their keys, and the truth about them."""

    name: str
    episodes: list[dict[str, Any]]
    habits: Sequence[PlantedHabit]


@dataclass(frozen=True)
class Row:
    """One night on a stream, and the comparison without strata beside it."""

    world: str
    condition: str
    findable: int
    planted: int
    ours: Grade
    theirs: Grade


@dataclass(frozen=True)
class HeldOut:
    """Findings on one half of the tasks, looked up in the other. ``untold`` ones say nothing there."""

    kept: int = 0
    turned: int = 0
    untold: int = 0

    def __add__(self, other: HeldOut) -> HeldOut:
        return HeldOut(self.kept + other.kept, self.turned + other.turned, self.untold + other.untold)


@dataclass
class Logs:
    """What real logs gave over all halves. ``sought`` counts halves in which the rule in question was staged."""

    name: str
    episodes: int
    tasks: int
    halves: int = 0
    ours: HeldOut = field(default_factory=HeldOut)
    theirs: HeldOut = field(default_factory=HeldOut)
    sought: int = 0
    whole: list[str] = field(default_factory=list)


def main() -> None:
    """Measure, then print tables; the exit code is 1 if the worlds' figures are below what is promised."""
    given = _asked().parse_args()
    sources = sources_hash()
    if not given.json:
        print(f"sources of the worlds: sha256 {sources}")
    seeds = given.worlds[:2] if given.quick else given.worlds
    episodes = 1000 if given.quick else given.episodes
    conditions = [CONDITIONS[0], CONDITIONS[3]] if given.quick else CONDITIONS
    conditions = [one for one in conditions if given.only is None or one.name == given.only]
    rows = [_shown(row, quiet=given.json) for row in on_worlds(seeds, episodes, conditions, given.seed)]
    logs = [] if given.no_logs else list(on_logs(given.data, salts=1 if given.quick else given.salts))
    good = _sums(rows, quiet=given.json)
    for each in logs:
        _show_logs(each, quiet=given.json)
    if given.json:
        print(_as_json(sources, given, rows, logs))
    raise SystemExit(0 if good else 1)


def _asked() -> argparse.ArgumentParser:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--episodes", type=int, default=2000, help="of each stream (default 2000)")
    asked.add_argument("--seed", type=int, default=SEED, help="of the episodes")
    asked.add_argument("--worlds", type=int, nargs="*", default=list(INVENTED), help="seeds of the invented worlds")
    asked.add_argument("--only", choices=[one.name for one in CONDITIONS], help="one condition")
    asked.add_argument("--salts", type=int, default=5, help="how often the tasks of real logs are halved")
    asked.add_argument("--data", type=Path, help="folder with tau and agentdojo (default $SLOWWAVE_SAMPLES)")
    asked.add_argument("--no-logs", action="store_true", help="worlds only")
    asked.add_argument("--quick", action="store_true", help="two invented worlds, two conditions, 1000 episodes")
    asked.add_argument("--json", action="store_true", help="one document instead of tables")
    return asked


def sources_hash() -> str:
    """Of every source of the worlds: figures of two hashes are of two generators."""
    digest = hashlib.sha256()
    for file in sorted((ROOT / "worlds").rglob("*.py")):
        digest.update(f"{file.relative_to(ROOT).as_posix()}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def on_worlds(seeds: Iterable[int], episodes: int, conditions: Iterable[Condition], seed: int) -> Iterator[Row]:
    """A night on each stream under each condition."""
    seeds = list(seeds)
    for condition in conditions:
        made = generate(seed, episodes, worlds=tuple(WORLDS), start=START, confound=condition.confound)
        yield _graded(Stream("hand-made", list(made), planted()), condition)
        for each in seeds:
            made = invented.generate(each, seed, episodes, start=START, confound=condition.confound)
            yield _graded(Stream(f"invented:{each}", list(made), invented.invent(each).world.habits), condition)


def _graded(stream: Stream, condition: Condition) -> Row:
    can = findable_habits(stream.episodes, stream.habits)
    seen = stream.episodes if condition.task_keys else [_without_key(one) for one in stream.episodes]
    staged, known = night(seen, _namespace(stream.name, condition.name))
    ours = [claim.predicate for claim in staged]
    theirs = [claim.predicate for claim in claims_without_strata(known)]
    return Row(
        stream.name, condition.name, len(can), len(stream.habits),
        grade(ours, stream.habits, can), grade(theirs, stream.habits, can),
    )  # fmt: skip


def _namespace(*parts: str) -> str:
    return "bench/" + "-".join(re.sub(r"[^a-z0-9]+", "-", part) for part in parts)


def _without_key(episode: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in episode.items() if name != "task_key"}


def on_logs(data: Path | None, salts: int) -> Iterator[Logs]:
    """Rules found on half of the tasks of real logs, looked up in the other half; both ways, with several salts."""
    folder = data or Path(os.environ.get("SLOWWAVE_SAMPLES") or ROOT.parent / "shared" / "data")
    for name in ("tau", "agentdojo"):
        if not (folder / name).is_dir():
            print(f"{name}: not measured, there is no folder {name!r} in the sample data", file=sys.stderr)
            continue
        yield _halved(name, read_in(folder / name), salts)


def _halved(name: str, known: Sequence[Known], salts: int) -> Logs:
    logs = Logs(name, len(known), len({one.stratum for one in known}))
    logs.whole = [claim.words for claim in night([one.body for one in known], _namespace(name, "all"))[0]]
    for salt in range(salts):
        for side in (0, 1):
            finding = [one for one in known if _side(one.stratum, salt) == side]
            looking = [one for one in known if _side(one.stratum, salt) != side]
            staged, _ = night([one.body for one in finding], _namespace(name, str(salt), str(side)))
            logs.halves += 1
            logs.sought += any(_is_sought(claim) for claim in staged)
            logs.ours += _looked_up(staged, looking)
            logs.theirs += _looked_up(claims_without_strata(finding), looking)
    return logs


def _side(stratum: str, salt: int) -> int:
    return hashlib.sha256(f"{salt}/{stratum}".encode()).digest()[0] % 2


def _is_sought(claim: Claim) -> bool:
    return claim.predicate.get("call") == "cancel_reservation" and claim.predicate.get("direction") == "avoid"


def _looked_up(claims: Iterable[Claim], looking: Sequence[Known]) -> HeldOut:
    found = HeldOut()
    for claim in claims:
        excess = within_tasks(claim.predicate, looking)
        if excess is None or excess == 0:
            found += HeldOut(untold=1)
            continue
        same = (excess > 0) == (claim.predicate["direction"] == "do")
        found += HeldOut(kept=int(same), turned=int(not same))
    return found


def _shown(row: Row, *, quiet: bool) -> Row:
    if not quiet:
        ours, theirs = row.ours, row.theirs
        print(
            f"{row.world:12} {row.condition:14} precision {ours.precision:.2f} recall {ours.recall:.2f} "
            f"({len(ours.found)}/{row.planted} planted, {row.findable} findable) staged {ours.staged:2} "
            f"redundant {len(ours.redundant):2} false {len(ours.false):2} | "
            f"without strata: precision {theirs.precision:.2f} recall {theirs.recall:.2f} staged {theirs.staged:3} "
            f"redundant {len(theirs.redundant):3}",
            flush=True,
        )
        for finding in ours.false:
            print(f"    false:  {_words(finding)}")
        if ours.missed:
            print(f"    missed: {', '.join(ours.missed)}", flush=True)
    return row


def _sums(rows: Sequence[Row], *, quiet: bool) -> bool:
    """Print the pooled figures of each condition; returns whether all are as promised."""
    good = True
    for condition in dict.fromkeys(row.condition for row in rows):
        for handmade in (True, False):
            some = [row for row in rows if row.condition == condition and (row.world == "hand-made") is handmade]
            if not some:
                continue
            ours, theirs = pooled([row.ours for row in some]), pooled([row.theirs for row in some])
            good = good and all(ours[name] >= wanted for name, wanted in WANTED.items())
            if not quiet:
                name = "hand-made" if handmade else "invented"
                print(f"{name:12} {condition:14} together: {_figures(ours)} | without strata: {_figures(theirs)}")
    return good


def _figures(sums: dict[str, float]) -> str:
    return (
        f"precision {sums['precision']:.3f} recall {sums['recall']:.3f} (of planted {sums['recall_of_planted']:.3f})"
        f" staged {sums['staged']:.0f} redundant {sums['redundant']:.0f}"
    )


def pooled(grades: Collection[Grade]) -> dict[str, float]:
    """Figures over several nights taken together."""
    staged, false = sum(one.staged for one in grades), sum(len(one.false) for one in grades)
    found, missed = sum(len(one.found) for one in grades), sum(len(one.missed) for one in grades)
    every = found + missed + sum(len(one.unfindable) for one in grades)
    return {
        "precision": 1 - false / staged if staged else 1.0,
        "recall": found / (found + missed) if found + missed else 1.0,
        "recall_of_planted": found / every if every else 1.0,
        "redundant": sum(len(one.redundant) for one in grades),
        "staged": staged,
    }


def _show_logs(logs: Logs, *, quiet: bool) -> None:
    if quiet:
        return
    print(f"{logs.name}: {logs.episodes} episodes of {logs.tasks} tasks; staged on all of them:")
    for words in logs.whole:
        print(f"    {words}")
    for name, held in (("stratified", logs.ours), ("without strata", logs.theirs)):
        told = held.kept + held.turned
        share = f"{held.kept / told:.2f}" if told else "none told"
        print(
            f"    {name:15} over {logs.halves} halves: {told + held.untold} findings, direction kept on held-out tasks "
            f"{held.kept} of {told} ({share}), {held.untold} say nothing there"
        )
    if logs.name == "tau":
        print(f"    avoid cancel_reservation was staged on {logs.sought} of {logs.halves} halves")


def _words(predicate: Any) -> str:
    return " ".join(str(value) for name, value in predicate.items() if name != "family")


def _as_json(sources: str, given: argparse.Namespace, rows: Sequence[Row], logs: Sequence[Logs]) -> str:
    return json.dumps(
        {
            "sources": sources,
            "seed": given.seed,
            "worlds": [{**asdict(row), "precision": row.ours.precision, "recall": row.ours.recall} for row in rows],
            "logs": [asdict(each) for each in logs],
        },
        ensure_ascii=False,
        indent=1,
    )


if __name__ == "__main__":
    main()
