"""A policy is taken whole or refused with the key, what is wrong with it, and what it may be."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.ingest.policy import BadPolicy, parse_policy, read_policy

WHOLE = {
    "owner": "the refund team",
    "redact_patterns": [r"employee (E\d{6})"],
    "trust": {"tools": {"crm_*": "internal"}},
}
TOML = """
owner = "the refund team"
redact_patterns = ['employee (E\\d{6})']
[trust.tools]
"crm_*" = "internal"
"""


def test_a_policy_is_read_from_json_and_from_toml() -> None:
    import json

    assert parse_policy(json.dumps(WHOLE)) == WHOLE
    assert parse_policy(TOML) == WHOLE


def test_an_empty_policy_takes_everything_back() -> None:
    assert parse_policy("{}") == parse_policy("") == {}
    assert read_policy({"owner": None}) == {}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"ownr": "x"}, "there is no policy key 'ownr'; did you mean 'owner'? Known: owner, redact_patterns, trust"),
        ({"zzz": 1}, "there is no policy key 'zzz'. Known: owner, redact_patterns, trust"),
        ({"owner": 7}, "owner must be text, not a number"),
        ({"owner": "  "}, "owner must be 1 to 200 visible characters"),
        ({"owner": "a\u202eb"}, "owner must be 1 to 200 visible characters"),
        ({"redact_patterns": "x"}, "redact_patterns must be a list of regular expressions, each a text"),
        ({"redact_patterns": ["a", 1]}, "redact_patterns must be a list of regular expressions, each a text"),
        ({"redact_patterns": ["("]}, "the redaction pattern '\\(' is not a regular expression: missing \\)"),
        ({"redact_patterns": [".*"]}, "the redaction pattern '\\.\\*' takes out any text: make it narrower"),
        ({"redact_patterns": [""]}, "takes out any text"),
        ({"redact_patterns": ["\ud800x"]}, "holds a half of a character"),
        ({"trust": ["x"]}, "trust must look like"),
        ({"trust": {"tools": {"crm_*": "high"}}}, "trust of the tool 'crm_\\*' must be one of internal, user"),
        ({"trust": {"agents": {}}}, "trust must look like"),
        ([], "a policy is an object with the keys owner, redact_patterns, trust, .*, not a list"),
        ({"regime": "forced"}, "regime must be one of auto, episodic, force"),
        ({"exemplars": True}, "exemplars must be a whole number from 0 to 100"),
        ({"exemplars": 101}, "exemplars must be a whole number from 0 to 100"),
        ({"approve_forced": 1}, "approve_forced must be true or false"),
        ({"audit_views": "yes"}, "audit_views must be true or false"),
        (None, "not nothing"),
    ],
)
def test_what_is_wrong_is_named(value: Any, told: str) -> None:
    with pytest.raises(BadPolicy, match=told.replace("?", "\\?")):
        read_policy(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "as JSON"), ("owner = ", "as TOML"), ("[" * 100_000, "nested|JSON"), ("9" * 5000, "TOML")],
)
def test_what_is_neither_json_nor_toml_says_where(text: str, told: str) -> None:
    with pytest.raises(BadPolicy, match=told):
        parse_policy(text)
