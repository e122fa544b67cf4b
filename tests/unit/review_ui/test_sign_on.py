"""Whom a proxy is believed about, and from which address a request is said to come."""

from __future__ import annotations

import pytest
from fastapi import Request
from pydantic import ValidationError

from review_ui.sign_on import client_address, is_trusted, proxied_name
from storage.settings import Settings

PROXIES = ["10.1.0.0/16", "192.0.2.9", "fd00::/8"]


def settings(header: str | None = "X-Forwarded-User", proxies: list[str] | None = None) -> Settings:
    return Settings(proxy_user_header=header, trusted_proxies=PROXIES if proxies is None else proxies)


def request(peer: str | None, *headers: tuple[str, str]) -> Request:
    raw = [(name.encode(), value.encode()) for name, value in headers]
    client = (peer, 40000) if peer is not None else None
    return Request({"type": "http", "method": "GET", "path": "/", "headers": raw, "client": client})


@pytest.mark.parametrize(
    ("peer", "headers", "name"),
    [
        ("10.1.2.3", [("x-forwarded-user", "rosa")], "rosa"),
        ("10.1.2.3", [("X-FORWARDED-USER", " rosa ")], "rosa"),
        ("10.1.2.3", [("x-forwarded-user", "Zoë")], "Zoë"),
        ("::ffff:10.1.2.3", [("x-forwarded-user", "rosa")], "rosa"),
        ("fd00::1", [("x-forwarded-user", "rosa")], "rosa"),
        ("10.2.0.1", [("x-forwarded-user", "rosa")], ""),
        ("127.0.0.1", [("x-forwarded-user", "rosa"), ("x-forwarded-for", "10.1.2.3")], ""),
        ("localhost", [("x-forwarded-user", "rosa")], ""),
        (None, [("x-forwarded-user", "rosa")], ""),
        ("10.1.2.3", [], ""),
        ("10.1.2.3", [("x-forwarded-user", "")], ""),
        ("10.1.2.3", [("x-forwarded-user", "rosa"), ("x-forwarded-user", "eve")], ""),
        ("10.1.2.3", [("x-forwarded-user", "rosa"), ("X-Forwarded-User", "rosa")], ""),
        ("10.1.2.3", [("x_forwarded_user", "rosa")], ""),
        ("10.1.2.3", [("x-forwarded-user", "ro\u202esa")], ""),
        ("10.1.2.3", [("x-forwarded-user", "r" * 201)], ""),
    ],
)
def test_a_name_is_believed_from_a_listed_proxy_that_gives_it_once(
    peer: str | None, headers: list[tuple[str, str]], name: str
) -> None:
    assert proxied_name(request(peer, *headers), settings()) == name


def test_bytes_that_are_no_text_are_no_name() -> None:
    asked = request("10.1.2.3")
    asked.scope["headers"].append((b"x-forwarded-user", b"ros\xff"))
    assert proxied_name(asked, settings()) == ""


def test_without_the_setting_no_header_names_anybody() -> None:
    assert proxied_name(request("10.1.2.3", ("x-forwarded-user", "rosa")), settings(header=None)) == ""


@pytest.mark.parametrize(
    ("peer", "chain", "address"),
    [
        ("203.0.113.5", "198.51.100.1", "203.0.113.5"),
        ("10.1.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.1.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        ("10.1.0.1", "198.51.100.1, 10.1.0.7", "198.51.100.1"),
        ("10.1.0.1", "198.51.100.1, nonsense", "10.1.0.1"),
        ("10.1.0.1", "", "10.1.0.1"),
        ("10.1.0.1", "10.1.0.7", "10.1.0.7"),
        ("2001:db8:1:2:aaaa::1", "", "2001:db8:1:2::/64"),
        ("testclient", "198.51.100.1", "testclient"),
    ],
)
def test_the_address_is_the_last_that_is_no_proxy_of_ours(peer: str, chain: str, address: str) -> None:
    assert client_address(request(peer, ("x-forwarded-for", chain)), settings()) == address


def test_a_long_chain_costs_no_more_than_a_short_one() -> None:
    chain = ", ".join(["10.1.0.1"] * 10_000)
    assert client_address(request("10.1.0.1", ("x-forwarded-for", chain)), settings()) == "10.1.0.1"


def test_a_name_is_no_address() -> None:
    assert not is_trusted("proxy.example", ["10.0.0.0/8"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"proxy_user_header": "X-User"}, "needs SLOWWAVE_TRUSTED_PROXIES"),
        ({"trusted_proxies": ["0.0.0.0/0"]}, "every address there is"),
        ({"trusted_proxies": ["10.0.0.5/8"]}, "host bits"),
        ({"trusted_proxies": ["proxy"]}, "no address and no network"),
        ({"proxy_user_header": "Cookie", "trusted_proxies": ["10.0.0.5"]}, "that your proxy sets itself"),
        ({"proxy_user_header": "X User", "trusted_proxies": ["10.0.0.5"]}, "that your proxy sets itself"),
    ],
)
def test_a_sign_on_that_would_believe_anybody_is_refused_with_words(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Settings.model_validate(given)
