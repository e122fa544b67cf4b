"""The command line: one small file a group of commands. ``main`` is the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """The console script ``slowwave``."""
    if sys.platform == "win32":
        sys.exit("slowwave does not run on Windows: use WSL, or the containers of docker-compose.yml")
    from worker.cli.root import main as run

    run()
