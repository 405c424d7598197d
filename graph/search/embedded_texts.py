"""The texts that vectors are made of: short ones, as those told apart better than long ones in every measurement.

A declaration gives its path, its name taken apart and the first sentence of its comment; a file its path and the names
it declares. A text is known by its digest: one that has not changed is not embedded again. Tests, generated files and
fields have none. What a vector is and who makes it is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from golore.graph.search.index_entries import IndexedSymbol
from golore.graph.search.terms import parts, words

KEY: Final = 8
"""Bytes of a digest."""
_KINDS: Final = frozenset(("func", "method", "struct", "interface", "type", "imethod"))
_NAMES: Final = 12
_LONGEST: Final = 240


def told_of(symbols: Iterable[IndexedSymbol]) -> list[IndexedSymbol]:
    """The declarations that have texts, in the order of these."""
    return [symbol for symbol in symbols if symbol.kind in _KINDS]


def meaning_texts(path: str, symbols: Iterable[IndexedSymbol]) -> Iterator[str]:
    """The file's own text first."""
    place = _spoken(path.removesuffix(".go"))
    told = told_of(symbols)
    yield f"{place}: {', '.join(_spoken(symbol.name) for symbol in told[:_NAMES])}"[:_LONGEST]
    for symbol in told:
        comment = symbol.about.partition(" — ")[2]
        yield f"{place} {_spoken(symbol.local)}. {comment.partition('. ')[0]}"[:_LONGEST]


def meaning_key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=KEY).digest()


def _spoken(name: str) -> str:
    return " ".join(part.lower() for word in words(name) for part in parts(word))
