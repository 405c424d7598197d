"""The interface of a language model: prompt in, text out. The clients for each kind of server are separate modules.

After a temporary failure the model is asked again, after increasing pauses. If the server is unavailable, the run ends.
"""

from __future__ import annotations

import re
from threading import Event
from typing import Final, NamedTuple, Protocol

from golore.graph.errors import AnswerFailed, ModelUnavailable

CHARACTERS_PER_TOKEN: Final = 3
"""Characters per token, a low estimate, so that a prompt measured with it fits: Go code has fewer than prose."""
ANSWER_TOKENS: Final = 240
"""Limit of tokens for a summary."""
_PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
_REASONING: Final = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>|^.*?</think(?:ing)?>", re.DOTALL)


class Prompt(NamedTuple):
    """`context`: the code whose names an answer may use. `version`: that of the prompt's wording."""

    system: str
    text: str
    context: str
    version: str


class Completion(NamedTuple):
    """`is_whole`: the model finished by itself, not because of the token limit."""

    text: str
    is_whole: bool
    prompt_tokens: int = 0
    answer_tokens: int = 0


class Model(Protocol):
    """One model on one server. `complete` is thread-safe."""

    @property
    def name(self) -> str: ...

    @property
    def context(self) -> int:
        """Limit of tokens for prompt and answer together."""
        ...

    def check(self) -> None:
        """Raises `ModelUnavailable` if the server or the model is missing. The message says what to do."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...

    def complete(self, system: str, text: str, longest: int = ANSWER_TOKENS) -> Completion:
        """Raises `AnswerFailed` if this answer failed, `ModelUnavailable` if no answer is possible."""
        ...


def make_ready(model: Model, stop: Event) -> None:
    """Check server and model, and wait if they are temporarily unavailable. Raises `ModelUnavailable`."""
    for pause in (*_PAUSES, None):
        try:
            model.check()
            return
        except AnswerFailed as failure:
            if not failure.is_passing or pause is None or stop.wait(pause):
                raise ModelUnavailable(str(failure)) from failure


def ask(model: Model, prompt: Prompt, stop: Event) -> Completion:
    """Ask the model, again after temporary failures. Reasoning (`<think>`) is removed from the answer.

    Raises `ModelUnavailable` if every attempt failed, and `AnswerFailed` if asking again is no use.
    """
    for pause in (*_PAUSES, None):
        try:
            answer = model.complete(prompt.system, prompt.text)
            return answer._replace(text=_REASONING.sub("", answer.text).strip())
        except AnswerFailed as failure:
            if not failure.is_passing:
                raise
            if pause is None or stop.wait(pause):
                raise ModelUnavailable(
                    f"{failure} All {len(_PAUSES) + 1} attempts failed. The summaries written so far are kept; "
                    "run the command again when the server works."
                ) from failure
    raise AssertionError  # unreachable: the last attempt raises or returns
