"""What reaches the log, and what never does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import structlog

from storage.settings import Settings
from worker.logs import configure, hide_secrets


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """The root logger as it was, afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


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


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_tells_where_and_never_what_the_variables_held(
    form: Literal["text", "json"], tmp_path: Path, capsys: pytest.CaptureFixture[str], logging_restored: None
) -> None:
    configure(Settings(home=tmp_path, log_format=form))
    try:
        _fail("-".join(("correct", "horse")))
    except ValueError as error:
        logging.getLogger("slowwave.any").error("page.failed", exc_info=error)
    told = capsys.readouterr().err
    assert "page.failed" in told
    assert "ValueError: out of luck" in told
    assert "in _fail" in told
    assert "correct-horse" not in told


def _fail(password: str) -> None:
    raise ValueError("out of luck" if password else "")
