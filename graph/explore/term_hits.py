"""Where files have terms of a question: the words of their text that match, with their lines.

A question reads one or two megabytes. So the text is split by the methods of `bytes`, and each distinct word of a file
is compared with the question once.
"""

from __future__ import annotations

from typing import Final

from golore.graph.explore.declarations import Declaration, SourceReader
from golore.graph.explore.question_terms import QuestionTerms

_ONLY_WORDS: Final = bytes(code if chr(code).isascii() and chr(code).isalnum() else 32 for code in range(256))
"""Replaces all bytes but ASCII letters and digits by spaces."""
_LINES_OF_WORDS: Final = _ONLY_WORDS[:10] + b"\n" + _ONLY_WORDS[11:]
"""Like `_ONLY_WORDS`, but keeps the ends of lines."""


class FileHits:
    """The matches in one file, by position in bytes."""

    def __init__(self, terms: QuestionTerms, data: bytes) -> None:
        self._text = data.translate(_LINES_OF_WORDS)
        self._matching = terms.matching_words(set(self._text.split()))

    def between(self, start: int, end: int) -> dict[int, float]:
        """Number of a term → how often it is matched, weighted by how well."""
        hits: dict[int, float] = {}
        matching = self._matching
        for word in filter(matching.__contains__, self._text[start:end].split()):
            for number, strength in matching[word]:
                hits[number] = hits.get(number, 0.0) + strength
        return hits

    def by_line(self, start: int, end: int) -> list[tuple[int, dict[int, float]]]:
        """The lines that have matches, counted from 0 at `start`, each with its best match of every term."""
        found: list[tuple[int, dict[int, float]]] = []
        matching = self._matching
        for line, text in enumerate(self._text[start:end].split(b"\n")):
            hits: dict[int, float] = {}
            for word in filter(matching.__contains__, text.split()):
                for number, strength in matching[word]:
                    if hits.get(number, 0.0) < strength:
                        hits[number] = strength
            if hits:
                found.append((line, hits))
        return found


class TermHits:
    """The matches in the files of a repository. Reads each file once."""

    def __init__(self, terms: QuestionTerms, reader: SourceReader) -> None:
        self._terms = terms
        self._reader = reader
        self._files: dict[str, FileHits] = {}

    def in_file(self, path: str) -> FileHits:
        if path not in self._files:
            self._files[path] = FileHits(self._terms, self._reader.bytes_of(path) or b"")
        return self._files[path]

    def by_line(self, one: Declaration) -> list[tuple[int, dict[int, float]]]:
        return self.in_file(one.file).by_line(one.start, one.end)
