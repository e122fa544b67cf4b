"""Expected reach: which sessions of late would have been served a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from review_ui import links
from review_ui.text import shortened
from review_ui.words import _, ngettext
from tasks.stage.reach_step import DAYS, Reached


@dataclass(frozen=True)
class ReachView:
    """``count`` as it is told, ``words`` as a sentence, and some of the sessions as (task, link to an episode)."""

    count: str
    words: str
    sample: tuple[tuple[str, str], ...]


def reach_view(namespace: str, reached: Reached, tasks: Mapping[str, str]) -> ReachView:
    """The reach with the newest of the sessions behind it."""
    least = f"{reached.count:,}"
    if reached.capped:
        count = _("over {least}").format(least=least)
        words = _("Of the newest {looked} runs of its family, {n} sessions would have been served it; there are more.")
        said = words.format(looked=f"{reached.looked_at:,}", n=least)
    elif not reached.count:
        count, said = least, _("No session of the last {days} days would have been served it.").format(days=DAYS)
    else:
        count = least
        words = ngettext(
            "{n} session of the last {days} days would have been served it.",
            "{n} sessions of the last {days} days would have been served it.",
            reached.count,
        )
        said = words.format(n=least, days=DAYS)
    sample = tuple(
        (shortened(" ".join((tasks.get(episode) or session_id).split()), 140), links.episode(namespace, episode))
        for session_id, episode in reached.sample
    )
    return ReachView(count, said, sample)
