"""How fast episodes come in, beside a bare insert of the same bytes: ``make bench``.

In one run, on SQLite and on PostgreSQL: ingest with and without redaction, the same again (all of it known), and one
transaction that puts the same raw records into a one-table database of the same kind. The rounds are interleaved, so
that a busy machine is unfair to none. A ratio is bare seconds over ingest seconds: higher is better, 1 would be as
fast as storing bytes without looking at them. Give a file or a folder of episodes to measure those instead.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]


from storage import migrate  # noqa: E402
from storage.engine import Database  # noqa: E402
from storage.sealing import seal_text  # noqa: E402
from tasks.ingest import ready, redact, step  # noqa: E402
from tasks.ingest.fingerprint import source_hash  # noqa: E402
from tasks.ingest.importers.base import Imported  # noqa: E402
from tasks.ingest.importers.registry import choose  # noqa: E402
from tasks.ingest.prepare import Door, Origin, prepare  # noqa: E402
from tasks.ingest.reader import open_source  # noqa: E402
from worlds import WORLDS, generate  # noqa: E402

NAMESPACE = "bench"
START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
SECRET = b"a key for benchmarks, 32 bytes.."
WANTED = {"redaction on": 0.05, "redaction off": 0.12}
MOST_LOCKED = 0.050
TEXT = """
the file service returned order error line value config request trace import session handler test passed failed
warning build path cache index server response update user module version timeout retry queue shard table 404 200
def return self None True for in if else src/app/main.py tests/test_api.py https://example.org/docs/page.html -> ::
2026-01-05T08:00:00Z 10.0.0.7 0x7f3a [] {} == != # TODO token count = 1871 $HOME ./run.sh --verbose é 例
"""
WORDS = TEXT.split()


def main() -> None:
    """Measure, then print a table."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("path", nargs="?", type=Path, help="episodes of your own (.jsonl or a folder) to measure")
    asked.add_argument("--megabytes", type=int, default=120)
    asked.add_argument("--rounds", type=int, default=3)
    asked.add_argument("--seed", type=int, default=7)
    asked.add_argument("--only", choices=("sqlite", "postgresql"))
    asked.add_argument("--profile", action="store_true", help="print cProfile of one ingest with redaction, and stop")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="slowwave-bench-") as folder:
        path = given.path or _generated(Path(folder) / "episodes.jsonl", given.megabytes, given.seed)
        raw = _raw_records(path)
        size = sum(map(len, raw))
        print(
            f"{len(raw)} records, {size / 1e6:.1f} MB, median {statistics.median(map(len, raw)) / 1e3:.0f} KB each, "
            f"{given.rounds} rounds, {os.cpu_count()} cores"
        )
        for kind in ("sqlite", "postgresql"):
            if given.only in (None, kind):
                with _stores(kind, Path(folder)) as fresh:
                    if given.profile:
                        _profile(fresh, path)
                    else:
                        _tell(kind, size, *_measure(fresh, kind, path, raw, given.rounds))


def _generated(path: Path, megabytes: int, seed: int) -> Path:
    """Episodes of the worlds, their observations as long as those of real tools: 10 to 40 KB a record."""
    chance = random.Random(seed)
    made: list[dict[str, Any]] = list(generate(seed, 400, worlds=tuple(WORLDS), start=START))
    written = number = 0
    with path.open("w", encoding="utf-8") as out:
        while written < megabytes * 1_000_000:
            episode = made[number % len(made)]
            steps = [dict(each) for each in episode["steps"]]
            left = chance.randint(8_000, 36_000)
            while left > 0:
                text = _prose(chance, min(left, chance.randint(300, 4_000)))
                call = {"id": f"b{len(steps)}", "kind": "tool_call", "name": "read_file"}
                steps.append({**call, "arguments": {"path": f"src/module_{left}.py", "limit": 200}})
                steps.append({"id": f"b{len(steps)}", "kind": "observation", "of": call["id"], "text": text})
                left -= len(text)
            own = {"id": f"run-{number}", "session_id": f"s-{number}", "steps": steps}
            line = json.dumps({**episode, **own}, ensure_ascii=False) + "\n"
            out.write(line)
            written, number = written + len(line.encode()), number + 1
    return path


