"""Why a decision was refused. Each is one class, so that an endpoint can answer with the right status."""

from __future__ import annotations


class DecisionRefused(Exception):
    """A decision was not taken; nothing was changed. ``status`` is the HTTP status that says the same."""

    status = 409


class ReasonMissing(DecisionRefused):
    """A decision needs a reason in words; write one and send it again."""

    status = 422


class NotAllowed(DecisionRefused):
    """The person's role or namespaces do not cover this; ask an admin for the role, or someone who has it."""

    status = 403


class SelfApproval(DecisionRefused):
    """Nobody approves what they wrote or edited; another reviewer has to."""

    status = 403


class CandidateGone(DecisionRefused):
    """There is no such candidate in this namespace, or it was withdrawn; reload the queue."""

    status = 404


class RuleGone(DecisionRefused):
    """There is no such rule, or no such version of it, in this namespace; list the rules and look again."""

    status = 404


class HashMismatch(DecisionRefused):
    """The candidate is no longer what was shown; reload the page and read it again."""


class AlreadyDecided(DecisionRefused):
    """The opposite was decided before; it stands until the candidate's content changes."""


class PacketIncomplete(DecisionRefused):
    """The packet lacks a part, or a check failed, so that it can be rejected but not approved."""

    status = 422


class EvidenceStale(PacketIncomplete):
    """What the candidate rests on says something else by now; let the next night look again, then read it anew."""

    status = 409


class TextRefused(DecisionRefused):
    """The text or its scope cannot be taken as it was written; put right what is named and send it again."""

    status = 422


class NothingChanged(DecisionRefused):
    """It is word for word what stands there already; change something, or leave it as it is."""

    status = 422


class WantedRefused(DecisionRefused):
    """The request for evidence cannot be taken as it was written; put right what is named and send it again."""

    status = 422


class Quarantined(DecisionRefused):
    """What was to be approved or restored leans on a version that is revoked or quarantined."""


class WrongState(DecisionRefused):
    """The thing is in a state from which this cannot be done; reload it and look again."""
