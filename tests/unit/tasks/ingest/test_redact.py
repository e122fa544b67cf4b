"""Every secret here is made up, and put together at run time so that no scanner takes this file for a leak."""

import json
import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasks.ingest.linear import AnyOf, Linear, as_bytes, span_of
from tasks.ingest.redact import Redactor
from tasks.ingest.secret_rules import BadPattern, SecretRule, policy_rule, rules

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


def texts_of(rule: SecretRule) -> st.SearchStrategy[str]:
    """Texts that a rule takes, with what may stand around a secret."""
    pattern = re.compile(rule.pattern.pattern, (rule.pattern.flags & ~re.UNICODE) | re.ASCII)
    around = st.text(st.sampled_from("a0_- \n\t\"'=:/.\\é例\u2003\x00\x1f\ud800"), max_size=12)
    return st.tuples(around, st.from_regex(pattern, fullmatch=False), around).map("".join)


EACH_RULE = pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.pattern.pattern[:30])
FEW = settings(max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@EACH_RULE
def test_no_pattern_matches_a_text_that_its_gate_lets_pass(rule: SecretRule) -> None:
    """Gates only save time: a text that a pattern takes is stopped by its gate, alone and among others."""
    assert rule.gate is not None
    gate = AnyOf([rule.gate])

    @FEW
    @given(texts_of(rule))
    def check(text: str) -> None:
        if rule.pattern.search(text):
            assert gate.is_in(as_bytes(text))
            assert gate.is_in(as_bytes(f"one\x1f{text}\x1ftwo"))

    check()


@EACH_RULE
def test_the_linear_engine_finds_what_the_pattern_finds(rule: SecretRule) -> None:
    """The same places; RE2 may take a letter without a case of its own for a word's end, and then finds more."""

    @FEW
    @given(texts_of(rule))
    def check(text: str) -> None:
        expected = [span_of(match) for match in rule.pattern.finditer(text)]
        found = list(rule.finder.spans(text))
        assert found == expected or (not text.isascii() and len(found) >= len(expected))

    check()


def test_a_secret_after_an_escaped_line_end_is_one_too() -> None:
    """Texts within texts: what a tool printed as JSON has its line ends as a backslash and a letter."""
    for kind, secret in SECRETS.items():
        assert Redactor().redact_text(rf"out:\n{secret} end") == (rf"out:\n[redacted:{kind}] end", {kind: 1})


def test_a_secret_that_follows_another_is_found_once_that_one_is_gone() -> None:
    text, _ = Redactor().redact_text(SECRETS["aws-access-key"] + SECRETS["model-provider-key"])
    assert text == "[redacted:aws-access-key][redacted:model-provider-key]"


def test_what_holds_no_secret_comes_back_as_it_is() -> None:
    value = {"steps": [{"text": "Cancel LMN42 \ud800 \x00", "n": 1, "more": [None, 2.5, "é"]}]}
    clean, counts = Redactor().redact(value)
    assert clean is value
    assert counts == {}


def test_keys_are_redacted_like_values() -> None:
    value, counts = Redactor().redact({SECRETS["github-token"]: 1})
    assert value == {"[redacted:github-token]": 1}
    assert counts == {"github-token": 1}


@pytest.mark.parametrize("secret", SECRETS.values())
def test_a_refused_record_keeps_no_secret_whether_it_is_json_or_not(secret: str) -> None:
    whole = json.dumps({"text": f"line one\n{secret}", "password": "x7"}).encode()
    for data in (whole, whole[:-1], whole + b"\xff"):
        kept = Redactor().redact_bytes(data)
        assert secret.encode() not in kept
        assert json.dumps(secret)[1:-1].encode() not in kept
    assert b"x7" not in Redactor().redact_bytes(whole)


def test_a_refused_record_without_a_secret_is_kept_to_the_byte() -> None:
    data = b'{ "b": 1.50,\t"a" : 123456789012345678901234567890 }'
    assert Redactor().redact_bytes(data) == data


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(\w+) \1", "back-references"),
        (r"id(?=:)", "look-ahead"),
        (r"(?<!x)id", "look-behind"),
        (r"a{2000}", "1000 at most"),
        (r"[^\W_]", "outside of it"),
    ],
)
def test_a_pattern_that_needs_backtracking_is_refused_and_says_what_to_do(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern, match=why):
        Redactor([pattern])


