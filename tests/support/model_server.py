"""A language model's endpoint for tests: a real HTTP server that speaks both protocols and says what it is told to.

It thinks nothing: each request takes the next of the scripted replies, the last one again and again. What was asked is
kept, with its headers. A reply may wait for an event, so that a client's patience ends without anyone sleeping.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass(frozen=True)
class Reply:
    """One scripted reply. ``ended`` is OpenAI's finish reason; ``body`` stands for the whole answer where it is set."""

    text: str | None = ""
    ended: str = "stop"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    usage: bool = True
    wait: threading.Event | None = None
    refusal: str | None = None


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> str:
        """Everything in it that a model would read."""
        system = self.body.get("system") or ""
        return "\n".join([str(system), *(str(message["content"]) for message in self.body["messages"])])

    @property
    def user(self) -> str:
        """The user's message."""
        return str(self.body["messages"][-1]["content"])


Script = Reply | Callable[[Asked], Reply]


class ModelServer:
    """The endpoint. ``url`` is its root; OpenAI's protocol is under ``/v1``."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._script: list[Script] = [Reply("")]
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                asked = Asked(self.path, {k.lower(): v for k, v in self.headers.items()},
                              json.loads(self.rfile.read(length)))  # fmt: skip
                reply = outer._next(asked)
                if reply.wait is not None:
                    reply.wait.wait(30)
                with suppress(BrokenPipeError, ConnectionResetError):  # A client that gave up is gone.
                    self._send(reply, outer._written(asked, reply))

            def _send(self, reply: Reply, data: bytes) -> None:
                self.send_response(reply.status)
                for name, value in {"content-type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def says(self, *replies: Script | str) -> None:
        """What it says from now on, one after the other; the last one stays."""
        with self._lock:
            self._script = [Reply(one) if isinstance(one, str) else one for one in replies]

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def _next(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            script = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        return script if isinstance(script, Reply) else script(asked)

    def _written(self, asked: Asked, reply: Reply) -> bytes:
        if reply.body is not None:
            return reply.body
        if reply.status != 200:
            error = {"type": f"error_{reply.status}", "message": f"of {asked.headers} and {asked.texts}"}
            return json.dumps({"error": error}).encode()
        shape = _anthropic if asked.path.endswith("/messages") else _openai
        return json.dumps(shape(asked, reply)).encode()


def _openai(asked: Asked, reply: Reply) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
    choices = [] if reply.text is None else [{"index": 0, "message": message, "finish_reason": reply.ended}]
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120} if reply.usage else None
    return {"id": "c", "object": "chat.completion", "created": 1, "model": asked.body["model"], "choices": choices,
            "usage": usage}  # fmt: skip


def _anthropic(asked: Asked, reply: Reply) -> dict[str, Any]:
    ended = {"length": "max_tokens", "content_filter": "refusal"}.get(reply.ended, "end_turn")
    content = [] if reply.text is None else [{"type": "text", "text": reply.text}]
    return {"id": "m", "type": "message", "role": "assistant", "model": asked.body["model"], "content": content,
            "stop_reason": ended, "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20}}  # fmt: skip


STEP = re.compile(r'^\{"step": "(E\d+\.S\d+)".*$', re.MULTILINE)


def steps_shown(asked: Asked) -> list[dict[str, Any]]:
    """The steps in a prompt, as the model would see them."""
    return [json.loads(found.group()) for found in STEP.finditer(asked.user)]


def answer(asked: Asked, *, call: str, predicate: dict[str, Any], **given: Any) -> dict[str, Any]:
    """A whole answer that cites the first step with this call."""
    step = next(step for step in steps_shown(asked) if step.get("name") == call)
    draft = {
        "when_to_use": "Before an amount is taken from a customer",
        "guidance": ["Look up what it costs first.", "Take the amount only once the two agree."],
        "rationale": "The runs that looked first went well.",
        "counter_example": "A customer who was told the amount a moment ago.",
        "verification_method": "Run the same tasks with and without the look.",
        "scope": "Wherever an amount is taken.",
        "citations": [{"step": step["step"], "quote": f"{call}"}],
        "predicate": {"required": [], "forbidden": [], "ordered": []} | predicate,
    }  # fmt: skip
    return {"draft": draft | given, "reason": ""}


def answers(*, call: str, predicate: dict[str, Any], wrap: str = "{}", **given: Any) -> Callable[[Asked], Reply]:
    """A script that answers every prompt; ``wrap`` puts words around the JSON."""

    def script(asked: Asked) -> Reply:
        return Reply(wrap.replace("{}", json.dumps(answer(asked, call=call, predicate=predicate, **given))))

    return script


def nothing(reason: str = "the runs differ in nothing that could be copied") -> str:
    """The explicit answer that there is nothing to learn."""
    return json.dumps({"draft": None, "reason": reason})


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """An endpoint of its own for each test."""
    server = ModelServer()
    yield server
    server.close()


def texts(asked: Sequence[Asked]) -> str:
    """Everything that a model was ever shown."""
    return "\n".join(one.texts for one in asked)
