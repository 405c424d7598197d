"""What a note is about, as the graph and the files have it: found again by its name, or else by its text.

Reads the graph and the text of the files it was made from; a file that has changed since is not looked into, as its
declarations are no longer where the graph says. Decides nothing: that is `anchoring`'s affair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.database.store import Store
from golore.graph.knowledge.code_fingerprint import Fingerprint, digest_of, fingerprint
from golore.learner.checkout.discovery import digest

MOST_ALIKE: Final = 1_000
"""Declarations of the same signature and length whose texts are compared. Code of which there are more is so short that
its text says nothing."""
_SYMBOL: Final = "s.id, s.name, s.qualified_name, s.file, s.start, s.`end`, s.owner, s.kind, s.signature"
_SLACK: Final = {"func": 4, "struct": 4, "interface": 4, "type": 4, "alias": 4}
_MORE_SLACK: Final = 24
"""Bytes by which the same code may differ in length: where a type's name is part of it, or gofmt aligns it with what
stands beside it, more than elsewhere."""


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
    """One look at a store and the files beside it. What was read is kept for as long as that takes."""

    def __init__(self, root: Path, store: Store) -> None:
        self._root = root
        self._store = store
        self._texts: dict[str, bytes | None] = {}
        self._likenesses: dict[str, Fingerprint | None] = {}
        self._files: dict[str, CodeFile | None] = {}
        self._bearing: dict[str, list[CodeSymbol]] = {}

    def symbols(self, ids: Iterable[str]) -> dict[str, CodeSymbol]:
        statement = f"UNWIND $ids AS i MATCH (s:Symbol {{id: i}}) RETURN {_SYMBOL}"
        wanted = sorted(set(ids))
        return {row[0]: CodeSymbol(*row) for row in self._store.rows(statement, {"ids": wanted})} if wanted else {}

    def files(self, paths: Iterable[str]) -> dict[str, CodeFile]:
        statement = "UNWIND $ids AS i MATCH (f:File {id: i}) RETURN f.id, f.digest, f.shape, f.package"
        asked = set(paths)
        wanted = sorted(asked - self._files.keys())
        if wanted:
            found = {row[0]: CodeFile(*row) for row in self._store.rows(statement, {"ids": wanted})}
            self._files.update((path, found.get(path)) for path in wanted)
        return {path: file for path in asked if (file := self._files[path]) is not None}

    def packages(self, ids: Iterable[str]) -> dict[str, str]:
        """Directories by id."""
        statement = "UNWIND $ids AS i MATCH (p:Package {id: i}) RETURN p.id, p.dir"
        wanted = sorted(set(ids))
        return {row[0]: row[1] for row in self._store.rows(statement, {"ids": wanted})} if wanted else {}

    def package_in(self, directory: str) -> str:
        """The id of the package in a directory; empty where there is none."""
        statement = "MATCH (p:Package) WHERE p.dir = $dir RETURN p.id ORDER BY p.test, p.id LIMIT 1"
        return next((row[0] for row in self._store.rows(statement, {"dir": directory})), "")

    def bearing(self, *names: str) -> list[CodeSymbol]:
        """The declarations of plain names (`Save`). One scan for all names that were not asked for before, since a
        directory that moves takes many along."""
        wanted = sorted(set(names) - self._bearing.keys())
        if wanted:
            self._bearing.update((name, []) for name in wanted)
            statement = f"MATCH (s:Symbol) WHERE s.name IN $names RETURN {_SYMBOL}"
            for row in sorted(self._store.rows(statement, {"names": wanted})):
                self._bearing[row[1]].append(_declared(row))
        return [one for name in names for one in self._bearing[name]]

    def declared_in(self, paths: Iterable[str]) -> list[CodeSymbol]:
        """The declarations of these files, with the members of their types."""
        wanted = sorted(set(paths))
        found: list[CodeSymbol] = []
        for path in wanted:
            statement = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {_SYMBOL}"
            top = [_declared(row) for row in self._store.rows(statement, {"id": path})]
            inner = f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {_SYMBOL}"
            members = [_declared(row) for one in top for row in self._store.rows(inner, {"id": one.id})]
            found += {one.id: one for one in (*top, *members) if one.file == path}.values()
        return found

    def likeness(self, symbol: CodeSymbol) -> Fingerprint | None:
        """By what a declaration is known again; None where its file is not as it was learned."""
        if symbol.id not in self._likenesses:
            text = self._text(symbol.file)
            self._likenesses[symbol.id] = None if text is None else _likeness(text, symbol)
        return self._likenesses[symbol.id]

    def alike(self, like: Fingerprint) -> list[CodeSymbol] | None:
        """All declarations of the same text but for their names; None where too many would have to be compared."""
        kind, _, end = like.signature.partition(" ")
        statement = (
            "MATCH (s:Symbol) WHERE s.kind = $kind AND s.signature ENDS WITH $tail "
            "AND abs(s.`end` - s.start - $size - $names * size(s.name)) <= $slack "
            f"RETURN {_SYMBOL} LIMIT {MOST_ALIKE + 1}"
        )
        slack = _SLACK.get(kind, _MORE_SLACK)
        given = {"kind": kind, "tail": end, "size": like.size, "names": like.names, "slack": slack}
        rows = list(self._store.rows(statement, given))
        return None if len(rows) > MOST_ALIKE else self.equal(like, map(_declared, rows))

    def equal(self, like: Fingerprint, declared: Iterable[CodeSymbol]) -> list[CodeSymbol]:
        """Those of the same text."""
        known = ((one, self.likeness(one)) for one in declared)
        return sorted(one for one, its in known if its is not None and its.digest == like.digest)

    def files_like(self, file_digest: str, shape: str) -> list[str]:
        """Files of the same bytes; where there are none, of the same shape."""
        for column, value in (("digest", file_digest), ("shape", shape)):
            statement = f"MATCH (f:File) WHERE f.{column} = $value RETURN f.id ORDER BY f.id"
            found = [row[0] for row in self._store.rows(statement, {"value": value})] if value else []
            if found:
                return found
        return []

    def package_shape(self, id: str) -> str:
        """A digest of what the files of a package declare, whatever its directory is called."""
        statement = "MATCH (p:Package {id: $id})-[:CONTAINS]->(f:File) RETURN f.id, f.shape"
        return _shape(self._store.rows(statement, {"id": id}))

    def packages_like(self, shape: str) -> list[str]:
        files: defaultdict[str, list[Any]] = defaultdict(list)
        for package, *row in self._store.rows("MATCH (f:File) RETURN f.package, f.id, f.shape"):
            files[package].append(row)
        return sorted(package for package, rows in files.items() if _shape(rows) == shape)

    def _text(self, path: str) -> bytes | None:
        if path not in self._texts:
            known = self.files([path]).get(path)
            try:
                text = (self._root / path).read_bytes()
            except OSError:
                text = b""
            self._texts[path] = text if known is not None and digest(text) == known.digest else None
        return self._texts[path]


def _declared(row: list[Any]) -> CodeSymbol:
    return CodeSymbol(*row)


def _likeness(text: bytes, symbol: CodeSymbol) -> Fingerprint:
    owner = symbol.qualified_name.split(".")[-2] if symbol.owner else ""
    return fingerprint(text[symbol.start : symbol.end], symbol.name, owner, symbol.kind, symbol.signature)


def _shape(rows: Iterable[list[Any]]) -> str:
    return digest_of(_lines(rows))


def _lines(rows: Iterable[list[Any]]) -> Iterator[str]:
    return iter(sorted(f"{path.rpartition('/')[2]} {shape}" for path, shape in rows))
