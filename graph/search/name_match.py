"""Finds declarations in the search index whose name is a text, begins with it, contains it, or differs by one typo.

`Save`, `Memory.Save`, `(*Memory).Save`, `store.Memory.Save` and the whole qualified name find the same method. A typo
is one letter too many, one missing, one wrong, or two adjacent ones swapped. Unlike `name_resolver`, which decides what
a question is about, this module ranks what may have been meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from golore.graph.queries.names.written_names import plain_name
from golore.graph.search.index import SearchIndex
from golore.graph.search.index_entries import GENERATED, TEST, FileRow, IndexedSymbol
from golore.graph.search.terms import folded

EXACT, SAME, ENDING, SLIP, BEGINNING, HOLDING = 1.0, 0.95, 0.9, 0.82, 0.75, 0.6
NAMED: Final = 0.85
"""From this score on, a declaration has the name itself, not a similar one."""
_MAX_NAMES: Final = 60
_MAX_FILES: Final = 80
_ENOUGH_HITS: Final = 40
"""Declarations after which no further names are tried."""
_MAX_CANDIDATES: Final = 4_000


class NameHit(NamedTuple):
    file: FileRow
    symbol: IndexedSymbol
    score: float

    @property
    def qualified_name(self) -> str:
        return self.symbol.qualified_name(self.file.package)

    @property
    def id(self) -> str:
        return self.symbol.id or self.qualified_name


def is_name(text: str) -> bool:
    """Whether a text can be a name: one word, as it is written in code."""
    name = plain_name(text)
    return bool(name) and len(name.split()) == 1 and all(char.isalnum() or char in "_./-~" for char in name)


def name_hits(
    index: SearchIndex, files: dict[int, FileRow], text: str, allowed: Callable[[FileRow], bool]
) -> list[NameHit]:
    """The declarations that a text may name, best first."""
    wanted_name = plain_name(text)
    base, _, last = wanted_name.rpartition("/")
    words = [word for word in last.split(".") if word]
    found: dict[tuple[int, str, int], NameHit] = {}

    def add(name: str, qualifier: str, score: float | None) -> int:
        before = len(found)
        for hit in _declarations(index, files, name, qualifier, allowed):
            value = score if score is not None else _closeness(wanted_name, hit.symbol, hit.qualified_name)
            key = (hit.file.id, hit.symbol.local, hit.symbol.line)
            if key not in found:
                found[key] = hit._replace(score=round(value - _penalty(hit), 3))
        return len(found) - before

    for size in (2, 1):
        if len(words) >= size:
            rest = ".".join(words[:-size])
            add(folded(".".join(words[-size:])), "/".join(filter(None, (base, rest))), None)
    if words and not base:
        wanted = folded(".".join(words[-2:]))
        if not found:
            for name in close_names(index, wanted):
                add(name, "", SLIP)
        if len(words) == 1 and len(found) < _ENOUGH_HITS:
            for name in index.names_from(wanted, _MAX_NAMES):
                if len(found) < _ENOUGH_HITS:
                    add(name, "", BEGINNING + 0.05 * len(wanted) / len(name))
        if len(words) == 1 and len(wanted) > 1 and len(found) < _ENOUGH_HITS:
            for name in index.names_with(wanted, _MAX_NAMES):
                if len(found) < _ENOUGH_HITS:
                    add(name, "", HOLDING + 0.05 * len(wanted) / len(name))
    return sorted(found.values(), key=_order)


def close_names(index: SearchIndex, wanted: str) -> list[str]:
    """The indexed names that differ by one typo. Such a name has the same first or second half."""
    half = (len(wanted) - 1) // 2
    lengths = (len(wanted) - 1, len(wanted) + 1)
    candidates = index.names_from(wanted[:half], _MAX_CANDIDATES, lengths)
    candidates += index.names_ending_with(wanted[len(wanted) - half :], _MAX_CANDIDATES, lengths)
    return sorted({name for name in candidates if is_one_typo(wanted, name)})


def is_one_typo(said: str, meant: str) -> bool:
    if said == meant or abs(len(said) - len(meant)) > 1:
        return False
    start, short = 0, min(len(said), len(meant))
    while start < short and said[start] == meant[start]:
        start += 1
    a, b = said[start:], meant[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else a == b[1:]


def _declarations(
    index: SearchIndex, files: dict[int, FileRow], name: str, qualifier: str, allowed: Callable[[FileRow], bool]
) -> Iterator[NameHit]:
    """Declarations with this name, in files whose package fits the qualifier."""
    rows = [files[id] for id in index.files_naming(name) if id in files]
    rows = [row for row in rows if _fits(row.package, qualifier) and allowed(row)]
    rows.sort(key=lambda row: (row.flags & TEST, row.flags & GENERATED, len(row.path), row.path))
    for row in rows[:_MAX_FILES]:
        for symbol in index.symbols(row.id):
            if name in (folded(symbol.name), folded(symbol.local)):
                yield NameHit(row, symbol, 0.0)


def _fits(package: str, qualifier: str) -> bool:
    return not qualifier or f"/{package.lower()}".endswith(f"/{qualifier.lower()}")


def _closeness(name: str, symbol: IndexedSymbol, qualified_name: str) -> float:
    if name in (symbol.name, qualified_name):
        return EXACT
    if qualified_name.endswith((f".{name}", f"/{name}")):
        return EXACT - 0.01
    lower_name, lower_qualified_name = name.lower(), qualified_name.lower()
    if lower_name in (symbol.name.lower(), lower_qualified_name):
        return SAME
    return ENDING


def _penalty(hit: NameHit) -> float:
    """Lowers fields and tests below other names that fit as well: they are meant least often."""
    return 0.005 * (hit.symbol.kind == "field") + 0.005 * bool(hit.file.flags & TEST)


def _order(hit: NameHit) -> tuple[float, int, str, str, int]:
    return (-hit.score, len(hit.qualified_name), hit.qualified_name, hit.file.path, hit.symbol.line)
