"""Coverage-guided fuzzing of every importer: ``make fuzz``.

    PYTHONPATH=tests .venv/bin/python tests/fuzz/importers.py --format alfworld --seconds 60 --seed 7

Each input is an example file of the format with a part of it overwritten by the fuzzer's bytes, or with its JSON
mangled by them; now and then the fuzzer's bytes alone. It fails on any exception, on a record that could not be
stored, and on a good record that is gone because another was spoilt. A failing input is written to ``.fuzz`` and
printed; give that file as an argument to see it again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["tasks.ingest"], enable_loader_override=False):
    from support.episode_files import EXAMPLES, Example
    from support.mangling import mangle
    from support.reading import assert_storable, read_all, steps_of


FAILED = Path(__file__).parents[2] / ".fuzz"


def one_input(data: bytes, examples: list[Example]) -> None:
    """One file made of ``data``, read and checked."""
    provider = atheris.FuzzedDataProvider(data)
    example = examples[provider.ConsumeIntInRange(0, len(examples) - 1)]
    importer = "auto" if provider.ConsumeIntInRange(0, 3) == 0 else example.format
    how = provider.ConsumeIntInRange(0, 9)
    if how < 6:
        _mangled(example, importer, provider)
    else:
        at = provider.ConsumeIntInRange(0, len(example.data))
        gone = provider.ConsumeIntInRange(0, 40)
        noise = provider.ConsumeBytes(400)
        file = noise if how == 9 else example.data[:at] + noise + example.data[at + gone :]
        assert_storable(read_all(file, importer))


def _mangled(example: Example, importer: str, provider: atheris.FuzzedDataProvider) -> None:
    def choose(below: int) -> int:
        return provider.ConsumeIntInRange(0, below - 1)

    units = list(example.units)
    at = choose(len(units))
    units[at] = mangle(units[at], choose, times=1 + choose(5))
    found = read_all(example.assemble(units), importer)
    kept = steps_of(found)
    assert_storable(found)
    if importer != "auto" and example.episodes == len(units) > 1:
        lost = Counter(steps_of(read_all(example.data, example.format))) - Counter(kept)
        if sum(lost.values()) > 1:
            raise AssertionError("a good record beside a spoilt one is gone")


def main() -> None:
    """Fuzz one format in this process; without ``--format``, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", nargs="?", help="a failing input to run again (with its --format)")
    parser.add_argument("--format", choices=sorted({each.format for each in EXAMPLES}))
    parser.add_argument("--seconds", type=int, default=30, help="for each format (default: 30)")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    if asked.format is None:
        sys.exit(_each(asked.seconds, asked.seed))
    examples = [each for each in EXAMPLES if each.format == asked.format]
    if asked.input:
        one_input(Path(asked.input).read_bytes(), examples)
        return
    FAILED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        flags = [
            f"-artifact_prefix={FAILED}/{asked.format}-",
            f"-max_total_time={asked.seconds}",
            f"-seed={asked.seed}",
            "-max_len=4096",
            "-len_control=0",
            "-timeout=20",
            "-rss_limit_mb=2048",
        ]
        print(f"{asked.format}: seed {asked.seed}", flush=True)
        atheris.Setup([sys.argv[0], *flags, corpus], lambda data: one_input(data, examples))
        atheris.Fuzz()


def _each(seconds: int, seed: int) -> int:
    failed = []
    for name in sorted({each.format for each in EXAMPLES}):
        command = [sys.executable, __file__, "--format", name, "--seconds", str(seconds), "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stderr.strip().splitlines()
        print(f"{name:16} {'ok' if done.returncode == 0 else 'FAILED'}  {lines[-1] if lines else ''}", flush=True)
        if done.returncode:
            failed.append(name)
            print(done.stdout[-2000:] + done.stderr[-6000:], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    main()
