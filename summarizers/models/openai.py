"""Client for servers with OpenAI's chat completions protocol: llama.cpp's server, LM Studio, vLLM, and online services.

Answers are streamed. A key is sent only if one is given.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
from golore.graph.errors import AnswerFailed, ModelUnavailable
from golore.summarizers.models.endpoint import client_options
from golore.summarizers.models.model import ANSWER_TOKENS, Completion

_CONNECT_SECONDS: Final = 5.0
_RETRYABLE: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
_UNAUTHORIZED: Final = frozenset((401, 403))
_OK: Final = 200
_NOT_FOUND: Final = 404


class OpenAiModel:
    """A model, by its name in `/v1/models`. If the name is empty, `check` chooses the first one there."""

    def __init__(self, name: str, host: str, *, key: str = "", context: int = 4096, seconds: float = 120.0) -> None:
        self.name = name
        self.host = host.rstrip("/").removesuffix("/v1")
        self.context = context
        self._seconds = seconds
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(
            base_url=f"{self.host}/v1/",
            headers=headers,
            timeout=httpx.Timeout(seconds, connect=_CONNECT_SECONDS),
            **client_options(self.host),
        )

    def check(self) -> None:
        with self._translated_errors():
            response = self._client.get("models")
            self._require_success(response.status_code, response.text)
            names = [str(model["id"]) for model in response.json()["data"]]
        if not self.name and names:
            self.name = names[0]
        if not self.name or (names and self.name not in names):
            available = f" It has {', '.join(names[:5])}." if names else ""
            missing = f"the model {self.name}" if self.name else "any model"
            raise ModelUnavailable(
                f"The server at {self.host} does not have {missing}.{available} Choose one with --model."
            )

    def close(self) -> None:
        self._client.close()

    def complete(self, system: str, text: str, longest: int = ANSWER_TOKENS) -> Completion:
        body = {
            "model": self.name,
            "messages": [{"role": "system", "content": system}, {"role": "user", "content": text}],
            "max_tokens": longest,
            "temperature": 0.1,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        pieces: list[str] = []
        reason = ""
        usage: dict[str, int] = {}
        with self._translated_errors():
            for event in self._events(body):
                for choice in event.get("choices") or ():
                    delta: dict[str, Any] = choice.get("delta") or {}
                    pieces.append(str(delta.get("content") or ""))
                    reason = choice.get("finish_reason") or reason
                usage = event.get("usage") or usage
        if not reason:
            raise AnswerFailed(
                f"The server at {self.host} ended the connection in the middle of an answer.", is_passing=True
            )
        tokens = (usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))
        return Completion("".join(pieces), reason != "length", *tokens)

    def _events(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        with self._client.stream("POST", "chat/completions", json=body) as response:
            if response.status_code != _OK:
                response.read()
                self._require_success(response.status_code, response.text)
            for line in response.iter_lines():
                if line.startswith("data:") and line.strip() != "data: [DONE]":
                    event = json.loads(line[5:])
                    if "error" in event:
                        raise AnswerFailed(f"The server at {self.host} failed: {event['error']}.", is_passing=True)
                    yield event

    def _require_success(self, status: int, body: str) -> None:
        if status == _OK:
            return
        excerpt = " ".join(body.split())[:200]
        if status in _UNAUTHORIZED:
            raise ModelUnavailable(f"The server at {self.host} rejected the key (status {status}). Check the key.")
        if status == _NOT_FOUND:
            raise ModelUnavailable(f"The server at {self.host} does not have the model {self.name}: {excerpt}")
        raise AnswerFailed(
            f"The server at {self.host} failed (status {status}): {excerpt}", is_passing=status in _RETRYABLE
        )

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as failure:
            raise ModelUnavailable(
                f"No server answers at {self.host}. Start it, or choose another one with --host."
            ) from failure
        except httpx.TimeoutException as failure:
            raise AnswerFailed(
                f"The server at {self.host} was silent for {self._seconds:.0f} s.", is_passing=True
            ) from failure
        except (httpx.HTTPError, OSError) as failure:
            raise AnswerFailed(f"The connection to {self.host} was lost ({failure}).", is_passing=True) from failure
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as failure:
            raise AnswerFailed(f"The reply of {self.host} is not in the chat completions protocol.") from failure
