"""Anthropic's models, over plain HTTP, for who has a key and asks for it. Nothing is sent before that."""

from __future__ import annotations

import json
from typing import Final

import httpx
from golore.graph.errors import AnswerBroken, ModelUnavailable
from golore.summarizers.models.model import ANSWER, Completion

HOST: Final = "https://api.anthropic.com"
_VERSION: Final = "2023-06-01"
_BUSY: Final = frozenset((408, 429, 500, 502, 503, 504, 529))
_REFUSED: Final = frozenset((401, 403))
_FINE: Final = 200
_MISSING: Final = 404


class AnthropicModel:
    def __init__(self, name: str, key: str, host: str = HOST, *, context: int = 32_000, seconds: float = 120.0) -> None:
        self.name = name
        self.host = host.rstrip("/")
        self.context = context
        self._client = httpx.Client(
            base_url=self.host,
            headers={"x-api-key": key, "anthropic-version": _VERSION},
            timeout=httpx.Timeout(seconds, connect=10.0),
        )

    def check(self) -> None:
        """Nothing: the first answer tells."""

    def close(self) -> None:
        self._client.close()

    def complete(self, system: str, text: str, longest: int = ANSWER) -> Completion:
        body = {
            "model": self.name,
            "system": system,
            "max_tokens": longest,
            "messages": [{"role": "user", "content": text}],
        }
        try:
            answer = self._client.post("/v1/messages", json=body)
            self._require(answer.status_code, answer.text)
            found = answer.json()
            words = "".join(part["text"] for part in found["content"] if part["type"] == "text")
            usage = found["usage"]
            return Completion(
                words, found["stop_reason"] != "max_tokens", usage["input_tokens"], usage["output_tokens"]
            )
        except httpx.ConnectError as failure:
            raise ModelUnavailable(f"{self.host} cannot be reached. Check the network.") from failure
        except (httpx.HTTPError, OSError) as failure:
            raise AnswerBroken(f"The connection to {self.host} broke ({failure}).", is_passing=True) from failure
        except (json.JSONDecodeError, KeyError, TypeError) as failure:
            raise AnswerBroken(f"What {self.host} says is not an answer.") from failure

    def _require(self, status: int, words: str) -> None:
        if status == _FINE:
            return
        if status in _REFUSED:
            raise ModelUnavailable(f"{self.host} wants another key (status {status}). Check ANTHROPIC_API_KEY.")
        if status == _MISSING:
            raise ModelUnavailable(f"{self.host} does not know the model {self.name}. Name one with --model.")
        said = " ".join(words.split())[:200]
        raise AnswerBroken(f"{self.host} refused (status {status}): {said}", is_passing=status in _BUSY)
