"""What counts as a secret: detect-secrets' own patterns for named kinds of credentials, and a few it lacks.

Its entropy and keyword plug-ins are left out: on agents' episodes, which are full of ids, they redact what evidence
needs. Assignments (``api_key = "…"``) and keys of objects are matched by name here instead.

Each rule has a *gate*: a simpler pattern that matches wherever the rule's own does. All gates are searched for in one
pass over a whole record, at hundreds of megabytes a second, and nearly every record ends there. A pattern of the
library for which no gate is known is its own, so an upgrade never opens a hole.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import detect_secrets.plugins as library
from detect_secrets.plugins.base import RegexBasedDetector

from tasks.ingest.linear import SPACE, Backtracking, Linear, NotLinear


class Finder(Protocol):
    """What finds secrets: RE2 where it can, Python's engine for the bounded look-arounds of a few built-in patterns."""

    def spans(self, text: str, /) -> Iterator[tuple[int, int]]: ...


@dataclass(frozen=True)
class SecretRule:
    """One pattern of ours or of the library. Group 1, where there is one, is the secret.

    ``gate`` is in RE2's syntax; None means that nothing simpler than trying is known.
    """

    kind: str
    pattern: re.Pattern[str]
    gate: str | None
    finder: Finder


def _rule(kind: str, pattern: re.Pattern[str], gate: str | None = None) -> SecretRule:
    try:
        linear = Linear(pattern.pattern, pattern.flags)
    except NotLinear:
        return SecretRule(kind, pattern, gate, Backtracking(pattern))
    return SecretRule(kind, pattern, gate or linear.source, linear)


# Left out of the library's set, each for a reason that tests/unit/tasks/ingest/test_redact.py shows.
_SKIPPED = {
    "Public IP (ipv4)",  # an address is not a credential, and environments are told apart by it
    "Artifactory Credentials",  # "AP" and nine letters is any booking code
    "Twilio API Key",  # has no word boundary: replaced below
    "JSON Web Token",  # stops before the signature: replaced below
    "Private Key",  # finds the header only: replaced below
    "OpenAI Token",  # the older shape only: replaced below
    # Named assignments, replaced by the assignment rules below, which do not depend on the vendor's name:
    "Cloudant Credentials",
    "SoftLayer Credentials",
    "IBM Cloud IAM Key",
    "IBM COS HMAC Credentials",
}

# Simpler than the patterns, never narrower, and with few counted repetitions, which are what costs a scanner memory.
_GATES: dict[str, str] = {
    "AWS Access Key": r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}"
    r"|(?i:aws.*(?:key|pw|pass|token).*['\"][0-9a-z/+]{40}['\"])",
    "Azure Storage Account access key": r"AccountKey=",
    "Discord Bot Token": r"\.[a-zA-Z\p{Nd}_-]{6}\.[a-zA-Z\p{Nd}_-]{27}",
    "GitHub Token": r"gh[pousr]_[A-Za-z0-9_]{36}",
    "GitLab Token": r"(?:gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-|GR1348941)[A-Za-z0-9_-]{20}",
    "Mailchimp Access Key": r"[0-9a-z]{4}-us[0-9]",
    "NPM tokens": r"/:_authToken=",
    "PyPI Token": r"pypi-AgE",
    "SendGrid API Key": r"SG\.[a-zA-Z0-9_-]{22}\.",
    "Slack Token": r"(?i:xox[abposr]-\p{Nd}|hooks\.slack\.com/services/T)",
    "Square OAuth Secret": r"sq0csp-",
    "Stripe Access Key": r"[rs]k_live_[0-9a-zA-Z]{24}",
    "Telegram Bot Token": r"\p{Nd}{8}:[0-9A-Za-z_-]{35}",
}

_NAMES = (
    r"(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|"
    r"(?:access|auth|refresh|bearer|session|id|api)[_-]?token|client[_-]?secret|_token)"
)
# Names under which a number is a secret. Not those that end in "token": such numbers count tokens.
_NUMBERED = (
    r"(?:password|passwd|passphrase|pwd|passcode|secret|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key)"
)
_QUOTE = r"\\{0,3}[\"']"
# A secret begins a word, or follows the escaped line end or tab of a text within a text.
_START = r"(?:\b|\\[nrt])"
_ASSIGNED = rf"{_NAMES}[^\s\"'=:\\]*(?:{_QUOTE})?{SPACE}{{0,4}}(?:=>|:=|[:=]){SPACE}{{0,4}}"

_UNQUOTED = re.compile(
    rf"(?i){_NAMES}[\w-]{{0,30}}\s{{0,2}}[=:]\s{{0,2}}((?=[^\s\"'&;,]*[0-9])[A-Za-z0-9][^\s\"'&;,<>{{}}\\]{{11,}})"
)


class _Unquoted:
    """What ``_UNQUOTED`` finds. Its look-ahead would read to the end of a long word again for every name in it."""

    _head = Linear(rf"(?i){_NAMES}[\w-]{{0,30}}\s{{0,2}}[=:]\s{{0,2}}")
    _begins = re.compile(r"[A-Za-z0-9][^\s\"'&;,<>{}\\]{11}")

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        digit, stop, end = (_Next(text, each) for each in ("[0-9]", r"[\s\"'&;,]", r"[\s\"'&;,<>{}\\]"))
        done = 0
        for first, last in self._head.spans(text):
            if first >= done and self._begins.match(text, last) and digit.after(last) < stop.after(last):
                done = end.after(last)
                yield last, done


