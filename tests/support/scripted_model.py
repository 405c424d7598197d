"""A fake model that follows a script: it opens a file, changes a line in it, and answers "done".

It implements the protocols of Anthropic, Google and OpenAI well enough for the real agents, on a local port, and
records what the agents send. It does not know about hooks.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Json = dict[str, Any]


class Step(NamedTuple):
    """A tool call; `call` identifies it in what the agent sends back."""

    call: str
    tool: str
    arguments: Json


class Script(NamedTuple):
    file: str
    old: str
    new: str

    def next_step(self, sent: str, tools: set[str]) -> Step | None:
        """The next step after what was sent so far; None at the end, or if the agent offers no fitting tool."""
        steps = [step for step in self._steps() if step.tool in tools and step.call not in sent]
        done = {step.call for step in self._steps() if step.call in sent}
        return next((step for step in steps if step.call not in done), None)

    def _steps(self) -> list[Step]:
        anthropic = {"file_path": self.file, "old_string": self.old, "new_string": self.new}
        return [
            Step("toolu_1", "Read", {"file_path": self.file}),
            Step("toolu_2", "Edit", anthropic),
            Step("call_1", "read_file", {"file_path": self.file}),
            Step("call_2", "replace", {"instruction": "count", **anthropic}),
            Step("call_3", "read", {"filePath": self.file}),
            Step("call_4", "view", {"path": self.file}),
            Step("call_5", "exec_command", {"cmd": f"cat {self.file}"}),
            Step("call_6", "edit", self._edit()),
        ]

    def _edit(self) -> Json:
        """OpenCode and Copilot name the tool alike but its arguments differently; each ignores unknown arguments."""
        other = {"path": self.file, "old_str": self.old, "new_str": self.new}
        return {"filePath": self.file, "oldString": self.old, "newString": self.new, **other}


class Model(NamedTuple):
    url: str
    requests: list[str]
    """The conversation of each request, as JSON."""
    bodies: list[str]
    """Each request as a whole, with its tools."""


@contextmanager
def scripted_model(script: Script) -> Generator[Model]:
    requests: list[str] = []
    bodies: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self._send(b'{"data": [], "models": []}', "application/json")

        do_HEAD = do_GET  # noqa: N815  the name that the base class looks for

        def do_POST(self) -> None:
            body: Json = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            sent = json.dumps(body.get("messages") or body.get("input") or body.get("contents") or "")
            if "ountTokens" in self.path or "count_tokens" in self.path:
                self._send(b'{"input_tokens": 9, "totalTokens": 9}', "application/json")
                return
            requests.append(sent)
            bodies.append(json.dumps(body))
            protocol = _anthropic if "/messages" in self.path else _gemini if "models/" in self.path else _chat
            protocol = _responses if "/responses" in self.path else protocol
            self._send(protocol(script.next_step(sent, _tools(body))), "text/event-stream")

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield Model(f"http://127.0.0.1:{server.server_port}", requests, bodies)
        finally:
            server.shutdown()
            thread.join()


def _tools(body: Json) -> set[str]:
    names: set[str] = set()
    for tool in body.get("tools", ()):
        functions: list[Json] = tool.get("functionDeclarations") or [tool.get("function", tool)]
        names |= {function.get("name", "") for function in functions}
    return names


def _events(*events: Json, named: bool = True) -> bytes:
    return b"".join(
        (f"event: {event['type']}\n" if named else "").encode() + b"data: " + json.dumps(event).encode() + b"\n\n"
        for event in events
    )


def _anthropic(step: Step | None) -> bytes:
    block: Json = {"type": "text", "text": ""}
    delta: Json = {"type": "text_delta", "text": "done"}
    if step:
        block = {"type": "tool_use", "id": step.call, "name": step.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: Json = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    return _events(
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if step else "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    )


def _gemini(step: Step | None) -> bytes:
    part: Json = {"text": "done"}
    if step:
        part = {"functionCall": {"id": step.call, "name": step.tool, "args": step.arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return _events({"candidates": [candidate], "usageMetadata": usage}, named=False)


def _responses(step: Step | None) -> bytes:
    text = {"type": "output_text", "text": "done"}
    item: Json = {"type": "message", "id": "m", "role": "assistant", "content": [text]}
    if step:
        arguments = json.dumps(step.arguments)
        item = {"type": "function_call", "id": "f", "call_id": step.call, "name": step.tool, "arguments": arguments}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return _events(
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": usage}},
    )


def _chat(step: Step | None) -> bytes:
    delta: Json = {"role": "assistant", "content": "done"}
    if step:
        function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
        calls = [{"index": 0, "id": step.call, "type": "function", "function": function}]
        delta = {"role": "assistant", "tool_calls": calls}
    chunk: Json = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    ended: Json = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if step else "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    first = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    return _events(first, {**chunk, "choices": [ended], "usage": usage}, named=False) + b"data: [DONE]\n\n"
