"""Finds the symbols that a name refers to, as people write names (see `written_names`).

`Save`, `Store.Save`, `(*Store).Save`, `pkg.Store.Save` and `example.com/m/pkg.Store.Save` all find the same method. A
package is named by its import path, its directory, the end of either, the name in its `package` clause, or the name
that an import gives it. A method or field that a type gets by embedding is found as a member of that type. Symbols of
the repository are preferred to external ones, exact spelling to other capitalization, and a name that begins with a
package to one that begins with a type. The first look-ups of a process scan the symbols; after that, all names are kept
in memory (80 bytes each).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from golore.graph.database.store import Store
from golore.graph.queries.answers import Meaning, NameMatches, Ref
from golore.graph.queries.edges import by_location, external, externals_where, symbols, symbols_where
from golore.graph.queries.names.name_suggestions import suggested_symbols
from golore.graph.queries.names.package_names import PackageNames
from golore.graph.queries.names.promotion import promoted_members
from golore.graph.queries.names.written_names import enclosing_function, plain_name
from msgspec.structs import replace

_SCANS: Final = 2
"""Number of look-ups by scanning, 25 ms each at 236,000 symbols, before the list of names is built (about 400 ms)."""
_ANY_KIND: Final = frozenset[str]()
_OWNERS: Final = frozenset(("struct", "interface", "type", "alias"))


class NameResolver:
    """The names in one open store. Create a new one when the store is opened again.

    `listed`: a list that was built from the same graph, to avoid building it again.
    """

    def __init__(self, store: Store, listed: NameList | None = None) -> None:
        self._store = store
        self._list = listed
        self._scanned: dict[tuple[str, bool], list[Ref]] = {}
        """What was found by scanning: names that are qualified in several ways end in the same one."""

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
        meanings = self._meanings(plain, kinds)
        outer = "" if meanings else enclosing_function(plain)
        if outer:
            meanings = tuple(
                replace(one, explanation=f"{plain} is a function literal in {one.name}.")
                for one in self._meanings(outer, kinds)
            )
        if meanings:
            return NameMatches(text, meanings)
        return NameMatches(text, (), tuple(suggested_symbols(self._store, outer or plain)))

    def _meanings(self, plain: str, kinds: frozenset[str]) -> tuple[Meaning, ...]:
        for fold in (False, True):
            found = _preferred(self._declared(plain, fold), kinds)
            if found:
                return _grouped(found)
            if promoted := self._promoted(plain, fold):
                return promoted
        return ()

    def _declared(self, plain: str, fold: bool) -> list[Ref]:
        """The symbols with this name; external ones only if the repository has none."""
        name = plain.rpartition(".")[2]
        inside = self._named(name, fold)
        packages = PackageNames(self._store, fold=fold)
        if "." not in plain:
            return inside or self._outside(name, fold)
        if found := packages.ending(inside, plain):
            return found
        outside = self._outside(name, fold)
        return packages.ending(outside, plain) or packages.imported(inside, plain) or packages.imported(outside, plain)

    def _promoted(self, plain: str, fold: bool) -> tuple[Meaning, ...]:
        """The members that types with the name before the last dot get by embedding."""
        owner_name, _, name = plain.rpartition(".")
        if not owner_name or "/" in name:
            return ()
        owners = [one for one in self._declared(owner_name, fold) if one.kind in _OWNERS]
        found: dict[str, Meaning] = {}
        for owner in owners:
            for member in promoted_members(self._store, owner, name, fold=fold):
                sentence = f"{plain} is promoted from {member.qualified_name.removesuffix(f'.{member.name}')}."
                found.setdefault(member.id, Meaning(member.qualified_name, (member,), sentence))
        return tuple(found[id] for id in sorted(found))

    def _exact(self, text: str) -> Ref | None:
        for symbol in symbols(self._store, [text]):
            return symbol
        # A single word that is an external package's path, such as `sort`, may be a name in the repository.
        return external(self._store, text) if "." in text or "/" in text else None

    def _named(self, name: str, fold: bool) -> list[Ref]:
        if self._list is None and (name, fold) not in self._scanned:
            if sum(1 for _, folded in self._scanned if not folded) >= _SCANS:
                self.load()
            elif fold:
                self._scanned[name, fold] = symbols_where(self._store, "lower(s.name) = $name", name=name.lower())
            else:
                self._scanned[name, fold] = symbols_where(self._store, "s.name = $name", name=name)
        if self._list is not None:
            return symbols(self._store, self._list.ids(name, fold))
        return self._scanned[name, fold]

    def _outside(self, name: str, fold: bool) -> list[Ref]:
        if fold:
            return externals_where(self._store, "lower(e.name) = $name", name=name.lower())
        return externals_where(self._store, "e.name = $name", name=name)


def _preferred(found: list[Ref], kinds: frozenset[str]) -> list[Ref]:
    """Without symbols of other kinds than `kinds`, then without fields; each only if something is left."""
    preferred = [symbol for symbol in found if symbol.kind in kinds] or found
    return [symbol for symbol in preferred if symbol.kind != "field"] or preferred


def _grouped(found: Iterable[Ref]) -> tuple[Meaning, ...]:
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

    def _id(self, entry: int) -> str:
        start = self._id_starts[entry]
        return self._ids[start : self._ids.index(b"\0", start)].decode()
