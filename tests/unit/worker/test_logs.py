from __future__ import annotations

from worker.logs import hide_secrets


def test_values_named_like_secrets_are_hidden() -> None:
    event = {
        "event": "token.used",
        "token": "sw_abc",
        "api_secret": "x",
        "Authorization": "Bearer y",
        "namespace": "acme",
    }
    assert hide_secrets(None, "info", dict(event)) == {
        "event": "token.used",
        "token": "[hidden]",
        "api_secret": "[hidden]",
        "Authorization": "[hidden]",
        "namespace": "acme",
    }


def test_counts_are_no_secrets() -> None:
    assert hide_secrets(None, "info", {"tokens": 12})["tokens"] == 12
