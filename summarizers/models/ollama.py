"""Client for the models of an Ollama server, using Ollama's own client library. It connects to no other server.

Answers are streamed, so that a timeout means that the server is silent, not that the answer is long. Failures of the
server are turned into messages for the user.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, Final, cast

import httpx
import ollama
from golore.graph.errors import AnswerFailed, ModelUnavailable
from golore.summarizers.models.endpoint import OLLAMA_HOST, client_options
from golore.summarizers.models.model import ANSWER_TOKENS, Completion
from pydantic import ValidationError

MODEL: Final = "qwen2.5-coder:1.5b"
_CONNECT_SECONDS: Final = 5.0
_RETRYABLE: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
_NOT_FOUND: Final = 404


class OllamaModel:
    """A model, by its name in `ollama list`."""

    def __init__(
        self, name: str = MODEL, host: str = OLLAMA_HOST, *, context: int = 4096, seconds: float = 120.0
    ) -> None:
        self.name = name
        self.host = host
        self.context = context
        self._seconds = seconds
        timeout = httpx.Timeout(seconds, connect=_CONNECT_SECONDS)
        self._client = ollama.Client(host=host, timeout=timeout, **client_options(host))

    def installed(self) -> list[str]:
        """Names of the models that the server has."""
        with self._translated_errors():
            return sorted(str(model.model) for model in self._client.list().models if model.model)

    def check(self) -> None:
        names = self.installed()
        if self.name not in names and f"{self.name}:latest" not in names:
            available = f" It has {', '.join(names[:5])}." if names else ""
            raise ModelUnavailable(
                f"The Ollama server at {self.host} does not have the model {self.name}.{available} "
                f"Run `ollama pull {self.name}`, or choose another model with --model."
            )
        with self._translated_errors():
            info = self._client.show(self.name).modelinfo or {}
        lengths = [int(value) for key, value in info.items() if key.endswith(".context_length")]
        self.context = min([self.context, *lengths])

    def close(self) -> None:
        self._client.close()

    def complete(self, system: str, text: str, longest: int = ANSWER_TOKENS) -> Completion:
        pieces: list[str] = []
        messages = [{"role": "system", "content": system}, {"role": "user", "content": text}]
        options: dict[str, Any] = {"num_ctx": self.context, "num_predict": longest, "temperature": 0.1, "seed": 7}
        with self._translated_errors():
            # The type of this method is partly unknown in the client library.
            chat = cast("Callable[..., Iterable[ollama.ChatResponse]]", cast("Any", self._client).chat)
            for part in chat(model=self.name, messages=messages, options=options, stream=True):
                pieces.append(part.message.content or "")
                if part.done:
                    is_whole = part.done_reason != "length"
                    return Completion("".join(pieces), is_whole, part.prompt_eval_count or 0, part.eval_count or 0)
        raise AnswerFailed(
            f"The Ollama server at {self.host} ended the connection in the middle of an answer.", is_passing=True
        )

    @contextmanager
    def _translated_errors(self) -> Generator[None]:
        try:
            yield
        except ollama.ResponseError as failure:
            raise self._error_from(failure) from failure
        except (httpx.ConnectError, httpx.ConnectTimeout, ConnectionError) as failure:
            raise ModelUnavailable(
                f"No Ollama server answers at {self.host}. Start it with `ollama serve`, "
                "or choose another one with --host."
            ) from failure
        except httpx.TimeoutException as failure:
            raise AnswerFailed(
                f"The Ollama server at {self.host} was silent for {self._seconds:.0f} s.", is_passing=True
            ) from failure
        except (httpx.HTTPError, OSError) as failure:
            raise AnswerFailed(f"The connection to {self.host} was lost ({failure}).", is_passing=True) from failure
        except (json.JSONDecodeError, ValidationError, UnicodeDecodeError) as failure:
            raise AnswerFailed(f"The reply of {self.host} is not in Ollama's protocol.", is_passing=False) from failure

    def _error_from(self, failure: ollama.ResponseError) -> AnswerFailed | ModelUnavailable:
        message = failure.error.strip().split("\n")[0]
        if failure.status_code == _NOT_FOUND and "model" in message:
            return ModelUnavailable(
                f"The Ollama server at {self.host} does not have the model {self.name}. Run `ollama pull {self.name}`."
            )
        if failure.status_code == _NOT_FOUND:
            return ModelUnavailable(f"The server at {self.host} is not an Ollama server. Check --host.")
        # A failure in the middle of a stream has no status (-1).
        is_passing = failure.status_code in _RETRYABLE or failure.status_code < 0
        return AnswerFailed(f"The Ollama server at {self.host} failed: {message}.", is_passing=is_passing)
