"""Declarations with their positions, and the text of files that is still what the graph was made from."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.queries.adjacency_file import Adjacency
from golore.graph.queries.answers import Ref
from golore.graph.queries.symbol_steps import Steps
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.graph.search.signals import IndexView

_COLUMNS: Final = (
    "s.id, s.kind, s.name, s.qualified_name, s.package, s.file, s.line, s.end_line, s.start, s.`end`, s.owner, s.doc"
)
SHOWN_KINDS: Final = frozenset(("func", "method", "struct", "interface", "type", "alias", "const", "var"))
"""Kinds of symbols whose text can be shown on its own."""


class Declaration(NamedTuple):
    id: str
    kind: str
    name: str
    qualified_name: str
    package: str
    file: str
    line: int
    end_line: int
    start: int
    end: int
    owner: str
    doc: str

    @property
    def ref(self) -> Ref:
        return Ref(self.id, self.kind, self.name, self.qualified_name, self.package, self.file, self.line, self.owner)

    @property
    def local(self) -> str:
        """The name within the package, such as `Memory.Save`."""
        return self.qualified_name.rpartition("/")[2].partition(".")[2] or self.name


def declarations_in(store: Store, steps: Steps, file: str) -> list[Declaration]:
    """The declarations of a file that can be shown, by position."""
    adjacency = steps.current_adjacency
    if adjacency is not None:
        found = [_declaration(adjacency, one) for one in adjacency.in_file(file) if adjacency.kind(one) in SHOWN_KINDS]
    else:
        statement = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {_COLUMNS}"
        rows = (Declaration(*row) for row in store.rows(statement, {"id": file}))
        found = [one for one in rows if one.kind in SHOWN_KINDS]
    return sorted(found, key=lambda one: (one.start, one.id))


def _declaration(adjacency: Adjacency, number: int) -> Declaration:
    ref, (end_line, start, end, doc) = adjacency.ref(number), adjacency.extent(number)
    names = (ref.id, ref.kind, ref.name, ref.qualified_name, ref.package, ref.file)
    return Declaration(*names, ref.line, end_line, start, end, ref.owner, doc)


def declarations_of(store: Store, steps: Steps, ids: Iterable[str]) -> dict[str, Declaration]:
    """Id → declaration. A field or an interface's method is shown with the type that declares it."""
    wanted = list(dict.fromkeys(ids))
    adjacency = steps.current_adjacency
    if adjacency is not None:
        numbers = {id: number for id in wanted if (number := adjacency.number(id)) is not None}
        found = {id: _declaration(adjacency, number) for id, number in numbers.items()}
    else:
        statement = f"UNWIND $ids AS i MATCH (s:Symbol {{id: i}}) RETURN {_COLUMNS}"
        found = {row[0]: Declaration(*row) for row in store.rows(statement, {"ids": wanted})}
    inner = {one.id: one.owner for one in found.values() if one.kind not in SHOWN_KINDS and one.owner}
    owners = declarations_of(store, steps, inner.values()) if inner else {}
    return {id: owners.get(inner.get(id, ""), one) for id, one in found.items()}


class SourceReader:
    """Reads files once. A file that is not what the graph was made from has no text, and is listed in `changed`."""

    def __init__(self, store: Store, view: IndexView, root: Path) -> None:
        """`view` has the digests of the files, except of those where it is behind the graph."""
        self._store = store
        self._view = view
        self._root = root
        self._known: dict[str, bytes | None] = {}

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(sorted(path for path, data in self._known.items() if data is None))

    def bytes_of(self, path: str) -> bytes | None:
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def text_of(self, declaration: Declaration) -> str | None:
        data = self.bytes_of(declaration.file)
        if data is None:
            return None
        return data[declaration.start : declaration.end].decode("utf-8", "replace")

    def _read(self, path: str) -> bytes | None:
        row = self._view.files.get(self._view.numbers.get(path, 0))
        digests = [row.digest] if row is not None else self._digests_in_graph(path)
        try:
            data = read_regular(self._root / path, SOURCE_LIMIT, follow=True)
        except OSError:
            return None
        return data if digests == [blake2b(data, digest_size=16).hexdigest()] else None

    def _digests_in_graph(self, path: str) -> list[str]:
        return [row[0] for row in self._store.rows("MATCH (f:File {id: $id}) RETURN f.digest", {"id": path})]
