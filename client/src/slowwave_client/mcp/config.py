"""Where the server is, as whom, and for which namespace: fixed before the first call, and by nothing a call says."""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DESCRIPTION = "Serves reviewed rules of one Slowwave namespace to a client of the Model Context Protocol."
EPILOG = """tokens are never arguments, since a list of processes would show them:
  SLOWWAVE_TOKEN or SLOWWAVE_TOKEN_FILE                reads rules (role agent)
  SLOWWAVE_INGEST_TOKEN or SLOWWAVE_INGEST_TOKEN_FILE  records episodes (role ingest)
  SLOWWAVE_MCP_TOKEN or SLOWWAVE_MCP_TOKEN_FILE        what HTTP clients must send

examples:
  slowwave-mcp --url http://127.0.0.1:8400 --namespace acme/shop
  slowwave-mcp --namespace acme/shop --http --port 8402
"""
LONGEST_TOKEN = 4096


class ConfigWrong(Exception):
    """The server cannot start so: what is wrong, and what to do."""


@dataclass(frozen=True)
class Http:
    """Where streamable HTTP listens and whom it answers. ``hosts`` and ``origins`` are beside loopback's own."""

    host: str
    port: int
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Config:
    """Everything a server is started with. ``http`` is None for standard input and output."""

    url: str
    namespace: str
    token: str = field(repr=False)
    ingest_token: str | None = field(default=None, repr=False)
    agent: str | None = None
    http: Http | None = None


def read_config(arguments: Sequence[str], environment: Mapping[str, str]) -> Config:
    """The configuration; arguments go before the environment.

    Raises:
        ConfigWrong: something is missing, unreadable, or would open the server to others unguarded.
    """
    given = _parser().parse_args(arguments)
    url = given.url or environment.get("SLOWWAVE_URL")
    namespace = given.namespace or environment.get("SLOWWAVE_NAMESPACE")
    token = _secret("SLOWWAVE_TOKEN", environment)
    for value, what, now in (
        (url, "the address of the Slowwave server", "give --url or set SLOWWAVE_URL"),
        (namespace, "the namespace", "give --namespace or set SLOWWAVE_NAMESPACE"),
        (token, "the token", "set SLOWWAVE_TOKEN or SLOWWAVE_TOKEN_FILE"),
    ):
        if not value:
            raise ConfigWrong(f"{what} is missing: {now}")
    assert url
    assert namespace
    assert token
    return Config(
        url=url,
        namespace=namespace,
        token=token,
        ingest_token=_secret("SLOWWAVE_INGEST_TOKEN", environment),
        agent=given.agent or environment.get("SLOWWAVE_AGENT"),
        http=_http(given, environment) if given.http else None,
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _http(given: argparse.Namespace, environment: Mapping[str, str]) -> Http:
    token = _secret("SLOWWAVE_MCP_TOKEN", environment)
    if not is_loopback(given.host):
        if token is None:
            raise ConfigWrong(
                f"{given.host} can be reached by others, who would read and record with this server's tokens: "
                "set SLOWWAVE_MCP_TOKEN or SLOWWAVE_MCP_TOKEN_FILE to what they must send, or leave --host out"
            )
        if not given.allow_host:
            example = f"--allow-host mcp.example.org:{given.port}"
            raise ConfigWrong(f"say by which names clients reach {given.host}: {example}")
    return Http(given.host, given.port, tuple(given.allow_host), tuple(given.allow_origin), token)


def _secret(name: str, environment: Mapping[str, str]) -> str | None:
    """A token from ``name`` or from the file that ``name_FILE`` points to."""
    value = environment.get(name, "").strip()
    place = environment.get(f"{name}_FILE", "").strip()
    if value and place:
        raise ConfigWrong(f"both {name} and {name}_FILE are set: unset one of them")
    if place:
        try:
            value = Path(place).read_text(encoding="utf-8")[: LONGEST_TOKEN + 1].strip()
        except (OSError, ValueError) as problem:
            raise ConfigWrong(f"{name}_FILE cannot be read ({type(problem).__name__}): {place}") from None
        if not value:
            raise ConfigWrong(f"{name}_FILE is empty: {place}")
    if not value:
        return None
    if len(value) > LONGEST_TOKEN or not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigWrong(f"{name} does not hold a token: it is one line without spaces")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="slowwave-mcp",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--url", help="address of the Slowwave server (SLOWWAVE_URL)")
    parser.add_argument("--namespace", "-n", help="the one namespace that is served (SLOWWAVE_NAMESPACE)")
    parser.add_argument("--agent", help="the agent's name, kept with what it reads (SLOWWAVE_AGENT)")
    parser.add_argument("--http", action="store_true", help="streamable HTTP instead of standard input and output")
    parser.add_argument("--host", default="127.0.0.1", help="with --http: where to listen (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8402, help="with --http (8402)")
    parser.add_argument("--allow-host", action="append", default=[], help="a Host header to accept beside loopback's")
    parser.add_argument("--allow-origin", action="append", default=[], help="an Origin header to accept")
    return parser
