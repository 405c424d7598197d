"""Which declarations a name means in the search index: spelled so, beginning so, having it inside, or with one slip.

`Save`, `Memory.Save`, `(*Memory).Save`, `store.Memory.Save` and the whole qualified name find the same method. A slip
is one letter too many, too few, another one, or two neighbours changed over. Unlike `names`, which settles what a
question is about, this ranks what might have been meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from golore.graph.queries.name_resolver import plain_name
from golore.graph.search.index import SearchIndex
from golore.graph.search.index_entries import GENERATED, TEST, FileRow, IndexedSymbol
from golore.graph.search.terms import folded

EXACT, SAME, ENDING, SLIP, BEGINNING, HOLDING = 1.0, 0.95, 0.9, 0.82, 0.75, 0.6
NAMED: Final = 0.85
"""From here on something bears the very name."""
_MOST_NAMES: Final = 60
_MOST_FILES: Final = 80
_ENOUGH: Final = 40
"""Declarations after which no further names are looked at."""
_MOST_SLIPS: Final = 4_000


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
    """Whether a text can be meant as a name: one word, as it stands in code."""
    spoken = plain_name(text)
    return bool(spoken) and len(spoken.split()) == 1 and all(char.isalnum() or char in "_./-~" for char in spoken)


def name_hits(
    index: SearchIndex, files: dict[int, FileRow], text: str, allowed: Callable[[FileRow], bool]
) -> list[NameHit]:
    """Best first."""
    spoken = plain_name(text)
    base, _, last = spoken.rpartition("/")
    words = [word for word in last.split(".") if word]
    found: dict[tuple[int, str, int], NameHit] = {}

    def add(name: str, qualifier: str, score: float | None) -> int:
        before = len(found)
        for hit in _declared(index, files, name, qualifier, allowed):
            worth = score if score is not None else _closeness(spoken, hit.symbol, hit.qualified_name)
            key = (hit.file.id, hit.symbol.local, hit.symbol.line)
            if key not in found:
                found[key] = hit._replace(score=round(worth - _drawback(hit), 3))
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
        if len(words) == 1 and len(found) < _ENOUGH:
            for name in index.names_from(wanted, _MOST_NAMES):
                if len(found) < _ENOUGH:
                    add(name, "", BEGINNING + 0.05 * len(wanted) / len(name))
        if len(words) == 1 and len(wanted) > 1 and len(found) < _ENOUGH:
            for name in index.names_with(wanted, _MOST_NAMES):
                if len(found) < _ENOUGH:
                    add(name, "", HOLDING + 0.05 * len(wanted) / len(name))
    return sorted(found.values(), key=_order)


def close_names(index: SearchIndex, wanted: str) -> list[str]:
    """Names that differ by one slip. Such a one shares the first or the second half of its letters."""
    half = (len(wanted) - 1) // 2
    lengths = (len(wanted) - 1, len(wanted) + 1)
    near = index.names_from(wanted[:half], _MOST_SLIPS, lengths)
    near += index.names_to(wanted[len(wanted) - half :], _MOST_SLIPS, lengths)
    return sorted({name for name in near if is_one_slip(wanted, name)})


def is_one_slip(said: str, meant: str) -> bool:
    if said == meant or abs(len(said) - len(meant)) > 1:
        return False
    start, short = 0, min(len(said), len(meant))
    while start < short and said[start] == meant[start]:
        start += 1
    a, b = said[start:], meant[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else a == b[1:]


def _declared(
    index: SearchIndex, files: dict[int, FileRow], name: str, qualifier: str, allowed: Callable[[FileRow], bool]
) -> Iterator[NameHit]:
    """Declarations of a name, in files whose package fits what stands before it."""
    rows = [files[id] for id in index.files_naming(name) if id in files]
    rows = [row for row in rows if _fits(row.package, qualifier) and allowed(row)]
    rows.sort(key=lambda row: (row.flags & TEST, row.flags & GENERATED, len(row.path), row.path))
    for row in rows[:_MOST_FILES]:
        for symbol in index.symbols(row.id):
            if name in (folded(symbol.name), folded(symbol.local)):
                yield NameHit(row, symbol, 0.0)


def _fits(package: str, qualifier: str) -> bool:
    return not qualifier or f"/{package.lower()}".endswith(f"/{qualifier.lower()}")


def _closeness(spoken: str, symbol: IndexedSymbol, qualified_name: str) -> float:
    if spoken in (symbol.name, qualified_name):
        return EXACT
    if qualified_name.endswith((f".{spoken}", f"/{spoken}")):
        return EXACT - 0.01
    wanted, whole = spoken.lower(), qualified_name.lower()
    if wanted in (symbol.name.lower(), whole):
        return SAME
    return ENDING


def _drawback(hit: NameHit) -> float:
    """Of names that fit alike, fields and tests are the ones that are least often meant."""
    return 0.005 * (hit.symbol.kind == "field") + 0.005 * bool(hit.file.flags & TEST)


def _order(hit: NameHit) -> tuple[float, int, str, str, int]:
    return (-hit.score, len(hit.qualified_name), hit.qualified_name, hit.file.path, hit.symbol.line)
