"""Names of states, tiers, kinds, outcomes and the like, as words in the reader's language.

The store keeps names; a page says words. ``said`` gives the words of a name, and the name itself where it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from review_ui.words import N_, _

VERSION_STATES = {
    "active": N_("active"),
    "superseded": N_("superseded"),
    "quarantined": N_("quarantined"),
    "revoked": N_("revoked"),
    "expired": N_("expired"),
}
TIERS = {"low": N_("low"), "standard": N_("standard"), "high": N_("high")}
OUTCOMES = {
    "success": N_("success"),
    "failure": N_("failure"),
    "partial": N_("partial success"),
    "unknown": N_("unknown"),
}
SOURCES = {
    "verifier": N_("a verifier said so"),
    "environment": N_("the environment said so"),
    "exit-code": N_("an exit code said so"),
    "human": N_("a person said so"),
    "recorded": N_("recorded with the run"),
    "self-reported": N_("the agent's own word: never enters a contrast"),
}
TRUSTS = {
    "internal": N_("internal"),
    "user": N_("the user's words"),
    "tool": N_("a tool's words"),
    "external": N_("external text"),
}
STANCES = {"support": N_("speaks for it"), "counter": N_("speaks against it")}
RECHECKS = {
    "stands": N_("stands"),
    "vanished": N_("vanished"),
    "reversed": N_("reversed"),
    "outside-scope": N_("outside its scope"),
    "no-comparison": N_("no comparison"),
    "not-enough": N_("not enough"),
}
RUN_STATES = {
    "running": N_("running"),
    "completed": N_("completed"),
    "partial": N_("partial"),
    "failed": N_("failed"),
}
CANDIDATE_STATES = {
    "staged": N_("waiting"),
    "approved": N_("one more approval needed"),
    "promoted": N_("promoted"),
    "rejected": N_("rejected"),
    "void": N_("withdrawn"),
}
EVENTS = {
    "promoted": N_("promoted"),
    "superseded": N_("superseded"),
    "quarantined": N_("quarantined"),
    "restored": N_("restored"),
    "revoked": N_("revoked"),
    "expired": N_("expired"),
    "purged": N_("purged"),
}
CHECKS = {
    "citations": N_("citations"),
    "independence": N_("independence"),
    "held-out": N_("held-out groups"),
    "agent": N_("adjusted for the agent"),
    "exceptions": N_("exceptions"),
    "mixed-cluster": N_("mixed cluster"),
    "coverage": N_("coverage"),
    "over-specific": N_("too specific"),
    "over-general": N_("too general"),
    "hidden-text": N_("hidden text"),
    "injection": N_("injection"),
    "secrets": N_("secrets"),
    "authoritative-source": N_("authoritative source"),
    "revoked-before": N_("revoked before"),
    "recall": N_("says what a rule says"),
    "scope": N_("scope"),
    "drafts-agree": N_("drafts agree"),
    "replay": N_("replay"),
}
DRAFTERS = {"statistical": N_("statistical"), "model": N_("model"), "person": N_("a person")}
STEP_KINDS = {
    "user": N_("User"),
    "plan": N_("Plan"),
    "claim": N_("Claim"),
    "tool_call": N_("Call"),
    "observation": N_("Result"),
    "answer": N_("Answer"),
    "memory_read": N_("Memory read"),
    "memory_write": N_("Memory write"),
    "system": N_("System"),
}


def said(names: Mapping[str, str], name: str) -> str:
    """The words of a name."""
    return _(names[name]) if name in names else name


def options(names: Mapping[str, str], given: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """(name, words) for a choice among these names, in their order."""
    return [(name, said(names, name)) for name in (names if given is None else given)]


def outcome_words(outcome: str, source: str) -> str:
    """Who says how a run ended."""
    if outcome == "unknown":
        return _("nothing that was recorded says how it ended")
    return said(SOURCES, source)
