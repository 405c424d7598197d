"""Classifies files by path: documents, change logs and decision records. The content is read in `sections`."""

from __future__ import annotations

import re
from typing import Final

MARKDOWN: Final = (".md", ".markdown")
SUFFIXES: Final = (*MARKDOWN, ".html", ".htm", ".txt")
_DOCUMENT_DIRECTORIES: Final = frozenset(
    "doc docs documentation adr adrs decision decisions design designs proposal proposals rfc rfcs guide guides".split()
)
_DOCUMENT_NAMES: Final = re.compile(r"(readme|contributing|architecture|design|hacking|overview|security|faq)\b")
_RECORD_DIRECTORIES: Final = frozenset(
    "adr adrs decision decisions decision-records decision_records architecture-decisions "
    "architecture_decisions architecture-decision-records".split()
)
_RECORD_LISTS: Final = re.compile(r"(readme|index|_index|template|.*[-_.]template)\.\w+$")
_LOG_NAMES: Final = re.compile(r"(change-?log|changes|history|releases?|release[-_]notes|news|whats[-_]?new)\b")
_LOG_DIRECTORIES: Final = frozenset(("changelog", "changelogs", "release-notes", "release_notes", "releases"))


def is_document(path: str) -> bool:
    """Whether a file is read as a document: any Markdown file; an HTML or text file only in a directory for documents
    or with the name of one, because most of them are program parts and data."""
    if not path.lower().endswith(SUFFIXES):
        return False
    directories, name = _parts(path)
    is_in_directory = not _DOCUMENT_DIRECTORIES.isdisjoint(directories)
    return name.endswith(MARKDOWN) or is_in_directory or _DOCUMENT_NAMES.match(name) is not None


def is_log(path: str) -> bool:
    """Whether a document is a change log. It names code as it was then, so it does not describe the current code."""
    directories, name = _parts(path)
    return not _LOG_DIRECTORIES.isdisjoint(directories) or _LOG_NAMES.match(name) is not None


def is_among_records(path: str) -> bool:
    """Whether a document is in a directory for decision records."""
    return not _RECORD_DIRECTORIES.isdisjoint(_parts(path)[0])


def is_about_records(path: str) -> bool:
    """Whether a document is an index of decision records or a template for them."""
    return _RECORD_LISTS.match(_parts(path)[1]) is not None


def _parts(path: str) -> tuple[list[str], str]:
    *directories, name = path.lower().split("/")
    return directories, name
