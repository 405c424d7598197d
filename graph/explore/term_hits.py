"""Where files have terms of a question: the pieces of their text that match, with their lines.

The text of a declaration is split by one call of `re`, and each distinct piece is compared with the question once:
judging a question splits a megabyte or two.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from golore.graph.explore.declarations import Declaration, SourceReader
from golore.graph.explore.question_terms import PIECE, QuestionTerms

_LINE_PIECE: Final = re.compile(rb"\n|" + PIECE.pattern)


class FileHits:
    """The matches in one file, by position in bytes."""

    def __init__(self, terms: QuestionTerms, data: bytes) -> None:
        self._terms = terms
        self._data = data

    def between(self, start: int, end: int) -> dict[int, float]:
        """Number of a term → how often it is matched, weighted by how well."""
        hits: dict[int, float] = {}
        known, matches_of = self._terms.seen, self._terms.matches
        for piece, times in Counter(PIECE.findall(self._data, start, end)).items():
            matches = known.get(piece)
            if matches is None:
                matches = matches_of(piece)
            for number, strength in matches:
                hits[number] = hits.get(number, 0.0) + times * strength
        return hits

    def by_line(self, start: int, end: int) -> list[tuple[int, dict[int, float]]]:
        """The lines that have matches, counted from 0 at `start`, each with its best match of every term."""
        found: list[tuple[int, dict[int, float]]] = []
        pieces = _LINE_PIECE.findall(self._data, start, end)
        relevant = {piece: matches for piece in set(pieces) if (matches := self._terms.matches(piece))}
        if not relevant:
            return found
        line = 0
        hits: dict[int, float] = {}
        for piece in pieces:
            if piece == b"\n":
                if hits:
                    found.append((line, hits))
                    hits = {}
                line += 1
            elif piece in relevant:
                for number, strength in relevant[piece]:
                    hits[number] = max(hits.get(number, 0.0), strength)
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