def _prose(chance: random.Random, length: int) -> str:
    return "\n".join(" ".join(chance.choices(WORDS, k=12)) for _ in range(max(1, length // 85)))


def _raw_records(path: Path) -> list[bytes]:
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    return [line for file in files for line in file.read_bytes().splitlines() if line]


Fresh = Callable[[str], str]


@contextmanager
def _stores(kind: str, folder: Path) -> Iterator[Fresh]:
    """A maker of databases: ``migrated`` for a store, ``bare`` for one without tables."""
    if kind == "sqlite":
        yield _fresh_sqlite(folder)
        return
    from support.servers import PostgresServer, short_folder

    place = short_folder()
    server = PostgresServer(place)
    try:
        yield _fresh_postgres(server.start())
    finally:
        server.stop()
        shutil.rmtree(place)


def _fresh_sqlite(folder: Path) -> Fresh:
    def fresh(what: str) -> str:
        for old in folder.glob("bench.db*"):
            old.unlink()
        return _migrated(f"sqlite:///{folder / 'bench.db'}", what)

    return fresh


def _fresh_postgres(server: Any) -> Fresh:
    def fresh(what: str) -> str:
        server.drop("bench")
        url = _migrated(server.create("bench"), what)
        from psycopg import sql

        server.run(sql.SQL("CHECKPOINT"))
        return url

    return fresh


def _migrated(url: str, what: str) -> str:
    if what == "migrated":
        database = Database(url)
        migrate.upgrade(database)
        database.dispose()
    return url


def _measure(
    fresh: Fresh, kind: str, path: Path, raw: list[bytes], rounds: int
) -> tuple[dict[str, list[float]], list[float], dict[str, float]]:
    took: dict[str, list[float]] = defaultdict(list)
    locked: list[float] = []
    _ingest(fresh("migrated"), path, locked)  # a round that counts for nothing: imports, caches, compiled patterns
    for _ in range(rounds):
        took["bare insert"].append(_bare(fresh("bare"), kind, raw))
        url = fresh("migrated")
        took["redaction on"].append(_ingest(url, path, locked))
        took["the same again"].append(_ingest(url, path, []))
        with _without_redaction():
            took["redaction off"].append(_ingest(fresh("migrated"), path, locked))
    return took, locked, {} if path.is_dir() else {**_parts(path), "write": sum(locked) / (2 * rounds + 1)}


def _ingest(url: str, path: Path, locked: list[float]) -> float:
    database = Database(url)
    with _watched(database, locked):
        began = time.perf_counter()
        report = step.ingest_paths(database, [path], NAMESPACE, principal="bench", now=START, secret=SECRET)
        seconds = time.perf_counter() - began
    database.dispose()
    assert report.accepted + report.duplicates > 0, report
    return seconds


@contextmanager
def _watched(database: Database, locked: list[float]) -> Iterator[None]:
    """Adds how long each write transaction held its lock, from its first statement to its end."""
    real = database.write

    @contextmanager
    def write() -> Iterator[Any]:
        began: list[float] = []
        with real() as session:
            session.connection()
            began.append(time.perf_counter())
            yield session
        locked.append(time.perf_counter() - began[0])

    database.write = write  # type: ignore[method-assign]
    yield


def _bare(url: str, kind: str, raw: list[bytes]) -> float:
    """One transaction, one table, the same bytes."""
    if kind == "sqlite":
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("CREATE TABLE raw (id INTEGER PRIMARY KEY, data BLOB)")
        began = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO raw (data) VALUES (?)", ((each,) for each in raw))
        connection.execute("COMMIT")
        seconds = time.perf_counter() - began
        connection.close()
        return seconds
    import psycopg

    with psycopg.connect(url.replace("postgresql+psycopg", "postgresql"), autocommit=True) as server:
        server.execute("CREATE TABLE raw (id serial PRIMARY KEY, data bytea)")
        began = time.perf_counter()
        with server.transaction():
            server.cursor().executemany("INSERT INTO raw (data) VALUES (%b)", [(each,) for each in raw])
        return time.perf_counter() - began


@contextmanager
def _without_redaction() -> Iterator[None]:
    """Ingest as it would be without a redactor: what redaction costs is the difference."""
    real, work = redact.Redactor.redact, step.prepare_lines
    redact.Redactor.redact = _as_it_is  # type: ignore[method-assign,assignment]
    step.prepare_lines = unredacted_lines
    try:
        yield
    finally:
        redact.Redactor.redact = real  # type: ignore[method-assign]
        step.prepare_lines = work


def _as_it_is(_redactor: redact.Redactor, value: Any) -> tuple[Any, dict[str, int]]:
    return value, {}


def unredacted_lines(*given: Any) -> ready.Worked:
    """What a child process does where there is no redactor."""
    redact.Redactor.redact = _as_it_is  # type: ignore[method-assign,assignment]
    return ready.prepare_lines(*given)


def _profile(fresh: Fresh, path: Path) -> None:
    import cProfile
    import pstats

    _ingest(fresh("migrated"), path, [])
    url, profile = fresh("migrated"), cProfile.Profile()
    profile.enable()
    _ingest(url, path, [])
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(45)


def _parts(path: Path) -> dict[str, float]:
    """Where the time goes, one thing after the other on one core, in seconds."""
    door = Door(NAMESPACE, "bench", False, SECRET, START, redact.Redactor())
    parts: dict[str, float] = defaultdict(float)
    with open_source(path) as source:
        importer = choose(source)
        origin = Origin(importer.name, importer.version, source.scope, source.path)
        began = time.perf_counter()
        for found in importer.read(source):
            parts["parse, validate"] += time.perf_counter() - began
            if isinstance(found, Imported):
                hashed = _timed(parts, "hash", source_hash, SECRET, NAMESPACE, found.record)
                with _redactor_timed(parts):
                    prepared = _timed(parts, "prepare", prepare, found, door, origin, hashed)
                _timed(parts, "compress, encrypt", seal_text, NAMESPACE, prepared.id, prepared.body)
            began = time.perf_counter()
    parts["prepare"] -= parts["redact"]
    return parts


def _timed(parts: dict[str, float], part: str, work: Callable[..., Any], *given: Any) -> Any:
    began = time.perf_counter()
    made = work(*given)
    parts[part] += time.perf_counter() - began
    return made


@contextmanager
def _redactor_timed(parts: dict[str, float]) -> Iterator[None]:
    real = redact.Redactor.redact
    redact.Redactor.redact = lambda *given: _timed(parts, "redact", real, *given)  # type: ignore[method-assign]
    try:
        yield
    finally:
        redact.Redactor.redact = real  # type: ignore[method-assign]


def _tell(kind: str, size: int, took: dict[str, list[float]], locked: list[float], parts: dict[str, float]) -> None:
    print(f"\n{kind}")
    bare = took.pop("bare insert")
    print(f"  {'bare insert':16} {_spread(bare)}")
    for what, seconds in took.items():
        ratios = [one / other for one, other in zip(bare, seconds, strict=True)]
        reached = statistics.median(ratios) >= WANTED.get(what, 0)
        wanted = f"wanted {WANTED[what]:.2f}: {'reached' if reached else 'MISSED'}" if what in WANTED else ""
        rate = size / 1e6 / statistics.median(seconds)
        shown = f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        print(f"  {what:16} {_spread(seconds)}  {rate:6.1f} MB/s  ratio {shown}  {wanted}")
    again = [one / other for one, other in zip(took["redaction on"], took["the same again"], strict=True)]
    print(f"  what is known already comes in {statistics.median(again):.1f} times as fast")
    total = sum(parts.values())
    shares = ", ".join(f"{part} {100 * seconds / total:.0f} %" for part, seconds in parts.items())
    print(f"  where the time goes: {shares}")
    longest = max(locked)
    verdict = "within" if longest <= MOST_LOCKED else "OVER"
    print(f"  longest write transaction {longest * 1e3:.1f} ms of {len(locked)}: {verdict} {MOST_LOCKED * 1e3:.0f} ms")


def _spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):7.3f} s ({min(seconds):.3f} to {max(seconds):.3f})"


if __name__ == "__main__":
    main()
