"""``slowwave-mcp``: reviewed rules as tools of the Model Context Protocol. Needs the extra ``slowwave-client[mcp]``."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """The console script ``slowwave-mcp``: serves until its client leaves. Exit codes: 0 done, 2 wrong usage."""
    from slowwave_client.mcp.config import ConfigWrong, read_config

    try:
        config = read_config(sys.argv[1:], os.environ)
    except ConfigWrong as wrong:
        sys.stderr.write(f"slowwave-mcp: {wrong}\n")
        sys.exit(2)
    try:
        import mcp  # noqa: F401
    except ImportError:
        sys.stderr.write("slowwave-mcp needs the package mcp: pip install 'slowwave-client[mcp]'\n")
        sys.exit(2)
    from slowwave_client.mcp.run import run

    run(config)
