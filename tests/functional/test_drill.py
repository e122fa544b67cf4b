"""A small drill as a person runs it: the command, its own stack, real clients, a real revocation."""

from __future__ import annotations

import shutil
import signal
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import psutil
import pytest

from support.local import COMMAND, Home
from support.servers import short_folder

pytestmark = pytest.mark.processes


def drilled(home: Home, *arguments: str, code: int = 0) -> dict[str, Any]:
    document = home.json("drill", "--readers", "4", *arguments, code=code)
    (found,) = document["drills"]
    print({name: found.get(name) for name in ("condition", "served", "refused", "acted", "wrong")})
    assert document["passed"] == found["passed"] == (code == 0)
    return dict(found)


def test_connected_readers_stop_and_the_result_is_kept(home: Home) -> None:
    found = drilled(home, "--conditions", "connected", "--limit", "10")
    assert (found["never"], found["past_lease"], found["came_back"]) == (0, 0, 0)
    assert 0 <= found["served"]["max"] <= found["refused"]["max"]
    (kept,) = home.json("drill", "--history")
    assert kept["refused"] == found["refused"]


@pytest.mark.long
def test_readers_that_are_cut_off_stop_within_their_lease(home: Home) -> None:
    found = drilled(home, "--conditions", "disconnected", "--lease", "2")
    assert 1.0 < found["served"]["max"] <= 2.0, "they were cut off, so the lease ended it and nothing sooner"
    assert found["never"] == found["past_lease"] == 0


@pytest.mark.long
def test_sessions_on_an_incomplete_sample_are_stopped_and_on_what_was_derived_go_on_read_only(home: Home) -> None:
    found = drilled(home, "--mode", "incomplete", "--limit", "10")
    assert found["verdicts"] == {"read-only": 2, "stop": 2}
    assert [name.rpartition("-")[0] for name in found["withdrawn"]] == ["canary-sample", "canary-derived"]
    assert found["done"] == found["traced"] > 0
    assert found["pending"] > 0


def test_a_drill_that_is_told_to_stop_leaves_no_process_and_no_folder(home: Home) -> None:
    folder = short_folder()
    try:
        argv = [*COMMAND, "drill", "--readers", "2", "--conditions", "connected"]
        with Popen(argv, env={**home.env, "TMPDIR": str(folder)}, stdout=DEVNULL, stderr=PIPE, text=True) as drill:
            assert drill.stderr is not None
            while "revoking it" not in (line := drill.stderr.readline()):
                assert line, "the drill ended before its readers had the canary"
            started = psutil.Process(drill.pid).children(recursive=True)
            assert started
            assert list(folder.glob("slowwave-drill-*"))
            drill.send_signal(signal.SIGTERM)
            assert drill.wait(60) != 0
        _, alive = psutil.wait_procs(started, timeout=30)
        assert alive == []
        assert list(folder.glob("slowwave-drill-*")) == []
    finally:
        shutil.rmtree(folder, ignore_errors=True)
