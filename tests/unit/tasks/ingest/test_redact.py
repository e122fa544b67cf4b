"""Every secret here is made up, and put together at run time so that no scanner takes this file for a leak."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.ingest.redact import Redactor
from tasks.ingest.secret_rules import BadPattern, SecretRule, rules

SECRETS = {
    "aws-access-key": "AKIA" + "ABCDEFGHIJKLMNOP",
    "github-token": "ghp_" + "a1B2" * 9,
    "gitlab-token": "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "slack-token": "xoxb-" + "123456789012-" + "abcdefABCDEF",
    "stripe-access-key": "sk_live_" + "a1B2c3D4e5F6g7H8i9J0k1L2",
    "json-web-token": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJlLWhlcmU",
    "model-provider-key": "sk-" + "proj-a1B2c3D4e5F6g7H8i9J0",
    "google-api-key": "AIza" + "a1B2c3D" * 5,
    "private-key": "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIabc\ndef\n-----END RSA PRIVATE " + "KEY-----",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_each_kind_is_taken_out_counted_and_named(kind: str) -> None:
    text, counts = Redactor().redact_text(f"use {SECRETS[kind]} now")
    assert SECRETS[kind] not in text
    assert text == f"use [redacted:{kind}] now"
    assert counts == {kind: 1}


def test_a_private_key_goes_whole_not_only_its_header() -> None:
    text, _ = Redactor().redact_text(f"a {SECRETS['private-key']} b")
    assert "MII" not in text


def test_a_password_in_a_url_goes_and_the_rest_of_the_url_stays() -> None:
    text, counts = Redactor().redact_text("postgres://ana:s3cret-word@db.example/app")
    assert text == "postgres://ana:[redacted:basic-auth-credentials]@db.example/app"
    assert counts == {"basic-auth-credentials": 1}


@pytest.mark.parametrize(
    "text",
    [
        'api_key = "abcd-1234-efgh"',
        '{"client_secret": "abcd-1234-efgh"}',
        "DB_PASSWORD=abcd-1234-efgh",
        '\\"password\\": \\"abcd-1234-efgh\\"',
    ],
)
def test_what_is_assigned_to_the_name_of_a_secret_is_taken_out(text: str) -> None:
    assert "abcd-1234-efgh" not in Redactor().redact_text(text)[0]


def test_a_value_under_the_name_of_a_secret_is_taken_out_wherever_it_hides() -> None:
    value, counts = Redactor().redact([{"call": {"Authorization": "x", "api_key": ["y"], "max_tokens": 5}}])
    assert value == [
        {
            "call": {
                "Authorization": "[redacted:secret-by-name]",
                "api_key": ["[redacted:secret-by-name]"],
                "max_tokens": 5,
            }
        }
    ]
    assert counts == {"secret-by-name": 2}


@pytest.mark.parametrize(
    "text",
    [
        "Your booking is APF3KL9QWE2 from 10.2.3.4",
        "reservation EHGLP3, card certificate_7504069, order #W2378156",
        "Forgot your password? Say so and we reset it.",
        "session 57e0468a-fe94-4634-8ce3-0a0ba743e7a9 at https://example.org:8443/path@2",
        "token: the smallest unit a model reads",
    ],
)
def test_ids_and_prose_are_left_alone(text: str) -> None:
    assert Redactor().redact_text(text) == (text, {})


def test_redacting_twice_changes_nothing_more() -> None:
    once, _ = Redactor().redact([{"password": "hunter2"}, *SECRETS.values()])
    assert Redactor().redact(once) == (once, {})


def test_the_policy_adds_patterns_and_a_group_limits_what_goes() -> None:
    redactor = Redactor([r"employee (E\d{6})"])
    assert redactor.redact_text("employee E123456 called") == (
        "employee [redacted:policy-pattern] called",
        {"policy-pattern": 1},
    )


def test_a_bad_pattern_is_named() -> None:
    with pytest.raises(BadPattern, match=r"'\(' is not a regular expression"):
        Redactor(["("])


@pytest.mark.parametrize("rule", [rule for rule in rules() if rule.hints], ids=lambda rule: rule.pattern.pattern[:30])
def test_no_pattern_matches_a_text_without_one_of_its_hints(rule: SecretRule) -> None:
    """Hints only save time: a text that a pattern takes has one of them."""

    @settings(max_examples=20, deadline=None, database=None)
    @given(
        st.from_regex(re.compile(rule.pattern.pattern, (rule.pattern.flags & ~re.UNICODE) | re.ASCII), fullmatch=False)
    )
    def check(text: str) -> None:
        assert any(hint in text.lower() for hint in rule.hints)

    check()


def test_a_long_text_full_of_near_misses_is_read_in_time_that_grows_with_its_length() -> None:
    text = "password" * 20_000 + "eyJ" * 20_000 + "key: " * 20_000 + "-----BEGIN PRIVATE " * 5_000
    started = time.process_time()
    Redactor().redact_text(text)
    assert time.process_time() - started < 5
