"""Client for Anthropic's models, over HTTP without an SDK. It is used only if the user asks for it and has a key."""

from __future__ import annotations

import json
from typing import Final

import httpx
from golore.graph.errors import AnswerFailed, ModelUnavailable
from golore.summarizers.models.endpoint import client_options
from golore.summarizers.models.model import ANSWER_TOKENS, Completion

HOST: Final = "https://api.anthropic.com"
_VERSION: Final = "2023-06-01"
_RETRYABLE: Final = frozenset((408, 429, 500, 502, 503, 504, 529))
_UNAUTHORIZED: Final = frozenset((401, 403))
_OK: Final = 200
_NOT_FOUND: Final = 404


class AnthropicModel:
    def __init__(self, name: str, key: str, host: str = HOST, *, context: int = 32_000, seconds: float = 120.0) -> None:
        self.name = name
        self.host = host.rstrip("/")
        self.context = context
        self._client = httpx.Client(
            base_url=self.host,
            headers={"x-api-key": key, "anthropic-version": _VERSION},
            timeout=httpx.Timeout(seconds, connect=10.0),
            **client_options(self.host),
        )

    def check(self) -> None:
        """Does nothing: the first call of `complete` reports a wrong key or model."""

    def close(self) -> None:
        self._client.close()

    def complete(self, system: str, text: str, longest: int = ANSWER_TOKENS) -> Completion:
        body = {
            "model": self.name,
            "system": system,
            "max_tokens": longest,
            "messages": [{"role": "user", "content": text}],
        }
        try:
            response = self._client.post("/v1/messages", json=body)
            self._require_success(response.status_code, response.text)
            reply = response.json()
            answer = "".join(part["text"] for part in reply["content"] if part["type"] == "text")
            usage = reply["usage"]
            return Completion(
                answer, reply["stop_reason"] != "max_tokens", usage["input_tokens"], usage["output_tokens"]
            )
        except httpx.ConnectError as failure:
            raise ModelUnavailable(f"Cannot connect to {self.host}. Check the network.") from failure
        except (httpx.HTTPError, OSError) as failure:
            raise AnswerFailed(f"The connection to {self.host} was lost ({failure}).", is_passing=True) from failure
        except (json.JSONDecodeError, KeyError, TypeError) as failure:
            raise AnswerFailed(f"{self.host} sent a reply that is not a message.") from failure

    def _require_success(self, status: int, body: str) -> None:
        if status == _OK:
            return
        if status in _UNAUTHORIZED:
            raise ModelUnavailable(f"{self.host} rejected the key (status {status}). Check ANTHROPIC_API_KEY.")
        if status == _NOT_FOUND:
            raise ModelUnavailable(f"{self.host} does not have the model {self.name}. Choose one with --model.")
        excerpt = " ".join(body.split())[:200]
        raise AnswerFailed(f"{self.host} failed (status {status}): {excerpt}", is_passing=status in _RETRYABLE)
