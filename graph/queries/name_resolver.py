"""Finds the symbols that a name refers to, as people write names: an id, a qualified name, or the end of one.

`Save`, `Store.Save`, `(*Store).Save`, `pkg.Store.Save` and `example.com/m/pkg.Store.Save` all find the same method.
Symbols of the repository are preferred to external ones, and exact spelling to other capitalization. The first look-ups
of a process scan the symbols; after that, all names are kept in memory (80 bytes each).
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher, get_close_matches
from typing import Final

from golore.graph.database.store import Store
from golore.graph.queries.answers import Meaning, NameMatches, Ref
from golore.graph.queries.edges import by_location, external, externals_where, symbols, symbols_where

_SCANS: Final = 2
"""Number of look-ups by scanning, 25 ms each at 236,000 symbols, before the list of names is built (about 400 ms)."""
_MOST_SUGGESTIONS: Final = 5
_MOST_COMPARED: Final = 3_000
_ANY_KIND: Final = frozenset[str]()
_RECEIVER: Final = re.compile(r"\(\s*\*?\s*([^()]*?)\s*\)")
_TYPE_ARGUMENTS: Final = re.compile(r"\[[^\[\]]*\]")


class NameResolver:
    """The names in one open store. Create a new one when the store is opened again.

    `listed`: a list that was built from the same graph, to avoid building it again.
    """

    def __init__(self, store: Store, listed: NameList | None = None) -> None:
        self._store = store
        self._list = listed
        self._scans = 0

    @property
    def listed(self) -> NameList | None:
        return self._list

    def load(self) -> NameList:
        """Build the list of names now, for long-running processes."""
        if self._list is None:
            self._list = NameList(self._store.rows("MATCH (s:Symbol) RETURN s.name, s.id"))
        return self._list

    def find(self, text: str, kinds: frozenset[str] = _ANY_KIND) -> NameMatches:
        """The meanings of a text. If it has several, those of the given kinds are preferred."""
        exact = self._exact(text)
        if exact is not None:
            return NameMatches(text, (Meaning(exact.qualified_name, (exact,)),))
        plain = plain_name(text)
        name = plain.rpartition(".")[2]
        for fold in (False, True):
            found = _preferred(self._matching(self._named(name, fold), plain, fold), kinds)
            if not found:
                found = _preferred(_ending(self._outside(name, fold), plain, fold), kinds)
            if found:
                return NameMatches(text, _meanings(found))
        return NameMatches(text, (), tuple(self._suggestions(plain, name)))

    def _exact(self, text: str) -> Ref | None:
        for symbol in symbols(self._store, [text]):
            return symbol
        # A single word that is an external package's path, such as `sort`, may be a name in the repository.
        return external(self._store, text) if "." in text or "/" in text else None

    def _named(self, name: str, fold: bool) -> list[Ref]:
        if self._list is None and self._scans >= _SCANS:
            self.load()
        if self._list is not None:
            return symbols(self._store, self._list.ids(name, fold))
        self._scans += not fold
        if fold:
            return symbols_where(self._store, "lower(s.name) = $name", name=name.lower())
        return symbols_where(self._store, "s.name = $name", name=name)

    def _outside(self, name: str, fold: bool) -> list[Ref]:
        if fold:
            return externals_where(self._store, "lower(e.name) = $name", name=name.lower())
        return externals_where(self._store, "e.name = $name", name=name)

    def _matching(self, named: list[Ref], plain: str, fold: bool) -> list[Ref]:
        found = _ending(named, plain, fold)
        if found or "." not in plain:
            return found
        # A package's name may differ from its directory: `yaml.Marshal` in gopkg.in/yaml.v3.
        rows = self._store.rows("MATCH (p:Package) RETURN p.id, p.name, p.path")
        packages = {id: (name, path) for id, name, path in rows}
        return [symbol for symbol in named if _under_package_name(symbol, packages) == plain]

    def _suggestions(self, plain: str, name: str) -> Iterator[Ref]:
        """Symbols with that name but another owner or package; if there are none, symbols with similar names."""
        similar = self._named(name, fold=True)
        if not similar:
            for close in get_close_matches(name, self._similar_names(name), n=_MOST_SUGGESTIONS, cutoff=0.6):
                similar += self._named(close, fold=False)
        matcher = SequenceMatcher(a="", b=plain)

        def distance(symbol: Ref) -> tuple[float, tuple[str, int, str]]:
            matcher.set_seq1(symbol.qualified_name[-len(plain) - 8 :])
            return (-matcher.quick_ratio(), by_location(symbol))

        seen: set[str] = set()
        for symbol in sorted(similar[:_MOST_COMPARED], key=distance):
            if symbol.qualified_name not in seen and len(seen) < _MOST_SUGGESTIONS:
                seen.add(symbol.qualified_name)
                yield symbol

    def _similar_names(self, name: str) -> list[str]:
        """Names that start with the same letter and have about the same length."""
        statement = (
            "MATCH (s:Symbol) WHERE lower(left(s.name, 1)) = $first AND size(s.name) >= $short "
            "AND size(s.name) <= $long RETURN DISTINCT s.name ORDER BY s.name"
        )
        slack = 1 + len(name) // 4
        values = {"first": name[:1].lower(), "short": len(name) - slack, "long": len(name) + slack}
        return [row[0] for row in self._store.rows(statement, values)][:_MOST_COMPARED]


def plain_name(text: str) -> str:
    """The name without optional notation: parentheses and star of a receiver, type arguments, parentheses of a call."""
    text = text.strip().removesuffix("()")
    return _TYPE_ARGUMENTS.sub("", _RECEIVER.sub(r"\1", text)).lstrip("*&.")


def _ending(named: Iterable[Ref], plain: str, fold: bool) -> list[Ref]:
    """The symbols whose qualified name is `plain` or, if there are none, ends in it."""
    plain = plain.lower() if fold else plain
    whole: list[Ref] = []
    partly: list[Ref] = []
    for symbol in named:
        qualified = symbol.qualified_name.lower() if fold else symbol.qualified_name
        if qualified == plain:
            whole.append(symbol)
        elif qualified.endswith((f".{plain}", f"/{plain}")):
            partly.append(symbol)
    return whole or partly


def _under_package_name(symbol: Ref, packages: dict[str, tuple[str, str]]) -> str:
    name, path = packages.get(symbol.package, ("", ""))
    return name + symbol.qualified_name.removeprefix(path)


def _preferred(found: list[Ref], kinds: frozenset[str]) -> list[Ref]:
    """Without symbols of other kinds than `kinds`, then without fields; each only if something is left."""
    preferred = [symbol for symbol in found if symbol.kind in kinds] or found
    return [symbol for symbol in preferred if symbol.kind != "field"] or preferred


def _meanings(found: Iterable[Ref]) -> tuple[Meaning, ...]:
    grouped: dict[tuple[str, str], list[Ref]] = {}
    for symbol in found:
        grouped.setdefault((symbol.qualified_name, symbol.package), []).append(symbol)
    return tuple(Meaning(name, tuple(sorted(twins, key=by_location))) for (name, _), twins in sorted(grouped.items()))


class NameList:
    """All names and ids as two long byte strings with zero bytes between the entries. Look-ups search the string."""

    def __init__(self, rows: Iterable[list[str]]) -> None:
        names = bytearray(b"\0")
        ids = bytearray()
        self._starts = array("I")
        self._id_starts = array("I")
        for name, id in rows:
            self._starts.append(len(names))
            self._id_starts.append(len(ids))
            names += name.encode() + b"\0"
            ids += id.encode() + b"\0"
        self._names = bytes(names)
        self._ids = bytes(ids)

    def ids(self, name: str, fold: bool) -> list[str]:
        wanted = b"\0" + name.encode() + b"\0"
        names, wanted = (self._names.lower(), wanted.lower()) if fold else (self._names, wanted)
        found: list[str] = []
        at = names.find(wanted)
        while at >= 0:
            found.append(self._id(bisect_right(self._starts, at + 1) - 1))
            at = names.find(wanted, at + 1)
        return found

    def ids_containing(self, part: str, most: int) -> list[str]:
        """Ids of up to `most` symbols whose name contains `part` in any case; names that start with it come first."""
        names, wanted = self._names.lower(), part.lower().encode()
        found: dict[int, None] = {}
        for sought in (b"\0" + wanted, wanted):
            at = names.find(sought)
            while at >= 0 and len(found) < most:
                entry = bisect_right(self._starts, at + sought.startswith(b"\0")) - 1
                found.setdefault(entry)
                at = names.find(sought, at + 1)
        return [self._id(entry) for entry in found]

    def _id(self, entry: int) -> str:
        start = self._id_starts[entry]
        return self._ids[start : self._ids.index(b"\0", start)].decode()