class _Next:
    """The next place of something, asked for from left to right: the text is read once."""

    def __init__(self, text: str, pattern: str) -> None:
        self._text, self._pattern, self._known = text, re.compile(pattern), -1

    def after(self, place: int) -> int:
        if self._known < place:
            found = self._pattern.search(self._text, place)
            self._known = found.start() if found else len(self._text)
        return self._known


_OWN = (
    _rule(
        "private-key",
        re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [^-]{0,60}-----|\Z)", re.S),
        "PRIVATE KEY",
    ),
    _rule(
        "putty-key",
        re.compile(r"PuTTY-User-Key-File-\d.*?(?:Private-MAC: \w+|\Z)", re.S),
        "PuTTY-User-Key-File-",
    ),
    _rule(
        "json-web-token",
        re.compile(rf"{_START}(eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{8,}}(?:\.[A-Za-z0-9_-]*)?)"),
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8}",
    ),
    _rule(
        "model-provider-key",
        re.compile(rf"{_START}(sk-(?!live)[A-Za-z0-9_-]{{20,}})"),
        rf"{_START}sk-[A-Za-z0-9_-]{{20}}",
    ),
    _rule("github-token", re.compile(rf"{_START}(github_pat_[A-Za-z0-9_]{{22,}})")),
    _rule("google-api-key", re.compile(rf"{_START}(AIza[0-9A-Za-z_-]{{35}})")),
    _rule("hugging-face-token", re.compile(rf"{_START}(hf_[A-Za-z0-9]{{30,}})")),
    _rule("twilio-api-key", re.compile(rf"{_START}((?:AC|SK)[a-f0-9]{{32}})\b")),
    _rule("bearer-token", re.compile(rf"(?i){_START}bearer\s+([A-Za-z0-9._~+/-]{{16,}}=*)")),
    _rule(
        "assigned-secret",
        re.compile(rf"(?i){_NAMES}[\w-]{{0,30}}(?:{_QUOTE})?\s{{0,4}}(?:=>|:=|[:=])\s{{0,4}}{_QUOTE}([^\"'\\\s]{{6,}})"),
        rf"(?i:{_ASSIGNED}{_QUOTE}[^\"'\\\s]{{6}})",
    ),
    _rule(
        "assigned-secret",
        re.compile(rf"(?i){_NUMBERED}(?:{_QUOTE})?\s{{0,4}}:\s{{0,4}}([0-9]{{4,}})\b"),
        rf"(?i:{_NUMBERED}(?:{_QUOTE})?{SPACE}{{0,4}}:{SPACE}{{0,4}}\p{{Nd}}{{4}})",
    ),
    # Without quotes it is a secret only where it looks like one: long, with a digit, not a ${placeholder}.
    SecretRule("assigned-secret", _UNQUOTED, rf"(?i:{_ASSIGNED}[A-Za-z0-9][^\s\"'&;,<>{{}}\\]{{11}})", _Unquoted()),
)  # fmt: skip

SECRET_NAME = re.compile(rf"(?i)^[\w.-]*?(?:{_NAMES}|authorization|cookie)$")
SECRET_NUMBER_NAME = re.compile(rf"(?i)^[\w.-]*?{_NUMBERED}$")
LEAST_SECRET_NUMBER = 1000
"""A number below it (a length, an index) is no secret, whatever its name."""


class BadPattern(ValueError):
    """A pattern of the policy that is no regular expression; says which and why."""


@lru_cache(maxsize=1)
def rules() -> tuple[SecretRule, ...]:
    """Every built-in rule, in the order they are tried."""
    return (*_OWN[:2], *_library_rules(), *_OWN[2:])


def policy_rule(pattern: str) -> Linear:
    """A pattern of a policy, on the engine that no text can slow down.

    Raises:
        BadPattern: if it is none, or would need backtracking.
    """
    try:
        re.compile(pattern)
        return Linear(pattern)
    except NotLinear as why:
        raise BadPattern(f"the redaction pattern {pattern!r} cannot run in linear time: {why}") from None
    except UnicodeEncodeError:
        raise BadPattern(f"the redaction pattern {pattern!r} holds a half of a character (a lone surrogate)") from None
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"the redaction pattern {pattern!r} is not a regular expression: {error}") from error


def _library_rules() -> Iterator[SecretRule]:
    for plugin in sorted(_plugins(), key=lambda each: str(each.secret_type)):
        name = str(plugin.secret_type)
        if name not in _SKIPPED:
            kind = name.lower().replace(" ", "-")
            patterns: Iterable[re.Pattern[str]] = plugin.denylist  # type: ignore[assignment]
            yield from (_rule(kind, pattern, _GATES.get(name)) for pattern in patterns)


def _plugins() -> set[type[RegexBasedDetector]]:
    modules = (
        importlib.import_module(f"{library.__name__}.{each.name}") for each in pkgutil.iter_modules(library.__path__)
    )
    return {
        found
        for module in modules
        for found in vars(module).values()
        if inspect.isclass(found) and issubclass(found, RegexBasedDetector) and not inspect.isabstract(found)
    }
