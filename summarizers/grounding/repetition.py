"""Refuses a sentence that is already in the summaries of many other subjects.

A summary is about one subject. The same sentence about dozens of them is filler, or it was planted: a text in the
repository made the model say it everywhere. A sentence that the subject's own code contains, such as a doc comment
that many files share, is not counted.
"""

from __future__ import annotations

from typing import Final

from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import count_with_text
from golore.summarizers.grounding.check import GroundingProblem
from golore.summarizers.grounding.text_form import sentences_of

MOST_SUBJECTS: Final = 8
"""Summaries of at most this many subjects may contain the same sentence."""
_FEWEST_WORDS: Final = 4


def repetition_problems(
    knowledge: Knowledge, level: str, subject: str, text: str, context: str
) -> tuple[GroundingProblem, ...]:
    """The problems of a text for this subject. `context`: the code that it was written from."""
    own = _plain(context.replace("//", " "))
    found: list[GroundingProblem] = []
    for sentence in sentences_of(text):
        plain = _plain(sentence)
        if len(plain.split()) < _FEWEST_WORDS or plain in own:
            continue
        if count_with_text(knowledge, plain, level, subject) >= MOST_SUBJECTS:
            said = f"The summaries of many others say the same, so it says nothing about this code: “{sentence[:80]}”"
            found.append(GroundingProblem("repeated", said))
    return tuple(found)


def _plain(text: str) -> str:
    """In lower case as SQLite sees it, on one line, without the sign at the end."""
    return " ".join(text.encode("utf-8", "replace").lower().decode().split()).rstrip(".!? ")
