"""Where files have terms of a question: the pieces of their text that match, with their positions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from golore.graph.explore.declarations import Declaration, SourceReader
from golore.graph.explore.question_terms import PIECE, Matches, QuestionTerms


class FileHits:
    """The matches in one file, by position in bytes."""

    def __init__(self, terms: QuestionTerms, data: bytes) -> None:
        self._data = data
        self._offsets: list[int] = []
        self._matches: list[Matches] = []
        known = terms.seen
        for found in PIECE.finditer(data):
            piece = found[0]
            matches = known.get(piece)
            if matches is None:
                matches = terms.matches(piece)
            if matches:
                self._offsets.append(found.start())
                self._matches.append(matches)

    def between(self, start: int, end: int) -> dict[int, float]:
        """Number of a term → how often it is matched, weighted by how well."""
        hits: dict[int, float] = {}
        for at in range(bisect_left(self._offsets, start), bisect_left(self._offsets, end)):
            for number, strength in self._matches[at]:
                hits[number] = hits.get(number, 0.0) + strength
        return hits

    def by_line(self, start: int, end: int) -> Iterator[tuple[int, dict[int, float]]]:
        """The lines that have matches, counted from 0 at `start`, each with its best match of every term."""
        line, at = 0, start
        hits: dict[int, float] = {}
        for index in range(bisect_left(self._offsets, start), bisect_left(self._offsets, end)):
            offset = self._offsets[index]
            further = self._data.count(b"\n", at, offset)
            at = offset
            if further:
                if hits:
                    yield line, hits
                line, hits = line + further, {}
            for number, strength in self._matches[index]:
                hits[number] = max(hits.get(number, 0.0), strength)
        if hits:
            yield line, hits


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
        return list(self.in_file(one.file).by_line(one.start, one.end))
