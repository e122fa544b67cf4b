from __future__ import annotations

import os
import socket
import subprocess
import sys

from worker.identity import is_dead, owner, started


def test_this_process_is_alive() -> None:
    assert not is_dead(owner())


def test_a_process_that_ended_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = f"{socket.gethostname()}/{child.pid}/{started(child.pid)}"
    assert not is_dead(name)
    child.communicate(b"\n")
    assert is_dead(name)


def test_a_later_process_with_the_same_number_is_another() -> None:
    assert is_dead(f"{socket.gethostname()}/{os.getpid()}/1")


def test_a_process_of_another_host_is_left_to_its_lease() -> None:
    assert not is_dead("elsewhere.example/1/1")


def test_a_name_of_another_form_is_left_to_its_lease() -> None:
    assert not is_dead("someone")
