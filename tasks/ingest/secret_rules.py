"""What counts as a secret: detect-secrets' own patterns for named kinds of credentials, and a few it lacks.

Its entropy and keyword plug-ins are left out: on agents' episodes, which are full of ids, they redact what evidence
needs. Assignments (``api_key = "…"``) and keys of objects are matched by name here instead.

Each rule carries *hints*: literals without which its pattern cannot match. A text is lowered once and searched for
hints, which is many times faster than the patterns; a pattern of the library for which no hint is known runs always.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import detect_secrets.plugins as library
from detect_secrets.plugins.base import RegexBasedDetector


@dataclass(frozen=True)
class SecretRule:
    """One pattern. ``hints`` are lower-case; empty means "always try". Group 1, where there is one, is the secret."""

    kind: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ()


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

_HINTS: dict[str, tuple[str, ...]] = {
    "AWS Access Key": ("akia", "asia", "abia", "acca", "a3t", "aws"),
    "Azure Storage Account access key": ("accountkey=",),
    "Basic Auth Credentials": ("://",),
    "GitHub Token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "GitLab Token": (
        "glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "gr1348941", "glcbt-", "glimt-", "glptt-", "glagent-", "gloas-",
    ),
    "Mailchimp Access Key": ("-us",),
    "NPM tokens": ("_authtoken",),
    "PyPI Token": ("pypi-age",),
    "SendGrid API Key": ("sg.",),
    "Slack Token": ("xox", "hooks.slack.com"),
    "Square OAuth Secret": ("sq0csp-",),
    "Stripe Access Key": ("k_live_",),
}  # fmt: skip

_NAMES = (
    r"(?:password|passwd|passphrase|pwd|secret|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|"
    r"(?:access|auth|refresh|bearer|session|id|api)[_-]?token|client[_-]?secret|_token)"
)
_NAME_HINTS = (
    *("passw", "passph", "pwd", "secret", "_token"),
    *(f"{first}{joint}key" for first in ("api", "access", "auth", "private") for joint in ("", "_", "-")),
    *(
        f"{first}{joint}token"
        for first in ("access", "auth", "refresh", "bearer", "session", "id", "api")
        for joint in ("", "-")
    ),
)
_QUOTE = r"\\{0,3}[\"']"

_OWN = (
    SecretRule(
        "private-key",
        re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [^-]{0,60}-----|\Z)", re.S),
        ("private key",),
    ),
    SecretRule("putty-key", re.compile(r"PuTTY-User-Key-File-\d.*?(?:Private-MAC: \w+|\Z)", re.S), ("putty-user-key",)),
    SecretRule(
        "json-web-token", re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"), ("eyj",)
    ),
    SecretRule("model-provider-key", re.compile(r"\bsk-(?!live)[A-Za-z0-9_-]{20,}"), ("sk-",)),
    SecretRule("github-token", re.compile(r"\bgithub_pat_[A-Za-z0-9_]{22,}"), ("github_pat_",)),
    SecretRule("google-api-key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}"), ("aiza",)),
    SecretRule("hugging-face-token", re.compile(r"\bhf_[A-Za-z0-9]{30,}"), ("hf_",)),
    SecretRule("twilio-api-key", re.compile(r"\b(?:AC|SK)[a-f0-9]{32}\b"), ("ac", "sk")),
    SecretRule("bearer-token", re.compile(r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{16,}=*)"), ("bearer",)),
    SecretRule(
        "assigned-secret",
        re.compile(rf"(?i){_NAMES}[\w-]{{0,30}}(?:{_QUOTE})?\s{{0,4}}(?:=>|:=|[:=])\s{{0,4}}{_QUOTE}([^\"'\\\s]{{6,}})"),
        _NAME_HINTS,
    ),
    SecretRule(
        # Without quotes it is a secret only where it looks like one: long, with a digit, not a ${placeholder}.
        "assigned-secret",
        re.compile(rf"(?i){_NAMES}[\w-]{{0,30}}\s{{0,2}}[=:]\s{{0,2}}((?=[^\s\"'&;,]*[0-9])[A-Za-z0-9][^\s\"'&;,<>{{}}\\]{{11,}})"),
        _NAME_HINTS,
    ),
)  # fmt: skip

SECRET_NAME = re.compile(rf"(?i)^[\w.-]*?(?:{_NAMES}|authorization|cookie)$")


class BadPattern(ValueError):
    """A pattern of the policy that is no regular expression; says which and why."""


def rules(extra: Iterable[str] = ()) -> tuple[SecretRule, ...]:
    """Every rule, the policy's own patterns last.

    Raises:
        BadPattern: if one of ``extra`` does not compile.
    """
    return (*_built_in(), *(_policy_rule(pattern) for pattern in extra))


@lru_cache(maxsize=1)
def _built_in() -> tuple[SecretRule, ...]:
    return (*_OWN[:2], *_library_rules(), *_OWN[2:])


def _policy_rule(pattern: str) -> SecretRule:
    try:
        return SecretRule("policy-pattern", re.compile(pattern))
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(f"the redaction pattern {pattern!r} is not a regular expression: {error}") from error


def _library_rules() -> Iterator[SecretRule]:
    for plugin in sorted(_plugins(), key=lambda each: str(each.secret_type)):
        name = str(plugin.secret_type)
        if name not in _SKIPPED:
            kind = name.lower().replace(" ", "-")
            patterns: Iterable[re.Pattern[str]] = plugin.denylist  # type: ignore[assignment]
            yield from (SecretRule(kind, pattern, _HINTS.get(name, ())) for pattern in patterns)


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
