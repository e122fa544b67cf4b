"""Why a conflict was not resolved; each is a refused decision, with the status that says the same."""

from __future__ import annotations

from tasks.promote.errors import DecisionRefused


class ConflictGone(DecisionRefused):
    """There is no such conflict in this namespace; list the conflicts and look again."""

    status = 404


class ConflictClosed(DecisionRefused):
    """The conflict was closed by itself, since a side is gone or it is no longer found; there is nothing to decide."""


class SideUnknown(DecisionRefused):
    """A resolution keeps left, right, both or neither; say which."""

    status = 422


class ConflictChanged(DecisionRefused):
    """The conflict is no longer what was shown; reload the page and read both sides again."""


class OtherwiseResolved(DecisionRefused):
    """The opposite was decided before; it stands until one of the sides says something else."""
