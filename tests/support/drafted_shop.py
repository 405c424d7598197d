"""For tests of drafts: a learned shop, functions that draft its summaries and count them, and a chat server."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import all_current
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.summarizers.drafting.run import Bounds, DraftRun, draft
from golore.summarizers.models.ollama import OllamaModel
from support.fake_ollama import FakeOllama
from support.shop import make_shop

LEVELS = {"file": 4, "package": 2, "repository": 1}
"""The number of drafts by level after a complete run."""


def learned_shop(root: Path) -> Path:
    make_shop(root)
    learn_graph(root, store_directory=root / ".golore", workers=0)
    finish(root, root / ".golore")
    return root


def run(root: Path, server: FakeOllama, bounds: Bounds | None = None, parallel: int = 1) -> DraftRun:
    with closing(OllamaModel("tiny", server.host, seconds=30.0)) as model:
        model.check()
        return draft(root, root / ".golore", model, bounds=bounds, parallel=parallel)


def drafted(root: Path) -> Counter[str]:
    with Knowledge.open(root / ".golore") as knowledge:
        return Counter(one.level for one in all_current(knowledge) if one.quality == "draft")


received: list[dict[str, object]] = []
"""What the chat servers of this process were sent."""


class _Chat(BaseHTTPRequestHandler):
    """A server of chat completions like llama.cpp's; it also answers Anthropic's API."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(b'{"object":"list","data":[{"id":"smol","object":"model"}]}', "application/json")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        received.append(request)
        if self.path == "/v1/messages":
            self._message(request)
            return
        words = ("It is", " a part", " of the shop.")
        events: list[object] = [{"choices": [{"delta": {"content": word}, "finish_reason": None}]} for word in words]
        events.append({"choices": [{"delta": {"content": None}, "finish_reason": "stop"}]})
        events.append({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 6}})
        lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        self._send(f"{lines}data: [DONE]\n\n".encode(), "text/event-stream")

    def _message(self, request: dict[str, object]) -> None:
        """Answer as Anthropic's API does."""
        if self.headers["x-api-key"] != "right":
            self._send(b'{"type":"error","error":{"type":"authentication_error"}}', "application/json", 401)
            return
        answer = {
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [{"type": "text", "text": "It is a part of the shop."}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 7},
        }
        self._send(json.dumps(answer).encode(), "application/json")

    def _send(self, data: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def chat_server() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Chat)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