def test_no_pattern_of_a_policy_runs_on_a_backtracking_engine() -> None:
    assert isinstance(policy_rule("(a+)+$"), Linear)
    text = "a" * 100_000 + "b"
    assert Redactor(["(a+)+$"]).redact_text(text) == (text, {})


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"name: (\w+)", "name: Jos\u00e9_例"),
        (r"\d{6,}", "nr. \u0661\u0662\u0663\u0664\u0665\u0666"),
        (r"pin\s(\d{6})", "pin\u00a0123456"),
        (r"secret$", "a secret\n"),
        (r"^badge \d+", "badge 123456"),
        (r"badge \d+\Z", "badge 123456"),
        (r"(?m)^badge \d+$", "a\nbadge 123456\nb"),
        (r"[x[]{,3}badge", "[x[badge"),
        (r"caf\u00e9-\d{4}", "café-1234"),
        (r"[\w.]+@corp", "josé.x@corp"),
        (r"badge.\d{6}", "badge\ud800123456"),
        (r"badge.\d{6}", "\x00\ud800é badge\x00123456 例"),
        (r"[]a]badge", "]badge"),
        (r"\Sbadge\W", "xbadge例".replace("例", "\u2003")),
    ],
)
def test_a_policys_pattern_takes_out_what_python_would_find(pattern: str, text: str) -> None:
    found = re.search(pattern, text)
    assert found is not None
    secret = found[1] if found.re.groups else found[0]
    clean, counts = Redactor([pattern]).redact([text, "before and after"])
    assert counts == {"policy-pattern": 1}
    assert secret not in clean[0]
    assert clean[1] == "before and after"


@FEW
@given(st.text(st.sampled_from("ab é例\n\x00\ud800.1"), max_size=60))
def test_places_are_those_of_the_text_whatever_it_holds(text: str) -> None:
    for pattern in ("[ab]+1", "é.", r"\W1", "(?s)a.b", r"\s\d"):
        assert list(Linear(pattern).spans(text)) == [match.span() for match in re.finditer(pattern, text)]


@pytest.mark.parametrize(
    "text",
    [
        "password" * 20_000 + "eyJ" * 20_000 + "key: " * 20_000 + "-----BEGIN PRIVATE " * 5_000,
        "password=" * 100_000,
        "//" * 100_000 + "/:_authToken=",
        "://aa:" * 50_000 + "@",
        "aws key '" * 50_000,
        "-----BEGIN PRIVATE KEY-----" * 20_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_long_text_full_of_near_misses_is_read_in_time_that_grows_with_its_length(text: str) -> None:
    started = time.process_time()
    Redactor().redact_text(text)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "text", ["password=abcdesecret= abc123def456xyz", "token_secret: x{1 secret=abcdefghijk9 secret:b1"]
)
def test_a_name_within_what_was_no_secret_still_counts(text: str) -> None:
    rule = rules()[-1]
    assert list(rule.finder.spans(text)) == [span_of(match) for match in rule.pattern.finditer(text)] != []


def test_a_number_under_the_name_of_a_secret_is_taken_out_and_a_count_of_tokens_is_not() -> None:
    told = {"password": 12345678, "pin": {"passcode": 4711}, "max_token": 4096, "secret": 3, "password_ok": True}
    clean, counts = Redactor().redact(told)
    mark = "[redacted:secret-by-name]"
    assert clean == {"password": mark, "pin": {"passcode": mark}, "max_token": 4096, "secret": 3, "password_ok": True}
    assert counts == {"secret-by-name": 2}


@pytest.mark.parametrize("text", ['{"password": 87654321}', "{'db_passwd':4711}", 'said {\\"api_key\\": 123456}'])
def test_a_number_in_a_text_under_the_name_of_a_secret_is_taken_out(text: str) -> None:
    clean, counts = Redactor().redact_text(text)
    assert counts == {"assigned-secret": 1}
    assert not any(digit in clean for digit in "12345678")
