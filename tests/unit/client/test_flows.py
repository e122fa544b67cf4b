"""What callers may do, against a server that the test plays."""

from __future__ import annotations

import logging

import pytest

from slowwave_client import AccessRefused, BadRequest, MemoryStale, MemoryUnavailable, NotFound, VersionGone
from slowwave_client._impl import flows
from slowwave_client._impl.core import Core

from .conftest import Clock, Server


def test_the_second_read_asks_no_server(core: Core, server: Server) -> None:
    first = server.run(flows.rules(core, "cancel an order", {"shop": "2"}))
    assert server.run(flows.rules(core, "cancel an order", {"shop": "2"})) is first
    assert len(server.seen) == 1


def test_another_question_is_another_entry(core: Core, server: Server) -> None:
    server.run(flows.rules(core, "cancel an order"))
    server.run(flows.rules(core, "cancel an order", {"shop": "2"}))
    server.run(flows.rules(core, "cancel an order", k=1))
    assert len(server.seen) == 3


def test_a_new_session_is_declared_by_asking_the_server(core: Core, server: Server) -> None:
    server.run(flows.rules(core, "cancel", session_id="a"))
    server.run(flows.rules(core, "cancel", session_id="b"))
    server.run(flows.rules(core, "cancel", session_id="b"))
    assert [request.body and request.body["session_id"] for request in server.seen] == ["a", "b"]


def test_an_answer_overtaken_by_a_revocation_is_asked_for_again(core: Core, server: Server) -> None:
    server.run(flows.rules(core, "something else"))

    def revoked_on_the_way() -> None:
        core.apply(2, [{"event": "revoked", "rule": "check-first", "version": 1}])
        server.epoch, server.rules, server.meanwhile = 2, [], lambda: None

    server.meanwhile = revoked_on_the_way
    assert len(server.run(flows.rules(core, "cancel"))) == 0
    assert len(server.seen) == 3


def test_a_server_that_stays_behind_is_given_up(core: Core, server: Server) -> None:
    core.see(9)
    with pytest.raises(MemoryUnavailable, match="already seen"):
        server.run(flows.rules(core, "cancel"))
    assert len(server.seen) == flows.ATTEMPTS


def test_an_answer_longer_under_way_than_the_lease_is_asked_for_again(core: Core, server: Server, clock: Clock) -> None:
    def held_up() -> None:
        clock.pass_(20)
        server.meanwhile = lambda: None

    server.meanwhile = held_up
    assert len(server.run(flows.rules(core, "cancel"))) == 1
    assert len(server.seen) == 2


def test_answers_that_always_come_too_late_are_not_served(core: Core, server: Server, clock: Clock) -> None:
    server.meanwhile = lambda: clock.pass_(20)
    with pytest.raises(MemoryStale):
        server.run(flows.rules(core, "cancel"))
    assert len(server.seen) == flows.ATTEMPTS


def test_a_lost_server_is_survived_until_the_lease_ends(core: Core, server: Server, clock: Clock) -> None:
    server.run(flows.rules(core, "cancel"))
    server.down = "ConnectError: refused"
    clock.pass_(14)
    assert len(server.run(flows.rules(core, "cancel"))) == 1
    clock.pass_(1)
    with pytest.raises(MemoryStale, match="refused"):
        server.run(flows.rules(core, "cancel"))


def test_the_client_recovers_by_itself(core: Core, server: Server, clock: Clock) -> None:
    server.run(flows.rules(core, "cancel"))
    clock.pass_(60)
    assert len(server.run(flows.rules(core, "cancel"))) == 1
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, AccessRefused), (403, AccessRefused), (404, NotFound), (422, BadRequest), (503, MemoryUnavailable)],
)
def test_each_refusal_has_its_own_exception(core: Core, server: Server, status: int, kind: type[Exception]) -> None:
    server.status = status
    with pytest.raises(kind, match=r"no \[here\] stop"):
        server.run(flows.rules(core, "cancel"))


def test_a_version_that_is_gone_says_what_became_of_it(core: Core, server: Server) -> None:
    server.status = 410
    with pytest.raises(VersionGone) as raised:
        server.run(flows.rule(core, "check-first"))
    assert (raised.value.state, raised.value.reason) == ("revoked", "it misleads")


def test_a_refused_token_empties_the_cache(core: Core, server: Server) -> None:
    server.run(flows.rules(core, "cancel"))
    server.status = 401
    with pytest.raises(AccessRefused):
        server.run(flows.rules(core, "something else"))
    with pytest.raises(AccessRefused):
        server.run(flows.rules(core, "cancel"))


def test_an_answer_that_is_not_ours_is_no_answer(core: Core, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "answer", lambda: flows.Response(200, {}, b"<html>a login page</html>"))
    with pytest.raises(MemoryUnavailable, match="is this a Slowwave address"):
        server.run(flows.rules(core, "cancel"))


def test_a_session_reports_what_it_read(core: Core, server: Server) -> None:
    session = flows.SessionCore(core, "s/1", "clerk")
    server.run(flows.session_rules(session, "cancel"))
    server.run(flows.session_rules(session, "cancel"))
    server.run(flows.session_report(session))
    report = server.seen[-1]
    assert report.path == "/v1/sessions/s%2F1"
    assert report.body is not None
    assert report.body["reads"] == [{"id": "check-first", "version": 1, "times": 2}]
    assert report.body["ended"] is True


def test_a_session_that_read_nothing_reports_nothing(core: Core, server: Server) -> None:
    server.run(flows.session_report(flows.SessionCore(core, "s", None)))
    assert server.seen == []


def test_a_report_that_fails_is_logged_and_breaks_no_run(
    core: Core, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    session = flows.SessionCore(core, "s", None)
    server.run(flows.session_rules(session, "cancel"))
    server.down = "ConnectError"
    with caplog.at_level(logging.WARNING, "slowwave_client"):
        server.run(flows.session_report(session))
    assert "could not be reported" in caplog.text
