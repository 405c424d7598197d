"""Where files have terms of a question: the words of their text that match, with their lines.

A question reads one or two megabytes. So the text is split by the methods of `bytes`, and each distinct word is
compared with the question once.
"""

from __future__ import annotations

from typing import Final

from golore.graph.explore.declarations import Declaration, SourceReader
from golore.graph.explore.question_terms import Matches, QuestionTerms

_ONLY_WORDS: Final = bytes(code if chr(code).isascii() and chr(code).isalnum() else 32 for code in range(256))
"""Replaces all bytes but ASCII letters and digits by spaces."""
_LINES_OF_WORDS: Final = _ONLY_WORDS[:10] + b"\n" + _ONLY_WORDS[11:]
"""Like `_ONLY_WORDS`, but keeps the ends of lines."""
_LINE_END: Final = b"\0"
"""Stands for the end of a line where a text is split into words and line ends at once."""
_LINE_ENDS: Final = -1
"""Instead of the number of a term: a line ends."""


class WordMatches(dict[bytes, Matches]):
    """Word → its matches, found when the word is looked up for the first time."""

    def __init__(self, terms: QuestionTerms) -> None:
        self._terms = terms
        self[_LINE_END] = ((_LINE_ENDS, 0.0),)

    def __missing__(self, word: bytes) -> Matches:
        found = self[word] = self._terms.in_word(word)
        return found


class FileHits:
    """The matches in one file, by position in bytes."""

    def __init__(self, matches: WordMatches, data: bytes) -> None:
        self._text = data.translate(_LINES_OF_WORDS)
        self._matches_of = matches.__getitem__

    def between(self, start: int, end: int) -> dict[int, float]:
        """Number of a term → how often it is matched, weighted by how well."""
        hits: dict[int, float] = {}
        for matches in filter(None, map(self._matches_of, self._text[start:end].split())):
            for number, strength in matches:
                hits[number] = hits.get(number, 0.0) + strength
        return hits

    def by_line(self, start: int, end: int) -> list[tuple[int, dict[int, float]]]:
        """The lines that have matches, counted from 0 at `start`, each with its best match of every term."""
        found: list[tuple[int, dict[int, float]]] = []
        hits: dict[int, float] = {}
        line = 0
        words = self._text[start:end].replace(b"\n", b" " + _LINE_END + b" ").split()
        words.append(_LINE_END)
        for matches in filter(None, map(self._matches_of, words)):
            for number, strength in matches:
                if number == _LINE_ENDS:
                    if hits:
                        found.append((line, hits))
                        hits = {}
                    line += 1
                elif hits.get(number, 0.0) < strength:
                    hits[number] = strength
        return found


class TermHits:
    """The matches in the files of a repository. Reads each file once."""

    def __init__(self, terms: QuestionTerms, reader: SourceReader) -> None:
        self._matches = WordMatches(terms)
        self._reader = reader
        self._files: dict[str, FileHits] = {}

    def in_file(self, path: str) -> FileHits:
        if path not in self._files:
            self._files[path] = FileHits(self._matches, self._reader.bytes_of(path) or b"")
        return self._files[path]

    def by_line(self, one: Declaration) -> list[tuple[int, dict[int, float]]]:
        return self.in_file(one.file).by_line(one.start, one.end)
