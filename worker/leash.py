"""``python -m worker.leash PARENT COMMAND…``: become COMMAND, and be told to stop when PARENT dies.

On Linux the kernel sends the signal, whatever way the parent went; elsewhere the parent's own clean-up has to do.
Imports next to nothing, since every child of the supervisor starts through it.
"""

from __future__ import annotations

import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Bind to the parent, then become the command."""
    parent, command = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent was gone before the child could start")
    os.execv(command[0], command)  # noqa: S606 - the supervisor's own commands


if __name__ == "__main__":
    main(sys.argv[1:])
