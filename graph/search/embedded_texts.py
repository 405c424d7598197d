"""The texts that vectors are made of. They are short, because short texts were distinguished better than long ones in
every measurement.

The text of a declaration is its path, its name split into words and the first sentence of its comment; that of a file
is its path and the names it declares. Only functions, methods and types have texts; tests and generated files have
none. Packages, active notes and sections of documents have texts of their own words: the graph has their vectors,
search by meaning does not use them. A text is identified by its digest: one that has not changed is not embedded again.
This module does not make vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from golore.graph.search.index_entries import IndexedSymbol
from golore.graph.search.term_counts import as_words

KEY_BYTES: Final = 8
"""Bytes of a key, which is the digest of a text."""
_KINDS: Final = frozenset(("func", "method", "struct", "interface", "type", "imethod"))
_MAX_NAMES: Final = 12
_MAX_TEXT: Final = 240
_MAX_READ: Final = 4_000
"""Characters of a longer text that count, as in the search index."""


def embedded_symbols(symbols: Iterable[IndexedSymbol]) -> list[IndexedSymbol]:
    """The declarations that have texts, in the order given."""
    return [symbol for symbol in symbols if symbol.kind in _KINDS]


def meaning_texts(path: str, symbols: Iterable[IndexedSymbol]) -> Iterator[str]:
    """The text of a file, then those of its declarations, in the order of `embedded_symbols`."""
    path_words = as_words(path.removesuffix(".go"))
    embedded = embedded_symbols(symbols)
    yield f"{path_words}: {', '.join(as_words(symbol.name) for symbol in embedded[:_MAX_NAMES])}"[:_MAX_TEXT]
    for symbol in embedded:
        comment = symbol.about.partition(" — ")[2]
        yield f"{path_words} {as_words(symbol.local)}. {comment.partition('. ')[0]}"[:_MAX_TEXT]


def package_meaning(id: str, doc: str) -> str:
    return f"{as_words(id)}. {_one_line(doc).partition('. ')[0]}"[:_MAX_TEXT]


def note_meaning(text: str) -> str:
    return _one_line(text)[:_MAX_TEXT]


def section_meaning(title: str, text: str) -> str:
    return f"{title}. {_one_line(text)}"[:_MAX_TEXT]


def meaning_key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()


def _one_line(text: str) -> str:
    return " ".join(text[:_MAX_READ].split())
