"""Whom a proxy in front of the pages says that a request is of, and from which address it came.

Nothing that a request says of itself is believed unless it comes straight from an address that the operator listed:
``SLOWWAVE_TRUSTED_PROXIES``. The peer's address is the connection's own, so the server must not rewrite it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

from fastapi import Request

from storage.settings import Settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LONGEST_NAME = 200
LONGEST_CHAIN = 20


def is_on(settings: Settings) -> bool:
    """Whether people are signed on by a proxy instead of logging in."""
    return settings.proxy_user_header is not None


def proxied_name(request: Request, settings: Settings) -> str:
    """The name that a trusted proxy gives, as it is; empty where there is none that may be believed.

    The header has to be there exactly once: with two, one of them may be the client's own.
    """
    if settings.proxy_user_header is None or not is_trusted(_peer(request), settings.trusted_proxies):
        return ""
    given = _values(request, settings.proxy_user_header)
    if len(given) != 1:
        return ""
    try:
        name = given[0].decode().strip()
    except UnicodeDecodeError:
        return ""
    return name if name.isprintable() and len(name) <= LONGEST_NAME else ""


def client_address(request: Request, settings: Settings) -> str:
    """Where a request comes from, for the limits on logins: the peer, or whom trusted proxies say that it was.

    Read from its end, ``X-Forwarded-For`` holds what each proxy saw itself: the first address that is no proxy of ours
    is the client's. An IPv6 address stands for its network of 64 bits, since one client has all of them.
    """
    at = _peer(request)
    chain = b",".join(_values(request, "x-forwarded-for")).split(b",")[-LONGEST_CHAIN:]
    while is_trusted(at, settings.trusted_proxies) and chain:
        before = chain.pop().decode("latin-1").strip()
        if _address(before) is None:
            break
        at = before
    return _network(at)


def is_trusted(address: str, proxies: Sequence[str]) -> bool:
    """Whether an address is one of these networks'. A name that is no address never is."""
    found = _address(address)
    return found is not None and any(found in network for network in _networks(tuple(proxies)))


def _peer(request: Request) -> str:
    return request.client.host if request.client else ""


def _values(request: Request, name: str) -> list[bytes]:
    wanted = name.lower().encode("latin-1")
    return [value for key, value in request.scope["headers"] if key.lower() == wanted]


def _address(text: str) -> Address | None:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _network(text: str) -> str:
    found = _address(text)
    if found is None:
        return text
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)


@lru_cache(maxsize=8)
def _networks(proxies: tuple[str, ...]) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(each) for each in proxies)
