"""Who else reads a candidate, or since when the reader has it, and how to let it go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from review_ui.words import _, ngettext
from tasks.stage.reserve_step import Holder


@dataclass(frozen=True)
class ReservedView:
    """``words`` name who reads it; ``mine`` says that it is the reader, who may let it go by ``release_link``."""

    name: str
    words: str
    mine: bool
    release_link: str


def reserved_view(holder: Holder | None, user_id: str, link: str, now: datetime) -> ReservedView | None:
    """The notice; None where nobody holds it."""
    if holder is None:
        return None
    mine, minutes = holder.is_person(user_id), int((now - holder.since).total_seconds() // 60)
    if mine:
        words = _("It is kept for you while you read, so that others take another one.")
    elif minutes < 1:
        words = _("{name} has just begun to read this.").format(name=holder.name)
    else:
        words = ngettext(
            "{name} has been reading this for {n} minute.", "{name} has been reading this for {n} minutes.", minutes
        ).format(name=holder.name, n=minutes)
    return ReservedView(holder.name, words, mine, f"{link}/release")
