"""Both protocols, each spoken by its maker's own client: one request, no retries of the client's own.

A key is in the request's header and nowhere else: neither in a reason nor in a log line. Nor is the prompt, so an
endpoint's message is told by its codes only.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from importlib import import_module
from typing import Any

from tasks.draft.model.answer import shapes
from tasks.draft.model.chat import CUT_OFF, DECLINED, STOPPED, Question, Said
from tasks.draft.model.shorten import tokens
from worker.models.patience import Trouble

PASSING = frozenset({408, 409, 425, 429, 529})
"""Statuses that may pass, beside those from 500 on."""

_CODE = re.compile(r"[\w.\-\[\]]{1,80}")


@dataclass(frozen=True)
class Endpoint:
    """Where to ask and how. ``form`` says how JSON is asked for; ``seeded``: with temperature and seed."""

    url: str | None
    name: str
    key: str
    form: str = "schema"
    seeded: bool = True


class OpenAIWire:
    """Chat completions, as OpenAI and every compatible endpoint take them."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @cached_property
    def _client(self) -> Any:
        return _open("openai", "OpenAI", self._endpoint)

    def send(self, question: Question, timeout: float) -> Said:
        """Ask once. Raises ``Trouble`` if no answer came."""
        messages = [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}]
        told = {"model": self._endpoint.name, "messages": messages, "timeout": timeout, **self._options(question)}
        completion = _called("openai", lambda: self._client.chat.completions.create(**told))
        choices = getattr(completion, "choices", None) or []
        text = str(choices[0].message.content or "") if choices else ""
        usage = getattr(completion, "usage", None)
        return Said(
            text, _ended(choices),
            _counted(usage, "prompt_tokens", question.system + question.user),
            _counted(usage, "completion_tokens", text),
        )  # fmt: skip

    def _options(self, question: Question) -> dict[str, Any]:
        # As an object it becomes a grammar, which keeps the limits; a server that checks schemas may refuse them.
        schema = {"name": "answer", "schema": shapes(question.schema)}
        forms: dict[str, dict[str, Any]] = {
            "schema": {"response_format": {"type": "json_schema", "json_schema": schema}},
            "object": {"response_format": {"type": "json_object", "schema": question.schema}},
            "json": {"response_format": {"type": "json_object"}},
        }
        form = forms.get(self._endpoint.form, {})
        if not self._endpoint.seeded:
            return {"max_completion_tokens": question.most_tokens, **form}
        sampling = {"temperature": question.temperature, "seed": question.seed}
        return {"max_tokens": question.most_tokens, **sampling, **form}


class AnthropicWire:
    """Messages, as Anthropic takes them: without temperature or seed, which its client no longer has."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @cached_property
    def _client(self) -> Any:
        return _open("anthropic", "Anthropic", self._endpoint)

    def send(self, question: Question, timeout: float) -> Said:
        """Ask once. Raises ``Trouble`` if no answer came."""
        told: dict[str, Any] = {
            "model": self._endpoint.name, "system": question.system, "max_tokens": question.most_tokens,
            "messages": [{"role": "user", "content": question.user}], "timeout": timeout,
        }  # fmt: skip
        if self._endpoint.form in ("schema", "object"):
            told["output_config"] = {"format": {"type": "json_schema", "schema": shapes(question.schema)}}
        message = _called("anthropic", lambda: self._client.messages.create(**told))
        blocks = getattr(message, "content", None) or []
        text = "".join(str(block.text) for block in blocks if getattr(block, "type", "") == "text")
        usage = getattr(message, "usage", None)
        ended = {"max_tokens": CUT_OFF, "refusal": DECLINED}.get(str(getattr(message, "stop_reason", "")), STOPPED)
        return Said(
            text, ended,
            _counted(usage, "input_tokens", question.system + question.user),
            _counted(usage, "output_tokens", text),
        )  # fmt: skip


def _open(package: str, client: str, endpoint: Endpoint) -> Any:
    try:
        module = import_module(package)
    except ImportError as error:
        raise Trouble(f"the package {package} is missing: pip install 'slowwave[llm]'", passes=False) from error
    # At DEBUG these write whole requests, which hold episodes.
    for name in (package, "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    return getattr(module, client)(base_url=endpoint.url, api_key=endpoint.key or "none", max_retries=0)


def _called(package: str, call: Callable[[], Any]) -> Any:
    """What the client returns, its errors told as ours."""
    errors = import_module(package)
    try:
        return call()
    except errors.APITimeoutError:
        raise Trouble("it did not answer in time", passes=True) from None
    except errors.APIConnectionError as error:
        raise Trouble(f"no connection ({type(error.__cause__).__name__})", passes=True) from None
    except errors.APIStatusError as error:
        raise _refusal(error) from None
    except (errors.APIError, ValueError) as error:
        raise Trouble(f"what it sent is not of the protocol ({type(error).__name__})", passes=False) from None


def _refusal(error: Any) -> Trouble:
    status = int(error.status_code)
    if status in (401, 403):
        return Trouble(f"it refused the key (status {status})", passes=False)
    passes = status in PASSING or status >= 500
    body: dict[str, Any] = error.body if isinstance(error.body, dict) else {}
    inner: dict[str, Any] = body["error"] if isinstance(body.get("error"), dict) else body
    codes = [str(inner[key]) for key in ("type", "code", "param") if inner.get(key)]
    named = ", ".join(code for code in codes if _CODE.fullmatch(code))
    return Trouble(f"status {status}{f': {named}' if named else ''}", passes=passes, after=_after(error))


def _after(error: Any) -> float | None:
    """Seconds that the endpoint asks to wait: ``Retry-After`` as a number or a date."""
    given = str(error.response.headers.get("retry-after", "")).strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", given):
        return float(given)
    try:
        return max(0.0, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _ended(choices: list[Any]) -> str:
    if not choices:
        return STOPPED
    reason = str(choices[0].finish_reason)
    if getattr(choices[0].message, "refusal", None) or reason == "content_filter":
        return DECLINED
    return CUT_OFF if reason == "length" else STOPPED


def _counted(usage: Any, field: str, text: str) -> int:
    """Tokens as the endpoint counted them; about, where it does not say."""
    number = getattr(usage, field, None)
    return int(number) if isinstance(number, int) and number > 0 else tokens(text)
