"""A long ingest says how far it is: a bar on a terminal, a plain line now and then elsewhere, nothing on short ones."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from tasks.ingest.source import Source
from tasks.ingest.step import IngestReport
from worker.cli.progress import LINE_SECONDS, IngestProgress, shortened, total_bytes


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def told(paths: list[str], *, terminal: bool, seconds: float, report: IngestReport | None = None) -> str:
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, force_terminal=terminal, width=160, highlight=False)
    stream = io.BytesIO(b"x" * 3_000_000)
    with IngestProgress(paths, console=console, clock=clock) as progress:
        progress.opened(Source(stream, "a", "evil[red]\x1b[2J.jsonl", "a", tell=stream.tell))
        stream.read(1_500_000)
        clock.now += seconds
        progress.batch(report or IngestReport(accepted=100, duplicates=20, revised=3), "evil[red]\x1b[2J.jsonl")
        if terminal:
            progress._bars.refresh()
    return out.getvalue()


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "a.jsonl").write_bytes(b"x" * 3_000_000)
    return str(tmp_path / "a.jsonl")


def test_a_short_run_that_nobody_watches_says_nothing(file: str) -> None:
    assert told([file], terminal=False, seconds=LINE_SECONDS - 1) == ""


def test_a_long_one_says_a_plain_line(file: str) -> None:
    assert told([file], terminal=False, seconds=LINE_SECONDS) == (
        "1.5 of 3.0 MB read, 100 taken, 20 known, 3 revised, 0 rejected, 12 records/s, 0.1 MB/s\n"
    )


def test_on_a_terminal_a_bar_shows_bytes_and_counts_and_obeys_no_file_name(file: str) -> None:
    shown = told([file], terminal=True, seconds=1)
    assert "1.5/3.0 MB" in shown
    assert "100 taken, 20 known, 3 revised, 0 rejected" in shown
    assert "123 records/s, 1.5 MB/s" in shown
    assert "evil[red]\\u001b[2J.jsonl" in shown


def test_a_stream_of_unknown_length_has_no_whole() -> None:
    assert told(["-"], terminal=False, seconds=LINE_SECONDS).startswith("1.5 MB read, 100 taken")


def test_the_whole_is_what_lies_on_the_disk(tmp_path: Path, file: str) -> None:
    (tmp_path / "b.jsonl").write_bytes(b"x" * 11)
    assert total_bytes([str(tmp_path)]) == 3_000_011
    assert total_bytes([file, file, f"{tmp_path}/*.nope"]) == 3_000_000
    assert total_bytes([file, "-"]) is None


PLACE = "/mnt/runs/2026/november/a-folder-with-a-long-name/another/and-one-more/retail-漢字-trial-000417.jsonl"
MANY = IngestReport(accepted=1_234_567, duplicates=2_345_678, revised=345_678, rejected=[])


@pytest.mark.parametrize("place", [PLACE, "漢" * 100, "x"], ids=["long", "wide", "short"])
def test_at_80_columns_bar_bytes_and_rates_are_whole_and_a_long_path_is_cut_in_its_middle(
    tmp_path: Path, place: str
) -> None:
    out, clock = io.StringIO(), Clock()
    console = Console(file=out, force_terminal=True, width=80, highlight=False, color_system=None)
    with (tmp_path / "a").open("wb") as file:
        file.truncate(123_456_000_000)
    stream = (tmp_path / "a").open("rb")
    with stream, IngestProgress([str(tmp_path)], console=console, clock=clock) as progress:
        progress.opened(Source(stream, "a", place, "a", tell=stream.tell))
        stream.seek(98_765_000_000)
        clock.now += 30
        progress.batch(MANY, place)
        out.truncate(0)
        progress._bars.refresh()
        out.seek(0)
        bar, counts, now = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", row).rstrip() for row in out.read().split("\n")[:3]]
    assert len(re.findall("[━╸╺]", bar)) >= 12
    assert "98.8/123.5 GB 130864 records/s, 3292.2 MB/s" in bar
    assert counts == "1234567 taken, 2345678 known, 345678 revised, 0 rejected"
    assert all(cell_len(row) <= 80 for row in (bar, counts, now))
    if place == PLACE:
        assert re.fullmatch(r"now /mnt/runs/.*….*/retail-漢字-trial-000417\.jsonl", now)


def test_a_text_that_fits_is_not_cut() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcdefgh", 4) == "a…gh"
