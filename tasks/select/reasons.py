"""Why an episode is read tonight."""

from __future__ import annotations

from collections.abc import Collection


def why(
    *, session: str | None, task: str, outcome: str, is_revision: bool, missed: Collection[str], failed: Collection[str]
) -> str:
    """The strongest reason first: a search that found nothing, a mistake made again, a corrected record, or just new.

    Args:
        missed: sessions whose search found nothing.
        failed: tasks that an earlier night saw fail.
    """
    if session is not None and session in missed:
        return "its search found nothing"
    if outcome == "failure" and task in failed:
        return "repeated mistake"
    return "corrected record" if is_revision else "new"
