"""``python -m slowwave_client.mcp``: the same as ``slowwave-mcp``."""

from slowwave_client.mcp import main

main()
