"""A walk over all pages of a store that has something on each.

The same walk shows that hostile text breaks out of nothing, that no word is left untranslated, and that every page is
whole in each language. What it does with a page is given by the test; a new page or form comes in here.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote

from sqlmodel import select
from starlette.testclient import TestClient

from storage.engine import Database
from storage.tables import Candidate, Conflict, RuleVersion, VersionAncestor
from support import factories
from support.review_pages import SPACE, filled, log_in
from support.stocked import Said, read_by_agents, succeed, withhold

CANDIDATE = f"/candidates/{SPACE}/cand-1"
OTHER = f"/candidates/{SPACE}/cand-2"


@dataclass
class Tour:
    """A walk. ``rosa`` reviews, ``ada`` is an admin, ``anonymous`` is somebody who is not logged in yet.

    ``see`` opens an address, looks at the page and returns it; ``check`` looks at a page that answered a form.
    """

    database: Database
    now: datetime
    said: Said
    rosa: TestClient
    ada: TestClient
    anonymous: TestClient
    see: Callable[[TestClient, str, int], str]
    check: Callable[[str, str], None]
    pages: dict[str, str] = field(default_factory=dict)

    def visit(self, path: str, status: int = 200, browser: TestClient | None = None) -> str:
        """Look at one page."""
        self.pages[path] = self.see(browser or self.rosa, path, status)
        return self.pages[path]

    def send(
        self, path: str, shown_on: str, status: int = 303, browser: TestClient | None = None, **given: str | list[str]
    ) -> str:
        """Send a form as a page showed it, with what is given filled in; a page that answers is looked at."""
        who = browser or self.rosa
        answer = who.post(path, data=filled(who.get(shown_on).text, path) | given)
        told = re.findall("<h1.*?</p>", answer.text, re.DOTALL)
        assert answer.status_code == status, (path, answer.status_code, told)
        if answer.text:
            self.check(path, answer.text)
        return answer.text

    def walk(self) -> None:
        """Every page there is."""
        self.changes()
        self.parts()
        self.queue()
        self.candidate()
        self.conflicts()
        self.rule()
        self.runs()
        self.people()
        self.others()
        self.login()

    def changes(self) -> None:
        """A candidate that is edited, waits for evidence, and is read by somebody."""
        text = self.said.text
        self.visit(OTHER)
        self.send(f"{OTHER}/edit", OTHER, 422, reason="")
        self.send(f"{OTHER}/edit", OTHER, guidance=f"{text[:1]} 5", reason=text)
        self.visit(f"{OTHER}?said=edited")
        self.send(f"{OTHER}/ask", OTHER, 422, runs="0", reason=text)
        self.send(f"{OTHER}/ask", OTHER, runs="3", words=text, reason=text)
        self.visit(f"{OTHER}?said=asked")
        self.visit("/queue?state=parked")
        self.send(f"{OTHER}/resume", OTHER, reason=text)
        self.send(f"{OTHER}/take-back", OTHER, reason=text)
        self.visit(f"{OTHER}?said=taken-back")

    def parts(self) -> None:
        """What a candidate can be split by, and what could be merged into it."""
        self.visit(f"{OTHER}/split")
        self.visit(f"{OTHER}/merge")
        self.visit(f"{OTHER}/merge?other=cand-9")
        self.visit(f"{OTHER}/merge?other={quote(self.said.text[:150])}")

    def queue(self) -> None:
        """The queue, what is taken from it, and decisions on several at once."""
        page = self.visit("/queue")
        self.send("/queue/next", "/queue")
        self.visit("/queue", browser=self.ada)
        self.visit("/queue")
        picks = [html.unescape(each) for each in re.findall(r'name="pick" value="([^"]*)"', page)]
        assert picks
        self.send("/queue/bulk", "/queue", 422, verdict="approve", pick=picks)
        self.send("/queue/bulk", "/queue", 200, verdict="approve", pick=picks, reason=self.said.text)
        self.visit("/queue?state=rejected")

    def candidate(self) -> None:
        """A candidate, decided both ways."""
        self.visit(CANDIDATE)
        self.visit(f"{CANDIDATE}?support=2&counter=9&said={'x' * 50}")
        self.visit(f"/candidates/{SPACE}/nowhere", 404)
        with self.database.write() as session:
            session.get_one(Candidate, (SPACE, "cand-1")).replaces_rule_id = None
        self.send(f"{CANDIDATE}/reject", CANDIDATE, 422)
        form = filled(self.ada.get(CANDIDATE).text, f"{CANDIDATE}/reject") | {"reason": self.said.text}
        self.send(f"{CANDIDATE}/approve", CANDIDATE, reason=self.said.text)
        late = self.ada.post(f"{CANDIDATE}/reject", data=form)
        assert late.status_code == 409
        self.check(f"{CANDIDATE}/reject", late.text)
        self.visit(CANDIDATE)
        self.visit(f"/queue?namespace={SPACE}&state=promoted&tier=standard")

    def rule(self) -> None:
        """A rule: read by agents, changed, withheld, revoked."""
        with self.database.read() as session:
            rule_id = session.exec(select(RuleVersion.rule_id).where(RuleVersion.candidate_id == "cand-1")).one()
        link = f"/rules/{SPACE}/{rule_id}"
        read_by_agents(self.database, self.now, self.said, rule_id)
        for path in ("/rules", "/rules?due=1", f"/rules?q={quote(self.said.text[:9])}"):
            self.visit(path)
        for path in (link, f"{link}?by=hour", f"/events/{SPACE}/1"):
            self.visit(path)
        proposal = f"{link}/versions/1/propose"
        self.visit(proposal)
        self.send(proposal, proposal, 422, reason="")
        text = f"{self.said.text[:1]} 6"
        scope: dict[str, str | list[str]] = {"component": [], "version": [], "agents": "", "valid_from": ""}
        self.send(proposal, proposal, guidance=text, reason=self.said.text, **scope)
        self.visit(CANDIDATE, browser=self.ada)
        succeed(self.database, rule_id, self.said)
        self.visit(link)
        withhold(self.database, rule_id, 2)
        self.visit(link)
        self.visit("/rules?state=quarantined")
        with self.database.write() as session:
            session.add(VersionAncestor(namespace=SPACE, rule_id=rule_id, version=1, ancestor_rule_id=rule_id,
                                        ancestor_version=1))  # fmt: skip
        self.visit(f"{link}/revoke")
        self.send(f"{link}/revoke", f"{link}/revoke", reason=self.said.text)
        self.visit(f"{link}?said=revoked")
        self.visit(f"/rules/{SPACE}/nowhere", 404)
        self.visit("/events")
        self.visit(f"/events/{SPACE}/99", 404)

    def conflicts(self) -> None:
        """A conflict, open and resolved."""
        with self.database.read() as session:
            conflict = session.exec(select(Conflict.id).where(Conflict.left_ref == "candidate:cand-1")).one()
        link = f"/conflicts/{SPACE}/{quote(conflict, safe='')}"
        self.visit("/conflicts")
        self.visit("/conflicts?namespace=nowhere&state=all")
        self.visit(link)
        self.send(f"{link}/resolve", link, keep="left", reason=self.said.text)
        self.visit(link)
        self.visit("/conflicts?state=all")
        self.visit("/conflicts?run=run-1")
        self.visit(f"/conflicts/{SPACE}/mixed-1")

    def runs(self) -> None:
        """Runs, an episode of them, and what they concluded."""
        self.visit(f"/episodes/{SPACE}/ep-1?step=5")
        self.visit(f"/episodes/{SPACE}/ep-1?whole=5&part=2")
        for only in ("calls", "errors", "cited", "external"):
            self.visit(f"/episodes/{SPACE}/ep-1?only={only}")
        self.visit("/runs")
        self.visit("/runs/run-2")
        self.visit("/runs/run-1")
        self.visit("/runs/run-1?against=run-2")
        self.visit("/runs/fix-1")
        self.visit("/runs/run-1/choices")
        for verdict in ("confirmed", "needs-more", "confounded"):
            self.visit(f"/runs/run-1/findings/{verdict}")
        self.visit("/runs/run-1/findings/nowhere", 404)
        self.visit("/runs/nowhere", 404)

    def people(self) -> None:
        """Accounts, tokens, and what a policy would do."""
        for browser in (self.rosa, self.ada):
            self.visit("/people", browser=browser)
            self.visit("/people/tokens", browser=browser)
        self.send("/people/tokens", "/people/tokens", 200, label=self.said.text[:2] * 3)
        self.visit("/people/tokens")
        policy = f"/people/policy?namespace={SPACE}"
        self.visit("/people/policy")
        self.visit(policy)
        self.send("/people/policy", policy, 200, policy='{"owner": "5", "blocking_checks": []}')
        self.send("/people/policy", policy, 422, policy=self.said.text)

    def others(self) -> None:
        """The audit log, and filters that nobody offered."""
        self.visit("/audit")
        self.send("/audit/verify", "/audit", 200)
        for path in ("/queue?namespace=", "/queue?state=", "/audit?target=", "/audit?action=", "/login?next="):
            self.visit(path + quote(self.said.text))

    def login(self) -> None:
        """Somebody with an odd name, who first mistypes."""
        name = f"5{self.said.text}"[:190]
        factories.make_person(self.database, name, self.now)
        self.visit("/login", browser=self.anonymous)
        failed = log_in(self.anonymous, name, "wrong")
        assert failed.status_code == 401
        self.check("/login", failed.text)
        log_in(self.anonymous, name, factories.PASSWORD)
        self.visit("/queue?state=void", browser=self.anonymous)
        self.visit("/nowhere", 404, browser=self.anonymous)
