"""What is asked of a language model, whoever serves it: a text for a prompt. The servers are in modules of their own.

An answer that fails in passing is asked for again, after ever longer pauses; a server that is gone ends the work.
"""

from __future__ import annotations

import re
from threading import Event
from typing import Final, NamedTuple, Protocol

from golore.graph.errors import AnswerBroken, ModelUnavailable

CHARACTERS: Final = 3
"""In a token, at least: Go code has fewer to a token than prose, so that a prompt counted by this fits."""
ANSWER: Final = 240
"""Tokens that a summary may take."""
_PAUSES: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
_THOUGHTS: Final = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>|^.*?</think(?:ing)?>", re.DOTALL)


class Prompt(NamedTuple):
    """`context` is the code that an answer may take names from. `version` is that of the words around it."""

    system: str
    text: str
    context: str
    version: str


class Completion(NamedTuple):
    """`is_whole`: the model has come to an end by itself."""

    text: str
    is_whole: bool
    prompt_tokens: int = 0
    answer_tokens: int = 0


class Model(Protocol):
    """One model on one server. `complete` may be called from several threads."""

    @property
    def name(self) -> str: ...

    @property
    def context(self) -> int:
        """Tokens for prompt and answer together."""
        ...

    def check(self) -> None:
        """Raise `ModelUnavailable` where the server or the model is missing; the sentence says what to do."""
        ...

    def close(self) -> None:
        """Let go of the connections."""
        ...

    def complete(self, system: str, text: str, longest: int = ANSWER) -> Completion:
        """Raise `AnswerBroken` where this answer fails, `ModelUnavailable` where none can come."""
        ...


def make_ready(model: Model, stop: Event) -> None:
    """Check server and model; one that is still loading is given time."""
    for pause in (*_PAUSES, None):
        try:
            model.check()
            return
        except AnswerBroken as failure:
            if not failure.is_passing or pause is None or stop.wait(pause):
                raise ModelUnavailable(str(failure)) from failure


def ask(model: Model, prompt: Prompt, stop: Event) -> Completion:
    """An answer, asked for until it comes or there is no hope of one."""
    for pause in (*_PAUSES, None):
        try:
            found = model.complete(prompt.system, prompt.text)
            return found._replace(text=_THOUGHTS.sub("", found.text).strip())
        except AnswerBroken as failure:
            if not failure.is_passing:
                raise
            if pause is None or stop.wait(pause):
                raise ModelUnavailable(
                    f"{failure} It was asked {len(_PAUSES) + 1} times. What is written so far is kept; "
                    "run the command again when the server is well."
                ) from failure
    raise AssertionError  # the last turn raises or returns
