"""The fleet: the newest publication of every repository in a lake, and the rows that they have about a name.

Rows come from the newest index. Those of repositories that have published since, or are no longer in the lake, are left
out of it; the former are read from their own tables. A fleet can be restricted to some repositories: of the others,
nothing is read but rows of the index, which are left out.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple, Self

from golore.graph.errors import LakeError
from golore.graph.lake.bucket import KeyDigest, Lake
from golore.graph.lake.heads import Head, newest_keys, read_head
from golore.graph.lake.keys import HeadKey
from golore.graph.lake.lake_index import NUMBER, Index, exported_names, newest_index, unresolved_counts
from golore.graph.lake.segments import (
    ACROSS,
    IMPORTS,
    OWN,
    POSSIBLE,
    STD,
    SUFFIX,
    SYMBOLS,
    UNRESOLVED,
    USE_COLUMNS,
)
from golore.graph.lake.sorted_table import SortedTable

_Read = Callable[[SortedTable], Any]


class Member(NamedTuple):
    """A repository of the fleet at its newest publication. `number`: its position in the index; -1 if that lacks it."""

    key: HeadKey
    head: Head
    number: int

    @property
    def name(self) -> str:
        return self.key.repository


class FleetRow(NamedTuple):
    """A use, with the repository that it is in. After that, in the order of `USE_COLUMNS`."""

    member: Member
    target: str
    kind: str
    source: str
    file: str
    sites: str
    access: str


class Declaration(NamedTuple):
    """The declarations of one name in a repository: several, if it has twins."""

    member: Member
    symbols: list[dict[str, Any]]


class Fleet:
    """Use it as a context manager. `permits`: whether a repository belongs to the fleet, by its name. `unreadable`: the
    repositories that no answer covers, with the reason."""

    def __init__(self, lake: Lake, permits: Callable[[str], bool] = lambda _: True) -> None:
        self.lake = lake
        self._permits = permits
        self.unreadable: dict[str, str] = {}
        self._open = ExitStack()
        self._tables: dict[str, SortedTable] = {}
        self._declarations: dict[str, Declaration | None] = {}
        self.index: Index | None = newest_index(lake)
        self.index_failure = ""
        """Why the index is not used, although there is one."""
        self.members = tuple(self._read_members())
        self._by_number = {member.number: member for member in self.members if member.number >= 0}
        self._by_module: dict[str, list[int]] = {}
        """Positions in `members` of the repositories that declare a module."""
        for at, member in enumerate(self.members):
            for module in member.head.modules:
                self._by_module.setdefault(module, []).append(at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def uses(self, names: Collection[str]) -> list[FleetRow]:
        """The uses of these names in all repositories, each repository's own included."""
        rows = [row for scope in (ACROSS, STD) for row in self._across(scope, lambda table: table.rows(names))]
        owned: dict[int, list[str]] = {}
        for name in names:
            for at in self._positions(name):
                owned.setdefault(at, []).append(name)
        for at, own in sorted(owned.items()):
            rows += self._of_member(self.members[at], OWN, lambda table, own=own: table.rows(own))
        return rows

    def declaration(self, name: str) -> Declaration | None:
        """Where a name is declared; if several repositories declare it, as with a fork, the first of them."""
        if name not in self._declarations:
            members = (self.members[at] for at in sorted(self._positions(name)))
            found = (Declaration(member, self.symbols(member, [name])) for member in members)
            self._declarations[name] = next((one for one in found if one.symbols), None)
        return self._declarations[name]

    def uses_below(self, prefixes: tuple[str, ...]) -> list[FleetRow]:
        """The uses in other repositories of everything whose name begins with one of these texts."""
        return list(self._across(ACROSS, lambda table: table.rows_with_prefix(prefixes)))

    def names_used_below(self, prefixes: tuple[str, ...], members: Collection[Member]) -> dict[str, set[str]]:
        """The names that begin with one of these texts and that repositories use for certain, by repository."""
        pa, pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
        uncertain = pa.array((IMPORTS, POSSIBLE))

        def certain(table: SortedTable) -> Any:
            rows = table.rows_with_prefix(prefixes, ("target", "kind", *((NUMBER,) if table.has(NUMBER) else ())))
            return rows.filter(pc.invert(pc.is_in(rows["kind"], value_set=uncertain))).drop_columns(["kind"])

        found: dict[str, set[str]] = {}
        numbers = pa.array([one.number for one in members if one.number >= 0], pa.int32())
        table = self._index_table(ACROSS, certain)
        if table is not None:
            table = table.filter(pc.is_in(table[NUMBER], value_set=numbers))
            pairs = table.group_by(table.column_names, use_threads=False).aggregate([])
            for target, number in zip(pairs["target"].to_pylist(), pairs[NUMBER].to_pylist(), strict=True):
                found.setdefault(self._by_number[number].name, set()).add(target)
        for member in members:
            own = self._table_rows(member, ACROSS, certain) if member.number < 0 or table is None else None
            if own is not None and own.num_rows:
                found[member.name] = set(own["target"].to_pylist())
        return found

    def names_ending(self, text: str) -> list[str]:
        """The names that repositories use of others, and that are this text or end with it after a dot or slash."""
        pa, pc = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")

        def matching(table: SortedTable) -> Any:
            rows = table.all_rows(("target", *((NUMBER,) if table.has(NUMBER) else ())))
            ends = pc.or_(pc.ends_with(rows["target"], f".{text}"), pc.ends_with(rows["target"], f"/{text}"))
            return rows.filter(pc.or_(ends, pc.equal(rows["target"], text)))

        found: set[str] = set()
        for scope in (ACROSS, STD):
            table = self._index_table(scope, matching)
            if table is not None:
                numbers = pa.array(list(self._by_number), pa.int32())
                found.update(table.filter(pc.is_in(table[NUMBER], value_set=numbers))["target"].to_pylist())
            for member in self.members:
                own = self._table_rows(member, scope, matching) if member.number < 0 else None
                found.update(own["target"].to_pylist() if own is not None else ())
        return sorted(found)

    def own_uses_by(self, member: Member, source: str, kind: str) -> list[str]:
        """The targets of the uses of one kind in a declaration."""
        pc = importlib.import_module("pyarrow.compute")
        found: set[str] = set()
        for scope in (OWN, ACROSS, STD):
            table = self._table_rows(member, scope, lambda one: one.all_rows(("target", "kind", "source")))
            if table is not None:
                is_asked = pc.and_(pc.equal(table["source"], source), pc.equal(table["kind"], kind))
                found.update(table.filter(is_asked)["target"].to_pylist())
        return sorted(found)

    def symbols(self, member: Member, names: Collection[str]) -> list[dict[str, Any]]:
        """The declarations with these names in a repository."""
        table = self._table_rows(member, SYMBOLS, lambda one: one.rows(names))
        return table.to_pylist() if table is not None else []

    def all_symbols(self, member: Member) -> list[dict[str, Any]]:
        """All declarations of a repository; none if they are not readable."""
        table = self._table_rows(member, SYMBOLS, lambda one: one.all_rows())
        return table.to_pylist() if table is not None else []

    def symbol_names(self, member: Member) -> frozenset[str] | None:
        """All names that a repository declares; None if they are not readable."""
        table = self._table_rows(member, SYMBOLS, lambda one: one.all_rows(("name",)))
        return None if table is None else frozenset(table["name"].to_pylist())

    def declarations(self, words: Collection[str]) -> list[dict[str, Any]]:
        """The exported declarations whose names have all these words, with the name of their repository."""

        def matching(table: SortedTable) -> Any:
            rows = exported_names(table.all_rows())
            pc = importlib.import_module("pyarrow.compute")
            for word in words:
                rows = rows.filter(pc.match_substring(rows["name"], word, ignore_case=True))
            return rows

        found: list[dict[str, Any]] = []
        is_indexed = self.index is not None and SYMBOLS in self.index.made.tables
        for row in self._index_rows(SYMBOLS, matching):
            member = self._by_number.get(row[NUMBER])
            if member is not None:
                found.append(row | {NUMBER: member.name})
        for member in self.members:
            if member.number < 0 or not is_indexed:
                table = self._table_rows(member, SYMBOLS, matching)
                found += [row | {NUMBER: member.name} for row in table.to_pylist()] if table is not None else []
        return found

    def unresolved(self, name: str) -> dict[str, int]:
        """The number of unresolved sites with a name, by repository."""
        found: dict[str, int] = {}
        for row in self._index_rows(UNRESOLVED, lambda one: one.rows([name])):
            member = self._by_number.get(row[NUMBER])
            if member is not None:
                found[member.name] = row["sites"]
        for member in self.members:
            if member.number < 0:
                own = self._table_rows(member, UNRESOLVED, lambda one: one.rows([name]))
                for row in unresolved_counts(own).to_pylist() if own is not None else ():
                    found[member.name] = row["sites"]
        return dict(sorted(found.items()))

    def _positions(self, name: str) -> set[int]:
        """Positions in `members` of the repositories with a module whose path the name begins with."""
        starts = (name[:at] for at, sign in enumerate(name) if sign in "./")
        return {at for start in starts for at in self._by_module.get(start, ())}

    def _read_members(self) -> Iterator[Member]:
        covered = self.index.made.covered if self.index is not None else ()
        known = {one.key: Member(one.key, one.head, number) for number, one in enumerate(covered)}
        for repository, key in newest_keys(self.lake, {key.key: key for key in known}).items():
            if not self._permits(repository):
                continue
            if key in known:
                yield known[key]
                continue
            try:
                yield Member(key, read_head(self.lake, key), -1)
            except LakeError as failure:
                self.unreadable[repository] = str(failure)

    def _across(self, scope: str, read: _Read) -> Iterator[FleetRow]:
        """Rows of the index, then of the repositories that it does not cover."""
        table = self._index_table(scope, read)
        if table is not None:
            members = map(self._by_number.get, table[NUMBER].to_pylist())
            for member, *row in zip(members, *_use_columns(table), strict=True):
                if member is not None:
                    yield FleetRow(member, *row)
        for member in self.members:
            if member.number < 0:
                yield from self._of_member(member, scope, read)

    def _of_member(self, member: Member, scope: str, read: _Read) -> Iterator[FleetRow]:
        table = self._table_rows(member, scope, read)
        if table is not None:
            yield from (FleetRow(member, *row) for row in zip(*_use_columns(table), strict=True))

    def _table_rows(self, member: Member, name: str, read: _Read) -> Any:
        """What `read` returns for a table of a repository; None, and a reason in `unreadable`, if that fails."""
        try:
            if name not in member.head.tables:
                raise LakeError(f"{member.key.key} in the lake {self.lake.name} lacks the table {name}.")
            return read(self._opened(f"{member.key.folder}/{name}{SUFFIX}", member.head.tables[name]))
        except LakeError as failure:
            self.unreadable[member.name] = str(failure)
            return None

    def _index_rows(self, name: str, read: _Read) -> list[dict[str, Any]]:
        table = self._index_table(name, read)
        return table.to_pylist() if table is not None else []

    def _index_table(self, name: str, read: _Read) -> Any:
        """What `read` returns for a table of the index; None if there is none. If it is damaged, the index is not used
        at all."""
        if self.index is None or name not in self.index.made.tables:
            return None
        try:
            return read(self._opened(f"{self.index.folder}/{name}{SUFFIX}", self.index.made.tables[name]))
        except LakeError as failure:
            self.index, self.index_failure = None, str(failure)
            self.members = tuple(member._replace(number=-1) for member in self.members)
            self._by_number = {}
            return None

    def _opened(self, key: str, expected: KeyDigest) -> SortedTable:
        if key not in self._tables:
            self._tables[key] = self._open.enter_context(SortedTable(self.lake, key, expected))
        return self._tables[key]


def _use_columns(table: Any) -> list[list[str]]:
    return [table[name].to_pylist() for name in USE_COLUMNS]
