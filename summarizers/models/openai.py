"""Models behind the protocol of OpenAI's chat completions: llama.cpp's server, LM Studio, vLLM, and such services.

Spoken over plain HTTP, streamed. A key is sent only where one is given.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
from golore.graph.errors import AnswerBroken, ModelUnavailable
from golore.summarizers.models.model import ANSWER, Completion

_CONNECT: Final = 5.0
_BUSY: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
_REFUSED: Final = frozenset((401, 403))
_FINE: Final = 200
_MISSING: Final = 404


class OpenAiModel:
    """A model by the name that `/v1/models` shows; without a name, the first one there."""

    def __init__(self, name: str, host: str, *, key: str = "", context: int = 4096, seconds: float = 120.0) -> None:
        self.name = name
        self.host = host.rstrip("/").removesuffix("/v1")
        self.context = context
        self._seconds = seconds
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(
            base_url=f"{self.host}/v1/", headers=headers, timeout=httpx.Timeout(seconds, connect=_CONNECT)
        )

    def check(self) -> None:
        with self._explained():
            answer = self._client.get("models")
            self._require(answer.status_code, answer.text)
            names = [str(model["id"]) for model in answer.json()["data"]]
        if not self.name and names:
            self.name = names[0]
        if not self.name or (names and self.name not in names):
            has = f" It has {', '.join(names[:5])}." if names else ""
            raise ModelUnavailable(
                f"The server at {self.host} does not have the model {self.name or 'asked for'}.{has} "
                "Name one with --model."
            )

    def close(self) -> None:
        self._client.close()

    def complete(self, system: str, text: str, longest: int = ANSWER) -> Completion:
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
        with self._explained():
            for event in self._events(body):
                for choice in event.get("choices") or ():
                    delta: dict[str, Any] = choice.get("delta") or {}
                    pieces.append(str(delta.get("content") or ""))
                    reason = choice.get("finish_reason") or reason
                usage = event.get("usage") or usage
        if not reason:
            raise AnswerBroken(f"The server at {self.host} broke off in the middle of an answer.", is_passing=True)
        tokens = (usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0))
        return Completion("".join(pieces), reason != "length", *tokens)

    def _events(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        with self._client.stream("POST", "chat/completions", json=body) as answer:
            if answer.status_code != _FINE:
                answer.read()
                self._require(answer.status_code, answer.text)
            for line in answer.iter_lines():
                if line.startswith("data:") and line.strip() != "data: [DONE]":
                    event = json.loads(line[5:])
                    if "error" in event:
                        raise AnswerBroken(f"The server at {self.host} failed: {event['error']}.", is_passing=True)
                    yield event

    def _require(self, status: int, words: str) -> None:
        if status == _FINE:
            return
        said = " ".join(words.split())[:200]
        if status in _REFUSED:
            raise ModelUnavailable(f"The server at {self.host} wants another key (status {status}). Check the key.")
        if status == _MISSING:
            raise ModelUnavailable(f"The server at {self.host} does not know the model {self.name}: {said}")
        raise AnswerBroken(f"The server at {self.host} refused (status {status}): {said}", is_passing=status in _BUSY)

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as failure:
            raise ModelUnavailable(
                f"No server answers at {self.host}. Start it, or name another one with --host."
            ) from failure
        except httpx.TimeoutException as failure:
            raise AnswerBroken(
                f"The server at {self.host} was silent for {self._seconds:.0f} s.", is_passing=True
            ) from failure
        except (httpx.HTTPError, OSError) as failure:
            raise AnswerBroken(f"The connection to {self.host} broke ({failure}).", is_passing=True) from failure
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as failure:
            raise AnswerBroken(f"What {self.host} says is not the language of chat completions.") from failure
