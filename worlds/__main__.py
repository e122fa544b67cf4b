"""``python -m worlds``: write episodes as JSON lines."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from worlds import POLICIES, WORLDS, coding, generate, invented, planted
from worlds.engine.habits import PlantedHabit
from worlds.generate import CONFOUNDERS, RELEASES

DEFAULT_START = "2026-01-05T08:00:00+00:00"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit code (0 done, 2 wrong usage)."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        if options.planted and options.coding:
            _write_lines(sys.stdout, map(asdict, coding.planted()))
            return 0
        if options.planted:
            _write_lines(sys.stdout, _truth(_habits(options)))
            return 0
        _write(options.out, _episodes(options), options.seed)
    except BrokenPipeError:
        # The reader has seen enough (``| head``). Closing standard output quietly is all that is left to do.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as problem:
        parser.error(str(problem))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m worlds",
        description="Run scripted agents in small tool worlds and write their episodes as JSON lines.",
    )
    parser.add_argument("--seed", type=int, default=7, help="same seed, same episodes (default 7)")
    parser.add_argument("--episodes", type=int, default=400, help="how many in all (default 400)")
    parser.add_argument("--out", default="-", help="folder to write episodes-SEED.jsonl into, or - for standard output")
    parser.add_argument("--world", action="append", choices=list(WORLDS), help="only this world; may be repeated")
    parser.add_argument("--invented", type=int, metavar="SEED",
                        help="the world invented from this seed, with agents and log manners of its own")  # fmt: skip
    parser.add_argument("--coding", action="store_true", help="coding sessions with retries and without outcomes")
    parser.add_argument("--agent", action="append", choices=list(POLICIES), help="only this agent; may be repeated")
    parser.add_argument("--start", default=DEFAULT_START, help=f"start of the first run (default {DEFAULT_START})")
    parser.add_argument("--confound", action="append", choices=[*CONFOUNDERS, "none"],
                        help="what harmless calls go with; may be repeated (default difficulty)")  # fmt: skip
    parser.add_argument("--release", choices=RELEASES,
                        help="release of the worlds' systems (default current; mixed for --invented)")  # fmt: skip
    parser.add_argument("--no-task-keys", action="store_true", help="leave task_key out, as most real logs do")
    parser.add_argument("--rules", type=Path, help="JSON file with a list of rules for the agent that reads memory")
    parser.add_argument("--planted", action="store_true", help="print the planted habits instead of episodes")
    return parser


def _episodes(options: argparse.Namespace) -> Iterable[dict[str, Any]]:
    start = datetime.fromisoformat(options.start)
    start = start if start.tzinfo else start.replace(tzinfo=UTC)
    confound = tuple(name for name in options.confound or ("difficulty",) if name != "none")
    if options.coding:
        if options.world or options.agent or options.rules or options.invented is not None:
            raise ValueError("--coding brings its own agents and errors, and none of them reads rules")
        return coding.sessions(options.seed, options.episodes, start)
    if options.invented is not None:
        if options.world or options.agent or options.rules:
            raise ValueError("--invented brings its own world and agents, and none of them reads rules")
        return invented.generate(
            options.invented,
            options.seed,
            options.episodes,
            start=start,
            confound=confound,
            task_keys=not options.no_task_keys,
            release=options.release or "mixed",
        )
    return generate(
        options.seed,
        options.episodes,
        worlds=options.world or tuple(WORLDS),
        start=start,
        confound=confound,
        task_keys=not options.no_task_keys,
        memory=json.loads(options.rules.read_text("utf-8")) if options.rules else None,
        agents=options.agent,
        release=options.release or "current",
    )


def _habits(options: argparse.Namespace) -> Sequence[PlantedHabit]:
    if options.invented is not None:
        return invented.invent(options.invented).world.habits
    return planted(tuple(options.world or WORLDS))


def _truth(habits: Iterable[PlantedHabit]) -> Iterable[dict[str, Any]]:
    for habit in habits:
        yield {
            "world": habit.world,
            "id": habit.id,
            "predicate": habit.predicate,
            "equivalents": habit.equivalents,
            "applies_to": habit.applies_to,
            "exceptions": habit.exceptions,
            "harm": habit.harm,
            "releases": habit.releases,
            "telltales": habit.telltales,
            "why": habit.why,
        }


def _write(out: str, episodes: Iterable[dict[str, Any]], seed: int) -> None:
    if out == "-":
        _write_lines(sys.stdout, episodes)
        return
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"episodes-{seed}.jsonl").open("w", encoding="utf-8") as file:
        _write_lines(file, episodes)


def _write_lines(file: Any, rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
