"""What of a file the search index holds: its terms with their counts, the names it declares, its declarations.

Pure: from texts and declarations to entries. How they are stored is `textindex`'s affair.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec
from golore.graph.search.postings import Counts, packed_counts
from golore.graph.search.terms import folded, word_terms

TEST: Final = 1
GENERATED: Final = 2
"""Flags of a file."""
_WORD: Final = re.compile(r"[^\W_]+")


def word_counts(text: str) -> dict[str, int]:
    """How often each term occurs in a text; for long ones."""
    counts: dict[str, int] = {}
    for word, times in Counter(_WORD.findall(text)).items():
        for term in word_terms(word):
            counts[term] = counts.get(term, 0) + times
    return counts


def terms(text: str) -> list[str]:
    """What `words.terms` gives, quicker."""
    return [term for word in _WORD.findall(text) for term in word_terms(word)]


class IndexedSymbol(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A declaration of a file. `local` is its name within the package, as in `Memory.Save`; `id` is empty where it is
    the package's path and that."""

    kind: str
    name: str
    local: str
    line: int
    about: str
    id: str = ""

    def qualified_name(self, package: str) -> str:
        return f"{package}.{self.local}"


class FileText(NamedTuple):
    """A file as it is put into the index; `counts` are the terms of its text."""

    path: str
    digest: str
    package: str
    module: str
    test: bool
    generated: bool
    symbols: tuple[IndexedSymbol, ...]
    counts: Mapping[str, int]


class ShortText(NamedTuple):
    """A package, note, section or summary. `name` is what it is called where it is found, `file` where it stands or
    what it is about."""

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
    """What of a file is looked up: its terms with their counts, the names it declares, and how long its parts are."""

    terms: Mapping[str, int]
    names: frozenset[str]
    lengths: tuple[int, int, int]


NOTHING: Final = IndexEntry({}, frozenset(), (0, 0, 0))
PATH_WEIGHT: Final = 3
"""How often a term of the path counts beside those of the text."""
TITLE_WEIGHT: Final = 3
_UNNAMED: Final = ("field",)
"""Kinds whose names are no names of the file: there are many, and they are in its text anyhow."""


def entry_of(file: FileText) -> IndexEntry:
    in_path, in_names = _counted(terms(file.path.removesuffix(".go"))), dict[str, int]()
    for symbol in file.symbols:
        if symbol.kind not in _UNNAMED:
            for term in terms(symbol.name):
                in_names[term] = in_names.get(term, 0) + 1
    held = {
        term: packed_counts(Counts(file.counts.get(term, 0), in_path.get(term, 0), in_names.get(term, 0)))
        for term in sorted({*file.counts, *in_path, *in_names})
    }
    paths = sum(in_path.values())
    lengths = (sum(file.counts.values()) + PATH_WEIGHT * paths, paths, sum(in_names.values()))
    return IndexEntry(held, names_of(file.symbols), lengths)


def names_of(symbols: Iterable[IndexedSymbol]) -> frozenset[str]:
    """What each is looked up by: its name, and for what belongs to a type, that with the type's before it."""
    found: set[str] = set()
    for symbol in symbols:
        if symbol.name != "_":
            found.add(folded(symbol.name))
            if symbol.local != symbol.name:
                found.add(folded(symbol.local))
    return frozenset(found)


def text_key(text: ShortText) -> tuple[str, ...]:
    return (text.kind, text.name, text.file, str(text.line))


def text_counts(text: ShortText) -> dict[str, int]:
    """The terms of a text; those of its title and name count three times."""
    return _counted([*terms(text.text), *terms(f"{text.title} {text.name}") * TITLE_WEIGHT])


def _counted(found: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for term in found:
        counts[term] = counts.get(term, 0) + 1
    return counts
