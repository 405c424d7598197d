"""Counts the terms of whole files, of short texts and of names. Each distinct word is split once per process.

`terms` says what a term is. This module is compiled; unlike `terms`, it is not for the hook process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from golore.graph.search.postings import MAX_NAME, MAX_PATH, MAX_TEXT, NAME_SHIFT, PATH_SHIFT
from golore.graph.search.terms import ONLY_WORDS, parts, split, words

_SHORT: Final = 1_000
"""Bytes of a text in which few words occur twice: counting the words first takes longer than counting their terms."""
_MAX_CACHED: Final = 1 << 17
_terms_of: Final[dict[bytes, str | tuple[str, ...]]] = {}
"""Word in UTF-8 → its only term, or all its terms. A word that is not ASCII may contain characters that separate words.
"""
_words_of: Final[dict[str, str]] = {}
_lower: Final[Callable[[str], str]] = str.lower
"""The method of Python. What mypyc compiles `.lower()` to treats a capital sigma at the end of a word differently."""


def term_counts(data: bytes) -> dict[str, int]:
    """Term → number of occurrences in a text in UTF-8, in the order of their first occurrence."""
    counts: dict[str, int] = {}
    found = data.translate(ONLY_WORDS).split()
    if len(data) < _SHORT:
        for word in found:
            _add(counts, word, 1)
        return counts
    # Not as a Counter: only plain dicts are iterated without calls.
    occurrences: dict[bytes, int] = dict(Counter(found))
    for word, times in occurrences.items():
        _add(counts, word, times)
    return counts


def _add(counts: dict[str, int], word: bytes, times: int) -> None:
    known = _terms_of.get(word)
    if known is None:
        if len(_terms_of) >= _MAX_CACHED:
            _terms_of.clear()
        terms = _split(word)
        known = _terms_of[word] = terms[0] if len(terms) == 1 else terms
    if isinstance(known, str):
        counts[known] = counts.get(known, 0) + times
    else:
        for term in known:
            counts[term] = counts.get(term, 0) + times


def name_counts(names: list[str]) -> dict[str, int]:
    """Term → number of occurrences in all these names."""
    return term_counts(" ".join(names).encode("utf-8", "replace"))


def packed_terms(in_text: dict[str, int], in_path: dict[str, int], in_names: dict[str, int]) -> dict[str, int]:
    """Term → its counts as `postings.packed_counts` packs them; first the terms of the text, in their order."""
    most_text, most_path, most_name = MAX_TEXT, MAX_PATH, MAX_NAME
    path_shift, name_shift = PATH_SHIFT, NAME_SHIFT
    packed = in_text.copy()
    if packed and max(packed.values()) > most_text:
        packed = {term: min(times, most_text) for term, times in packed.items()}
    for term, times in in_path.items():
        packed[term] = packed.get(term, 0) | min(times, most_path) << path_shift
    for term, times in in_names.items():
        packed[term] = packed.get(term, 0) | min(times, most_name) << name_shift
    return packed


def as_words(name: str) -> str:
    """The parts of all words of a name, in lower case, with spaces between them."""
    found = _words_of.get(name)
    if found is None:
        if len(_words_of) >= _MAX_CACHED:
            _words_of.clear()
        pieces: list[str] = []
        for word in words(name):
            pieces += parts(word)
        found = _words_of[name] = _lower(" ".join(pieces))
    return found


def _split(word: bytes) -> tuple[str, ...]:
    if word.isascii():
        return split(word.decode())
    found: list[str] = []
    for one in words(word.decode("utf-8", "replace")):
        found += split(one)
    return tuple(found)
