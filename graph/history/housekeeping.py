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


def is_housekeeping(subject: str) -> bool:
    return _SUBJECT.search(subject) is not None
