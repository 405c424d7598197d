"""The symbols of the graph that changed declarations are, by file and name.

The graph may be older or newer than the change: what was removed, or not learned yet, has no symbol.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from golore.graph.changes.change_set import DeclarationChange, Declared, OtherChanges
from golore.graph.database.store import Store
from golore.graph.queries.answers import Ref
from golore.graph.queries.edges import members, symbol_columns, symbol_from, symbols


@dataclass(frozen=True, slots=True)
class ChangedDeclaration:
    """A changed declaration and its symbols in the graph: none, one, or the several `init` or `_` of a file."""

    change: DeclarationChange
    symbols: tuple[Ref, ...]


class _Files:
    """The symbols of files by their names in the package. Each file is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files: dict[str, dict[str, list[Ref]]] = {}
        self._members: dict[str, dict[str, list[Ref]]] = {}

    def named(self, file: str, name: str) -> list[Ref]:
        known = self._files.get(file)
        if known is None:
            statement = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {symbol_columns('s')}"
            rows = self._store.rows(statement, {"id": file})
            known = self._files[file] = _by_local_name(map(symbol_from, rows))
        return known.get(name, [])

    def member(self, file: str, type: str, name: str) -> list[Ref]:
        """A field or an interface's method; `type` is the name of the type."""
        found: list[Ref] = []
        for owner in self.named(file, type):
            if owner.id not in self._members:
                self._members[owner.id] = _by_local_name(self._all_members(owner.id))
            found += self._members[owner.id].get(name, [])
        return found

    def _all_members(self, owner: str) -> Iterable[Ref]:
        for member in members(self._store, owner):
            yield member
            if member.kind == "field":
                yield from self._all_members(member.id)


def changed_symbols(store: Store, changes: Iterable[DeclarationChange]) -> tuple[ChangedDeclaration, ...]:
    files = _Files(store)
    return tuple(ChangedDeclaration(change, tuple(_symbols(files, change))) for change in changes)


def users_of_removed(store: Store, changes: Iterable[DeclarationChange]) -> tuple[tuple[str, Ref], ...]:
    """The declarations with unresolved uses of names that the change removed, each with the name.

    An unexported name counts in its directory only.
    """
    gone = [change.before for change in changes if change.before is not None and change.how in ("removed", "renamed")]
    names = sorted({declared.name for declared in gone} - {"_", "init"})
    if not names:
        return ()
    statement = "MATCH (u:Unresolved) WHERE u.name IN $names RETURN u.name, u.file, u.source ORDER BY u.id"
    directories = {(declared.name, declared.directory) for declared in gone}
    sources = {
        source: name
        for name, file, source in store.rows(statement, {"names": names})
        if name[:1].isupper() or (name, file.rpartition("/")[0]) in directories
    }
    return tuple((sources[symbol.id], symbol) for symbol in symbols(store, list(sources)))


def embedding_symbols(store: Store, other: OtherChanges) -> list[Ref]:
    """The variables that embed files which changed."""
    files = _Files(store)
    return [symbol for file, name in other.embedding for symbol in files.named(file, name)]


def _symbols(files: _Files, change: DeclarationChange) -> list[Ref]:
    for declared in (change.after, change.before):
        if declared is not None and (found := _symbols_of(files, declared)):
            return found
    return []


def _symbols_of(files: _Files, declared: Declared) -> list[Ref]:
    if declared.kind in ("field", "imethod"):
        return files.member(declared.file, declared.owner.partition(".")[0], declared.local_name)
    found = files.named(declared.file, declared.local_name)
    at_line = [symbol for symbol in found if symbol.line == declared.line]
    return at_line if len(found) > 1 and at_line else found


def _by_local_name(symbols: Iterable[Ref]) -> dict[str, list[Ref]]:
    found: dict[str, list[Ref]] = {}
    for symbol in symbols:
        found.setdefault(symbol.qualified_name.removeprefix(f"{symbol.package}."), []).append(symbol)
    return found
