"""What the search index contains of a file: its terms with their counts, the names it declares, its declarations.

Pure functions from texts and declarations to entries; `index` stores them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
from golore.graph.search.term_counts import name_counts, packed_terms, term_counts
from golore.graph.search.terms import folded, word_terms

TEST: Final = 1
GENERATED: Final = 2
"""Flags of a file."""
_WORD: Final = re.compile(r"[^\W_]+")


def terms(text: str) -> list[str]:
    """Like `search.terms.terms`, but faster."""
    return [term for word in _WORD.findall(text) for term in word_terms(word)]


class IndexedSymbol(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A declaration of a file. `local` is its name within the package, such as `Memory.Save`; `id` is empty if it is
    the package's path, a dot and `local`."""

    kind: str
    name: str
    local: str
    line: int
    about: str
    id: str = ""

    def qualified_name(self, package: str) -> str:
        return f"{package}.{self.local}"


class FileText(NamedTuple):
    """A file as it is put into the index; `counts` has the terms of its text."""

    path: str
    digest: str
    package: str
    module: str
    test: bool
    generated: bool
    symbols: tuple[IndexedSymbol, ...]
    counts: dict[str, int]


class ShortText(NamedTuple):
    """A package, note, document section or summary. `name` is its name in results; `file` is where it is, or what it is
    about."""

    kind: str
    name: str
    file: str
    line: int
    title: str
    text: str
    flags: int = 0


class FileRow(NamedTuple):
    id: int
    path: str
    digest: str
    package: str
    module: str
    flags: int
    length: int
    path_length: int
    name_length: int


class TextRow(NamedTuple):
    id: int
    kind: str
    name: str
    file: str
    flags: int
    length: int


class IndexEntry(NamedTuple):
    """What a file can be found by: its terms with packed counts, the names it declares, and the lengths of its text,
    path and names in terms."""

    terms: dict[str, int]
    names: frozenset[str]
    lengths: tuple[int, int, int]


NOTHING: Final = IndexEntry({}, frozenset(), (0, 0, 0))
PATH_WEIGHT: Final = 3
"""How often a term in the path counts; a term in the text counts once."""
TITLE_WEIGHT: Final = 3
_UNCOUNTED_KINDS: Final = ("field",)
"""Kinds whose names are not counted as terms of declared names: there are many, and they are in the text anyway."""


def entry_of(file: FileText) -> IndexEntry:
    in_path = name_counts([file.path.removesuffix(".go")])
    in_names = name_counts([symbol.name for symbol in file.symbols if symbol.kind not in _UNCOUNTED_KINDS])
    packed = packed_terms(file.counts, in_path, in_names)
    path_length = sum(in_path.values())
    lengths = (sum(file.counts.values()) + PATH_WEIGHT * path_length, path_length, sum(in_names.values()))
    return IndexEntry(packed, names_of(file.symbols), lengths)


def names_of(symbols: Iterable[IndexedSymbol]) -> frozenset[str]:
    """The folded names that declarations are looked up by: `save` and, for a member of a type, also `memory.save`."""
    names = {name for symbol in symbols if symbol.name != "_" for name in (symbol.name, symbol.local)}
    return frozenset(folded("\n".join(names)).split("\n") if names else ())


def text_key(text: ShortText) -> tuple[str, ...]:
    return (text.kind, text.name, text.file, str(text.line))


def text_counts(text: ShortText) -> dict[str, int]:
    """Term → number of occurrences in a text; those in its title and name count three times."""
    counts = term_counts(text.text.encode("utf-8", "replace"))
    for term, times in name_counts([text.title, text.name]).items():
        counts[term] = counts.get(term, 0) + TITLE_WEIGHT * times
    return counts
