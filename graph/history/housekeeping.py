"""Housekeeping: commits that change how code is written or what it is built with, not what it does, by their subjects.

Such a commit says nothing about the files that it changes, nor that they belong together.
"""

from __future__ import annotations

import re
from typing import Final

_SUBJECT: Final = re.compile(
    r"^merge\b|\bbump|\bre-?format|\bre-?generate|\bgo(?:fmt|fumpt|imports|critic)\b|\w*lint(?:er|ers|ing)?\b"
    r"|\bgolangci|\b(?:license|copyright)\b.*\bheaders?\b|\bheaders?\b.*\b(?:license|copyright)\b"
    r"|\btypos?\b|\bmisspell|\bspelling\b|\bgo\.(?:mod|sum)\b",
    re.IGNORECASE,
)


_WORDS: Final = (
    *("merge", "bump", "format", "generate", "gofmt", "gofumpt", "goimports", "gocritic", "lint", "golangci"),
    *("license", "copyright", "typo", "misspell", "spelling", "go.mod", "go.sum"),
)
"""Each match of `_SUBJECT` contains one of these. To look for them takes a tenth of the time."""


def is_housekeeping(subject: str) -> bool:
    if subject.isascii():  # other letters may match in other cases
        lowered = subject.lower()
        for word in _WORDS:
            if word in lowered:
                break
        else:
            return False
    return _SUBJECT.search(subject) is not None
