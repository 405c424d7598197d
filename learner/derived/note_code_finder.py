"""Finds the code that notes are about, by name or by text. `note_step` decides what to do with the result.

Reads the graph and the source files. The text of a file that changed since it was learned is not used, because its
declarations are no longer at the offsets in the graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.knowledge.code_fingerprint import Fingerprint, digest_of, fingerprint
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.learner.checkout.content_digest import digest

MOST_ALIKE: Final = 1_000
"""Limit of declarations with the same signature and length whose texts are compared. If there are more, the code is so
short that equal text means nothing."""
_SYMBOL_COLUMNS: Final = "s.id, s.name, s.qualified_name, s.file, s.start, s.`end`, s.owner, s.kind, s.signature"
_SLACK: Final = {"func": 4, "struct": 4, "interface": 4, "type": 4, "alias": 4}
_MORE_SLACK: Final = 24
"""Bytes by which the same code may differ in length, by kind; `_MORE_SLACK` is for kinds whose code contains the name
of a type or is aligned by gofmt with neighbouring lines."""


class CodeSymbol(NamedTuple):
    id: str
    name: str
    qualified_name: str
    file: str
    start: int
    end: int
    owner: str
    kind: str
    signature: str


class CodeFile(NamedTuple):
    path: str
    digest: str
    shape: str
    package: str


class CodeFinder:
    """Looks up code in one store and its source files. Caches what it reads, so use it for one operation only."""

    def __init__(self, root: Path, store: Store) -> None:
        self._root = root
        self._store = store
        self._texts: dict[str, bytes | None] = {}
        self._fingerprints: dict[str, Fingerprint | None] = {}
        self._files: dict[str, CodeFile | None] = {}
        self._by_name: dict[str, list[CodeSymbol]] = {}

    def symbols(self, ids: Iterable[str]) -> dict[str, CodeSymbol]:
        statement = f"UNWIND $ids AS i MATCH (s:Symbol {{id: i}}) RETURN {_SYMBOL_COLUMNS}"
        wanted = sorted(set(ids))
        return {row[0]: CodeSymbol(*row) for row in self._store.rows(statement, {"ids": wanted})} if wanted else {}

    def files(self, paths: Iterable[str]) -> dict[str, CodeFile]:
        statement = "UNWIND $ids AS i MATCH (f:File {id: i}) RETURN f.id, f.digest, f.shape, f.package"
        requested = set(paths)
        wanted = sorted(requested - self._files.keys())
        if wanted:
            found = {row[0]: CodeFile(*row) for row in self._store.rows(statement, {"ids": wanted})}
            self._files.update((path, found.get(path)) for path in wanted)
        return {path: file for path in requested if (file := self._files[path]) is not None}

    def packages(self, ids: Iterable[str]) -> dict[str, str]:
        """Package id → directory."""
        statement = "UNWIND $ids AS i MATCH (p:Package {id: i}) RETURN p.id, p.dir"
        wanted = sorted(set(ids))
        return {row[0]: row[1] for row in self._store.rows(statement, {"ids": wanted})} if wanted else {}

    def package_in(self, directory: str) -> str:
        """The id of the package in a directory; empty if there is none."""
        statement = "MATCH (p:Package) WHERE p.dir = $dir RETURN p.id ORDER BY p.test, p.id LIMIT 1"
        return next((row[0] for row in self._store.rows(statement, {"dir": directory})), "")

    def symbols_named(self, *names: str) -> list[CodeSymbol]:
        """The declarations with these unqualified names (`Save`). Names that are not cached yet are read in one scan,
        because moving a directory affects many names."""
        wanted = sorted(set(names) - self._by_name.keys())
        if wanted:
            self._by_name.update((name, []) for name in wanted)
            statement = f"MATCH (s:Symbol) WHERE s.name IN $names RETURN {_SYMBOL_COLUMNS}"
            for row in sorted(self._store.rows(statement, {"names": wanted})):
                self._by_name[row[1]].append(_symbol(row))
        return [symbol for name in names for symbol in self._by_name[name]]

    def declared_in(self, paths: Iterable[str]) -> list[CodeSymbol]:
        """The declarations in these files, with those members of their types that are in the same file."""
        wanted = sorted(set(paths))
        found: list[CodeSymbol] = []
        for path in wanted:
            statement = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {_SYMBOL_COLUMNS}"
            top = [_symbol(row) for row in self._store.rows(statement, {"id": path})]
            inner = f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {_SYMBOL_COLUMNS}"
            members = [_symbol(row) for owner in top for row in self._store.rows(inner, {"id": owner.id})]
            found += {symbol.id: symbol for symbol in (*top, *members) if symbol.file == path}.values()
        return found

    def fingerprint_of(self, symbol: CodeSymbol) -> Fingerprint | None:
        """The fingerprint of a declaration; None if its file changed since it was learned."""
        if symbol.id not in self._fingerprints:
            text = self._text(symbol.file)
            self._fingerprints[symbol.id] = None if text is None else _fingerprint_in(text, symbol)
        return self._fingerprints[symbol.id]

    def symbols_like(self, like: Fingerprint) -> list[CodeSymbol] | None:
        """All declarations with the same text apart from their names; None if there are too many to compare."""
        kind, _, tail = like.signature.partition(" ")
        statement = (
            "MATCH (s:Symbol) WHERE s.kind = $kind AND s.signature ENDS WITH $tail "
            "AND abs(s.`end` - s.start - $size - $names * size(s.name)) <= $slack "
            f"RETURN {_SYMBOL_COLUMNS} LIMIT {MOST_ALIKE + 1}"
        )
        slack = _SLACK.get(kind, _MORE_SLACK)
        parameters = {"kind": kind, "tail": tail, "size": like.size, "names": like.names, "slack": slack}
        rows = list(self._store.rows(statement, parameters))
        return None if len(rows) > MOST_ALIKE else self.with_text_of(like, map(_symbol, rows))

    def with_text_of(self, like: Fingerprint, declared: Iterable[CodeSymbol]) -> list[CodeSymbol]:
        """Those of `declared` with the same text apart from their names."""
        candidates = ((symbol, self.fingerprint_of(symbol)) for symbol in declared)
        return sorted(symbol for symbol, own in candidates if own is not None and own.digest == like.digest)

    def files_like(self, file_digest: str, shape: str) -> list[str]:
        """Files with the same digest; if there are none, files with the same shape."""
        for column, value in (("digest", file_digest), ("shape", shape)):
            statement = f"MATCH (f:File) WHERE f.{column} = $value RETURN f.id ORDER BY f.id"
            found = [row[0] for row in self._store.rows(statement, {"value": value})] if value else []
            if found:
                return found
        return []

    def package_shape(self, id: str) -> str:
        """A digest of the shapes of a package's files. It does not depend on the package's directory."""
        statement = "MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File) RETURN f.id, f.shape"
        return _shape(self._store.rows(statement, {"id": id}))

    def packages_like(self, shape: str) -> list[str]:
        """Ids of the packages whose `package_shape` is `shape`."""
        files: defaultdict[str, list[Any]] = defaultdict(list)
        for package, *row in self._store.rows("MATCH (f:File) RETURN f.package, f.id, f.shape"):
            files[package].append(row)
        return sorted(package for package, rows in files.items() if _shape(rows) == shape)

    def _text(self, path: str) -> bytes | None:
        if path not in self._texts:
            known = self.files([path]).get(path)
            try:
                text = read_regular(self._root / path, SOURCE_LIMIT, follow=True)
            except OSError:
                text = b""
            self._texts[path] = text if known is not None and digest(text) == known.digest else None
        return self._texts[path]


def _symbol(row: list[Any]) -> CodeSymbol:
    return CodeSymbol(*row)


def _fingerprint_in(text: bytes, symbol: CodeSymbol) -> Fingerprint:
    owner = symbol.qualified_name.split(".")[-2] if symbol.owner else ""
    return fingerprint(text[symbol.start : symbol.end], symbol.name, owner, symbol.kind, symbol.signature)


def _shape(rows: Iterable[list[Any]]) -> str:
    return digest_of(_lines(rows))


def _lines(rows: Iterable[list[Any]]) -> Iterator[str]:
    return iter(sorted(f"{path.rpartition('/')[2]} {shape}" for path, shape in rows))
