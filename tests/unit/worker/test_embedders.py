"""Embedders as the settings name them: a real endpoint over HTTP, and packages that may be absent."""

from __future__ import annotations

import importlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from storage.settings import Settings
from tasks.cluster.embed import Embedder, EmbedderUnavailable
from worker.embedders import embedder_of
from worker.embedders.endpoint import BATCH, TRIES, Endpoint
from worker.embedders.installed import FastEmbed, OnnxFolder, SentenceTransformers


class Server:
    """Speaks ``/v1/embeddings``: a text's vector is its length and one. ``faults`` are statuses it gives first."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.faults: list[tuple[int, dict[str, str]]] = []
        self.body: bytes | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.asked.append({"path": self.path, **asked})
                outer.keys.append(self.headers.get("authorization"))
                status, headers = outer.faults.pop(0) if outer.faults else (200, {})
                data = [{"index": at, "embedding": [len(text), 1]} for at, text in enumerate(asked["input"])]
                body = outer.body or json.dumps({"data": data[::-1]}).encode()
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def endpoint(server: Server, slept: list[float] | None = None) -> Endpoint:
    return Endpoint(server.url, "small", "key-1", 5, ([] if slept is None else slept).append)


def test_vectors_come_in_the_order_of_the_texts_whatever_order_they_are_answered_in(server: Server) -> None:
    assert endpoint(server).embed(["a", "bbb", "cc"]).tolist() == [[1, 1], [3, 1], [2, 1]]
    assert server.asked[0]["path"] == "/v1/embeddings"
    assert server.asked[0]["model"] == "small"
    assert server.keys == ["Bearer key-1"]


def test_many_texts_are_asked_for_in_batches(server: Server) -> None:
    assert len(endpoint(server).embed(["x"] * (BATCH + 1))) == BATCH + 1
    assert [len(asked["input"]) for asked in server.asked] == [BATCH, 1]


def test_a_fault_that_passes_is_tried_again_as_late_as_it_says(server: Server) -> None:
    server.faults = [(429, {"retry-after": "7"}), (503, {})]
    slept: list[float] = []
    assert len(endpoint(server, slept).embed(["a"])) == 1
    assert len(slept) == 2
    assert slept[0] >= 7


def test_a_fault_that_stays_is_given_up_with_what_to_do(server: Server) -> None:
    server.faults = [(500, {})] * TRIES
    with pytest.raises(EmbedderUnavailable, match="is it running"):
        endpoint(server).embed(["a"])
    assert len(server.asked) == TRIES


def test_a_refusal_is_not_tried_again_and_tells_no_key(server: Server) -> None:
    server.faults = [(401, {})]
    with pytest.raises(EmbedderUnavailable, match="SLOWWAVE_EMBEDDER_URL") as refused:
        endpoint(server).embed(["a"])
    assert "key-1" not in str(refused.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("body", [b"not json", b'{"data": []}', b'{"data": [{"index": 0}]}', b"[]"])
def test_an_answer_that_is_no_list_of_embeddings_is_refused(server: Server, body: bytes) -> None:
    server.body = body
    with pytest.raises(EmbedderUnavailable, match="answered"):
        endpoint(server).embed(["a"])


def test_an_endpoint_that_is_not_there_is_named() -> None:
    with pytest.raises(EmbedderUnavailable, match=r"127\.0\.0\.1:1/v1/embeddings"):
        Endpoint("http://127.0.0.1:1/v1", "small", "", 1, lambda _: None).embed(["a"])


@pytest.mark.parametrize(
    ("embedder", "module", "extra"),
    [(FastEmbed("m"), "fastembed", "embed-fastembed"), (OnnxFolder("m"), "onnxruntime", "embed-onnx"),
     (SentenceTransformers("m"), "sentence_transformers", "embed-sentence-transformers")],
)  # fmt: skip
def test_a_package_that_is_absent_is_named_with_its_extra(
    embedder: Embedder, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.import_module

    def without(name: str, *args: Any) -> Any:
        if name == module:
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(EmbedderUnavailable, match=rf"{module}.*slowwave\[{extra}\]"):
        embedder.embed(["a"])


def test_the_settings_name_the_embedder() -> None:
    assert embedder_of(Settings(embedder="lexical")) is None
    made = embedder_of(Settings(embedder="openai", embedder_model="small", embedder_url="http://127.0.0.1:9/v1"))
    assert made is not None
    assert made.model == "openai/small"


@pytest.mark.parametrize("given", [{"embedder": "onnx"}, {"embedder": "openai", "embedder_model": "small"}])
def test_an_embedder_without_what_it_needs_is_explained(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="SLOWWAVE_EMBEDDER_"):
        Settings(**given)
