"""A fake server with Ollama's protocol: tags, show, and chat as a stream of JSON lines.

The answer is a function of the prompt: a fixed sentence, or a real model behind another server. The next of its `moods`
decides how a request fails, with Ollama's own messages. It also runs as a separate process: `python fake_ollama.py PORT
[SECONDS]` answers each prompt after so many seconds, and prints its port on standard output.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from typing import Any
from zlib import crc32

MODEL = "tiny:latest"
CREATED = "2026-11-16T09:30:00.123456789Z"
_DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "qwen2",
    "families": ["qwen2"],
    "parameter_size": "494.03M",
    "quantization_level": "Q4_K_M",
}
_FAILURES = {
    "busy": (503, "server busy, please try again.  maximum pending requests exceeded"),
    "crashed": (500, "llama runner process has terminated: signal: killed"),
    "unable": (400, '"tiny:latest" does not support chat'),
}


def sentence(prompt: str) -> str:
    """A text that is true of any code, with a number of its own for each prompt."""
    number = crc32(prompt.encode())
    return (
        f"It is a part of the program and is written for {number:,} readers. Its {number:,} callers rely on its result."
    )


class FakeOllama(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: Callable[[str], str] = sentence, port: int = 0, context: int = 32768) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.answer = answer
        self.context = context
        self.models = [MODEL]
        self.moods: deque[str] = deque()
        self.prompts: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.at_work = 0
        self.most_at_work = 0
        self.released = threading.Event()
        self.turn = threading.Lock()

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: tests disconnect on purpose."""


@contextmanager
def fake_ollama(answer: Callable[[str], str] = sentence, *moods: str) -> Generator[FakeOllama]:
    server = FakeOllama(answer)
    server.moods.extend(moods)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def fake(self) -> FakeOllama:
        assert isinstance(self.server, FakeOllama)
        return self.server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/":
            self._plain(200, b"Ollama is running", "text/plain; charset=utf-8")
        elif self.path == "/api/version":
            self._json(200, {"version": "0.12.6"})
        elif self.path == "/api/tags":
            self._json(200, {"models": [self._tag(name) for name in self.fake.models]})
        else:
            self._plain(404, b"404 page not found", "text/plain")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = request.get("model") or request.get("name") or ""
        if self.path not in ("/api/show", "/api/chat"):
            self._plain(404, b"404 page not found", "text/plain")
        elif name not in self.fake.models and f"{name}:latest" not in self.fake.models:
            self._json(404, {"error": f"model '{name}' not found"})
        elif self.path == "/api/show":
            about = {
                "general.architecture": "qwen2",
                "general.parameter_count": 494032768,
                "qwen2.context_length": self.fake.context,
            }
            self._json(200, {"details": _DETAILS, "model_info": about, "capabilities": ["completion"]})
        else:
            self._chat(request, name)

    def _tag(self, name: str) -> dict[str, Any]:
        digest = "a8b0c51577010a279d933d14c2a8ab4b268079d44c5c8830c0a93900f1827c67"
        return {
            "name": name,
            "model": name,
            "modified_at": CREATED,
            "size": 397821319,
            "digest": digest,
            "details": _DETAILS,
        }

    def _chat(self, request: dict[str, Any], name: str) -> None:
        server = self.fake
        prompt = "\n".join(message["content"] for message in request["messages"] if message["role"] == "user")
        with server.turn:
            server.requests.append(request)
            server.prompts.append(prompt)
            mood = server.moods.popleft() if server.moods else ""
            server.at_work += 1
            server.most_at_work = max(server.most_at_work, server.at_work)
        try:
            if mood in _FAILURES:
                status, message = _FAILURES[mood]
                self._json(status, {"error": message})
            elif mood == "silent":
                server.released.wait()
            else:
                self._stream(name, prompt, mood)
        finally:
            with server.turn:
                server.at_work -= 1

    def _stream(self, name: str, prompt: str, mood: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        pieces = re.findall(r"\s*\S+", self.fake.answer(prompt))
        for at, piece in enumerate(pieces):
            if mood and at == 2:
                if mood == "dying":
                    self.connection.shutdown(SHUT_RDWR)
                    return
                if mood == "garbage":
                    self._chunk(b"<html><body>502 Bad Gateway</body></html>\n")
                elif mood == "broken":
                    message = "an error was encountered while running the model: unexpected EOF"
                    self._chunk(_line({"error": message}))
                if mood in ("half", "garbage", "broken"):
                    self._chunk(b"")
                    return
            message = {"role": "assistant", "content": piece}
            self._chunk(_line({"model": name, "created_at": CREATED, "message": message, "done": False}))
        last = {
            "model": name,
            "created_at": CREATED,
            "message": {"role": "assistant", "content": ""},
            "done_reason": "length" if mood == "length" else "stop",
            "done": True,
            "total_duration": 4883583458,
            "load_duration": 1334875,
            "prompt_eval_count": len(prompt) // 4,
            "prompt_eval_duration": 342546000,
            "eval_count": len(pieces),
            "eval_duration": 4535599000,
        }
        self._chunk(_line(last))
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _json(self, status: int, value: object) -> None:
        self._plain(status, _line(value).rstrip(b"\n"), "application/json; charset=utf-8")

    def _plain(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _line(value: object) -> bytes:
    """JSON as Go's encoder writes it: no spaces, and special characters of HTML escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode() + b"\n"


def serve_slowly(port: int, seconds: float) -> None:
    """Answer each prompt after `seconds`, until killed."""
    never = threading.Event()

    def answer(prompt: str) -> str:
        never.wait(seconds)
        return sentence(prompt)

    server = FakeOllama(answer, port)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve_slowly(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
