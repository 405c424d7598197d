"""Which files are documents, and of what sort, by their names alone. Their content is `sections`' affair."""

from __future__ import annotations

import re
from typing import Final

MARKDOWN: Final = (".md", ".markdown")
SUFFIXES: Final = (*MARKDOWN, ".html", ".htm", ".txt")
_PLACES: Final = frozenset(
    "doc docs documentation adr adrs decision decisions design designs proposal proposals rfc rfcs guide guides".split()
)
_NAMES: Final = re.compile(r"(readme|contributing|architecture|design|hacking|overview|security|faq)\b")
_RECORDS: Final = frozenset(
    "adr adrs decision decisions decision-records decision_records architecture-decisions "
    "architecture_decisions architecture-decision-records".split()
)
_ABOUT_RECORDS: Final = re.compile(r"(readme|index|_index|template|.*[-_.]template)\.\w+$")
_LOG: Final = re.compile(r"(change-?log|changes|history|releases?|release[-_]notes|news|whats[-_]?new)\b")
_LOGS: Final = frozenset(("changelog", "changelogs", "release-notes", "release_notes", "releases"))


def is_document(path: str) -> bool:
    """Whether a file is read as one: Markdown everywhere; HTML and text, most of which are parts of programs and data,
    where documents are kept, or with the name of one."""
    if not path.lower().endswith(SUFFIXES):
        return False
    places, name = _parts(path)
    return name.endswith(MARKDOWN) or not _PLACES.isdisjoint(places) or _NAMES.match(name) is not None


def is_log(path: str) -> bool:
    """Whether it tells of changes. What it names is how the code was then, so it is no description of the code."""
    places, name = _parts(path)
    return not _LOGS.isdisjoint(places) or _LOG.match(name) is not None


def is_among_records(path: str) -> bool:
    """Whether it is where decision records are kept."""
    return not _RECORDS.isdisjoint(_parts(path)[0])


def is_about_records(path: str) -> bool:
    """Whether it is a list of records or a form for them."""
    return _ABOUT_RECORDS.match(_parts(path)[1]) is not None


def _parts(path: str) -> tuple[list[str], str]:
    *places, name = path.lower().split("/")
    return places, name
