"""``python -m worker.cli``: the same as the console script, for children of the supervisor."""

from worker.cli.root import main

if __name__ == "__main__":
    main()
