"""Decides whether a message of the user corrects the agent, by its words and by what the agent said before.

Some messages cannot be corrections: the first of a session, answers to a question of the agent, and those in which the
user gives in. For all others the score of their features decides (`correction_features`). A model may decide about
the doubtful ones. It prefers to miss a correction rather than to take a wish for a fact; a person reviews each one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from golore.mcp_server.sessions.correction_features import (
    SENTENCE_GAP,
    Reading,
    agrees,
    asks,
    content_words,
    read,
    score,
)
from golore.mcp_server.sessions.user_message import UserMessage

_MAX_MESSAGE: Final = 2_500
"""A message of more characters is taken for pasted text."""
_MAX_PREMISE: Final = 300
_PROPOSED_FROM: Final = 1.5
"""The score of a correction."""
_DOUBTFUL: Final = (-0.5, 2.0)
"""Scores between these are doubtful."""
_FENCE: Final = re.compile(r"```.*?(```|\Z)", re.DOTALL)
_PASTED: Final = re.compile(
    r"^\s*(>|\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|(ERROR|WARN|INFO|FAIL|---|\+\+\+|@@)\b).*$", re.MULTILINE
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
"""Characters that a terminal would interpret."""
_GIVES_IN: Final = re.compile(
    r"\bnever ?mind\b|\bforget (it|that|about it)\b|\bscratch that\b|\bmy (fault|mistake|bad)\b|\bi was (wrong|"
    r"mistaken)\b|"
    r"\byou('re| are| were) right\b|\bchanged? my mind\b",
    re.IGNORECASE,
)
_LAST_SENTENCES: Final = 2
"""A question among so many last sentences of the agent is one that the user answers."""

Judge = Callable[[str, str], bool | None]
"""Decides whether a text (the first argument) corrects what the agent said (the second). None if it cannot."""


class Correction(NamedTuple):
    """`text` is what the user said. `premise` is what the agent had assumed, if it said so."""

    text: str
    premise: str


def correction_in(words: UserMessage, judge: Judge | None = None) -> Correction | None:
    """The correction in a message, None if there is none. `judge` decides if it is doubtful."""
    reading = reading_of(words)
    if reading is None:
        return None
    rating = score(reading)
    kept = [sentence for sentence in reading.typed if not asks(sentence) and not agrees(sentence)]
    text = _CONTROL.sub(" ", " ".join(kept or reading.typed))
    is_correction = rating >= _PROPOSED_FROM
    if judge is not None and _DOUBTFUL[0] <= rating <= _DOUBTFUL[1]:
        decision = judge(text, words.said)
        is_correction = is_correction if decision is None else decision
    return Correction(text, _CONTROL.sub(" ", _premise(words.said, text))) if is_correction else None


def reading_of(words: UserMessage) -> Reading | None:
    """What the user typed, without what was pasted; None if it cannot be a correction."""
    if not words.said and not words.files and not words.is_refusal:
        return None  # the agent has not said or done anything to correct
    typed = _PASTED.sub("", _FENCE.sub("", words.text.replace("’", "'"))).strip()
    if not typed or len(typed) > _MAX_MESSAGE or _is_question_of(words.said) or _GIVES_IN.search(typed):
        return None
    return read(typed, words)


def _sentences(text: str) -> list[str]:
    return [sentence.strip() for sentence in SENTENCE_GAP.split(_FENCE.sub("", text)) if sentence.strip()]


def _is_question_of(said: str) -> bool:
    """Whether the agent ended with a question, which the user then answers."""
    return any(sentence.rstrip(" )\"'`*").endswith("?") for sentence in _sentences(said)[-_LAST_SENTENCES:])


def _premise(said: str, text: str) -> str:
    """The agent's sentence that has most words in common with the correction; its last one if none has any."""
    sentences = _sentences(said)
    if not sentences:
        return ""
    wanted = content_words(text)
    best = max(range(len(sentences)), key=lambda index: (len(wanted & content_words(sentences[index])), index))
    premise = sentences[best]
    return premise if len(premise) <= _MAX_PREMISE else premise[: _MAX_PREMISE - 1] + "…"
