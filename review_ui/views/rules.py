"""The list of rules, by their newest version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from review_ui import links
from review_ui.paging import Pager
from review_ui.text import shortened
from review_ui.views.listing import Box, Listing, Nothing, Select, values
from review_ui.views.names import RECHECKS, TIERS, VERSION_STATES, options, said
from review_ui.words import _, ngettext
from storage.tables import Recheck, Rule, RuleVersion

PATH = "/rules"
RECHECK_BADGES = {"stands": "good", "vanished": "bad", "reversed": "bad"}


@dataclass(frozen=True)
class Asked:
    """What a reader filtered by; empty for no filter."""

    namespace: str = ""
    state: str = ""
    tier: str = ""
    due: bool = False
    words: str = ""

    def query(self) -> dict[str, str]:
        """The same for an address."""
        return {
            "namespace": self.namespace,
            "state": self.state,
            "tier": self.tier,
            "due": self.due_name,
            "q": self.words,
        }

    @property
    def due_name(self) -> str:
        """How an address says that only what is due is asked for."""
        return "1" if self.due else ""

    @property
    def is_filter(self) -> bool:
        """Whether anything is left out."""
        return any(self.query().values())


@dataclass(frozen=True)
class RuleRow:
    """A rule in a list, by its newest version. ``answers`` went out in the last seven days."""

    link: str
    title: str
    rule_id: str
    namespace: str
    version: int
    state: str
    state_words: str
    tier: str
    tier_words: str
    promoted_at: datetime
    recheck_at: datetime | None
    recheck_due: bool
    tested: str
    tested_badge: str
    answers: str


def rule_row(rule: Rule, version: RuleVersion, last: Recheck | None, answers: int, now: datetime) -> RuleRow:
    """A row from a rule, its newest version and what came out when that was last tested again."""
    return RuleRow(
        link=links.rule(rule.namespace, rule.id),
        title=shortened(rule.title, 240),
        rule_id=rule.id,
        namespace=rule.namespace,
        version=version.version,
        state=version.state,
        state_words=said(VERSION_STATES, version.state),
        tier=version.tier,
        tier_words=said(TIERS, version.tier),
        promoted_at=version.promoted_at,
        recheck_at=version.recheck_at,
        recheck_due=is_due(version, now),
        tested=said(RECHECKS, last.verdict) if last is not None else _("never"),
        tested_badge=RECHECK_BADGES.get(last.verdict, "dim") if last is not None else "",
        answers=f"{answers:,}",
    )


def is_due(version: RuleVersion, now: datetime) -> bool:
    """Whether a version that is served is to be tested again."""
    return version.state == "active" and version.recheck_at is not None and version.recheck_at <= now


def rules_list(asked: Asked, rows: Sequence[RuleRow], pager: Pager, namespaces: Sequence[str], due: int) -> Listing:
    """The page of the list. ``due`` counts the rules whose re-check is due, whatever is filtered by."""
    lead = _("What was promoted, by newest version. Agents are served the active ones.")
    if asked.due:
        lead = _("Active rules whose date has come, the longest overdue first. The next night tests them again.")
    due_words = ngettext("{n} rule is due for a re-check", "{n} rules are due for a re-check", due).format(n=due)
    return Listing(
        title=_("Re-check due") if asked.due else _("Rules"),
        lead=lead,
        path=PATH,
        row="_rule_row.html",
        rows=rows,
        pager=pager,
        empty=_nothing(asked),
        filters=_filters(asked, namespaces),
        crumbs=((PATH, _("Rules")),) if asked.due else (),
        above="_rules_due.html" if due and not asked.due else "",
        extra={"due": due_words, "due_link": links.with_query(PATH, namespace=asked.namespace, due="1")},
    )


def _filters(asked: Asked, namespaces: Sequence[str]) -> tuple[Select | Box, ...]:
    return (
        Box("q", _("Words"), asked.words),
        Select("namespace", _("Namespace"), values(namespaces), asked.namespace, _("all")),
        Select("state", _("State"), options(VERSION_STATES), asked.state, _("all")),
        Select("tier", _("Tier"), options(TIERS), asked.tier, _("all")),
        Select("due", _("Re-check"), [("1", _("due"))], "1" if asked.due else "", _("any")),
    )


def _nothing(asked: Asked) -> Nothing:
    if asked.due:
        return Nothing(_("No re-check is due"), _("Every active rule's date is still to come."), PATH,
                       _("Show all rules"))  # fmt: skip
    if asked.is_filter:
        return Nothing(_("No rule with this filter"), _("Other filters may show more."), PATH, _("Show all rules"))
    return Nothing(_("No rules yet"), _("A rule is made when a candidate is approved."), "/queue", _("Go to the queue"))


def last_of(found: Mapping[tuple[str, str, int], Recheck], version: RuleVersion) -> Recheck | None:
    """The last recheck of a version among those found."""
    return found.get((version.namespace, version.rule_id, version.version))
