"""Writes the graph as a SCIP index (https://github.com/sourcegraph/scip): one document for each Go file, with its
definitions and references, and the documentation and relationships of its symbols.

Every declaration is a definition, and every line of a call, reference, embedding or import is a reference. Columns come
from the files (see `name_positions`), so a file that has changed since it was learned has symbols, but no positions.
Candidates and unresolved uses are not facts and are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, cast

from golore.graph.database.store import Store
from golore.graph.gc_pause import gc_disabled
from golore.graph.model.edge_kinds import EDGE_PROPERTIES, USES
from golore.graph.model.entities import File, Package, Symbol
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.graph.transfer.name_positions import BARE, KEY, MEMBER, QUALIFIED, UNKNOWN, definition_columns, use_columns
from golore.graph.transfer.protobuf import message, number, numbers, text
from golore.graph.transfer.scip_symbols import KINDS, SymbolNames

_DEFINITION, _IMPORT, _WRITE, _READ, _GENERATED, _TEST = 1, 2, 4, 8, 16, 32
"""Bits of `SymbolRole`."""
_ROLES: Final = {"read": _READ, "write": _WRITE, "literal": _WRITE}
_UTF8: Final = 1
_DOT_IMPORT: Final = re.compile(rb'^\s*(?:import\s*)?\.\s*["`]', re.MULTILINE)


class _Use(NamedTuple):
    """A line that uses a symbol. `symbol` is its name in SCIP; for `after`, see `name_positions`."""

    line: int
    symbol: str
    name: str
    is_call: bool
    after: str
    roles: int


class ScipSummary(NamedTuple):
    """What was written. `changed`: files without positions, because they changed since they were learned."""

    documents: int
    definitions: int
    references: int
    changed: tuple[str, ...]


def export_scip(store: Store, root: Path, out: BinaryIO) -> ScipSummary:
    """Write the index, document by document."""
    with gc_disabled():
        names = SymbolNames(store)
        tool = text(1, "golore") + text(2, metadata.version("golore"))
        head = message(2, tool) + text(3, root.resolve().as_uri()) + number(4, _UTF8)
        out.write(message(1, head))
        documents = _Documents(store, root, names)
        for document in documents:
            out.write(message(2, document))
        for information in _external_symbols(store, names):
            out.write(message(3, information))
    return documents.summary


class _Documents:
    """Iterates over the encoded documents, and counts what they contain."""

    def __init__(self, store: Store, root: Path, names: SymbolNames) -> None:
        self._root = root
        self._names = names
        self._files = [cast(File, file) for file in store.nodes("File")]
        self._symbols: dict[str, list[Symbol]] = defaultdict(list)
        for symbol in store.nodes("Symbol"):
            self._symbols[cast(Symbol, symbol).file].append(cast(Symbol, symbol))
        self._uses = _uses_by_file(store, names)
        self._implemented = _implemented(store, names)
        self._packages = {package.id: package for package in map(_as_package, store.nodes("Package"))}
        self._first = {file.package: file.id for file in reversed(self._files)}
        self._changed: list[str] = []
        self._definitions = self._references = 0

    @property
    def summary(self) -> ScipSummary:
        return ScipSummary(len(self._files), self._definitions, self._references, tuple(self._changed))

    def __iter__(self) -> Iterator[bytes]:
        for file in self._files:
            occurrences = b""
            source = self._source(file)
            if source is None:
                self._changed.append(file.path)
            else:
                occurrences = b"".join(self._occurrences(file, source))
            information = b"".join(message(3, one) for one in self._information(file))
            yield text(4, "Go") + text(1, file.path) + occurrences + information + number(6, _UTF8)

    def _source(self, file: File) -> bytes | None:
        """The content that was learned; None if the file has another one now."""
        try:
            data = read_regular(self._root / file.path, SOURCE_LIMIT, follow=True)
        except OSError:
            return None
        return data if blake2b(data, digest_size=16).hexdigest() == file.digest else None

    def _occurrences(self, file: File, source: bytes) -> Iterator[bytes]:
        lines = source.split(b"\n")
        always = (_TEST if file.test else 0) | (_GENERATED if file.generated else 0)
        if self._first[file.package] == file.id:
            yield from self._package_definition(file, lines, always)
        place = _places(source)
        has_dot_import = _DOT_IMPORT.search(source) is not None
        defined: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for symbol in self._symbols[file.id]:
            at = symbol.line - 1
            start, end = definition_columns(lines[at], symbol.name, symbol.kind)
            if not symbol.embedded:  # the name of an embedded field is also a use of its type
                defined[at].append((start, end))
            around = numbers(7, (*place(symbol.start), *place(symbol.end)))
            self._definitions += 1
            yield _occurrence((at, start, end), self._names.symbol(symbol.id), _DEFINITION | always, around)
        for use in self._uses.pop(file.id, ()):
            at = use.line - 1
            own = defined.get(at, ())
            after = UNKNOWN if has_dot_import and use.after == QUALIFIED else use.after
            start, end = use_columns(
                lines[at], use.name, is_call=use.is_call, after=after, above=lines[at - 1] if at else b"", defined=own
            )
            self._references += 1
            yield _occurrence((at, start, end), use.symbol, use.roles | always)

    def _package_definition(self, file: File, lines: list[bytes], always: int) -> Iterator[bytes]:
        """The package is defined by the package clause of its first file."""
        name = self._packages[file.package].name
        for at, line in enumerate(lines):
            if line.startswith(b"package"):
                place = (at, *definition_columns(line, name, "package"))
                yield _occurrence(place, self._names.package(file.package), _DEFINITION | always)
                return

    def _information(self, file: File) -> Iterator[bytes]:
        if self._first[file.package] == file.id:
            package = self._packages[file.package]
            yield _information(self._names.package(package.id), "package", package.name, package.doc)
        for symbol in self._symbols[file.id]:
            relations = b"".join(self._implemented.get(symbol.id, ()))
            about = message(7, text(4, "Go") + text(5, symbol.signature)) if symbol.signature else b""
            owner = text(8, self._names.symbol(symbol.owner)) if symbol.owner else b""
            name = self._names.symbol(symbol.id)
            yield _information(name, symbol.kind, symbol.name, symbol.doc, relations) + about + owner


def _as_package(node: Any) -> Package:
    return cast(Package, node)


def _occurrence(place: tuple[int, int, int], symbol: str, roles: int, around: bytes = b"") -> bytes:
    return message(2, numbers(1, place) + text(2, symbol) + number(3, roles) + around)


def _information(symbol: str, kind: str, name: str, doc: str, relations: bytes = b"") -> bytes:
    return text(1, symbol) + text(3, doc) + relations + number(5, KINDS.get(kind, 0)) + text(6, name)


def _places(source: bytes) -> Callable[[int], tuple[int, int]]:
    """A function from a byte of the source to its line and column."""
    starts = [0]
    at = source.find(b"\n")
    while at >= 0:
        starts.append(at + 1)
        at = source.find(b"\n", at + 1)

    def place(byte: int) -> tuple[int, int]:
        line = bisect_right(starts, byte) - 1
        return line, byte - starts[line]

    return place


def _uses_by_file(store: Store, names: SymbolNames) -> dict[str, list[_Use]]:
    """The uses of symbols and packages in each file, by line."""
    found: dict[str, list[_Use]] = defaultdict(list)
    for label in USES:
        access = "e.access" if "access" in EDGE_PROPERTIES[label] else "''"
        for end, about, name_of in (
            ("Symbol", "b.owner <> '', a.package = b.package", names.symbol),
            ("External", "b.kind IN ['method', 'field', 'imethod'], false", names.external),
        ):
            statement = (
                f"MATCH (a:Symbol)-[e:{label}]->(b:{end}) RETURN a.file, e.sites, {access}, b.id, b.name, {about}"
            )
            for file, sites, accesses, id, name, is_member, is_own in zip(*store.columns(statement), strict=True):
                after = MEMBER if is_member else BARE if is_own else QUALIFIED
                symbol = name_of(id)
                uses = accesses.split()
                roles = [_ROLES.get(one, 0) for one in uses]
                for number_, line in enumerate(sites.split()):
                    role = roles[number_] if roles else 0
                    if uses:
                        after = KEY if uses[number_] == "literal" else MEMBER
                    found[file].append(_Use(int(line), symbol, name, label == "CALLS", after, role))
    for end, name_of in (("Package", names.package), ("External", names.external)):
        path = "b.path" if end == "Package" else "b.id"
        statement = f"MATCH (a:File)-[e:IMPORTS]->(b:{end}) RETURN a.id, e.sites, b.id, {path}"
        for file, sites, id, path in zip(*store.columns(statement), strict=True):
            found[file] += (_Use(int(line), name_of(id), path, False, BARE, _IMPORT) for line in sites.split())
    for uses in found.values():
        uses.sort()
    return found


def _implemented(store: Store, names: SymbolNames) -> dict[str, list[bytes]]:
    """Type or method → relationships to the interfaces that it implements, and to their methods of the same name."""
    found: dict[str, list[bytes]] = defaultdict(list)
    members: dict[str, dict[str, str]] = defaultdict(dict)
    statement = "MATCH (s:Symbol) WHERE s.kind = 'method' OR s.kind = 'imethod' RETURN s.id, s.name, s.owner"
    for id, name, owner in store.rows(statement):
        members[owner][name] = id
    for end, name_of in (("Symbol", names.symbol), ("External", names.external)):
        pairs = store.rows(f"MATCH (a:Symbol)-[:IMPLEMENTS]->(b:{end}) RETURN a.id, b.id")
        for type, interface in sorted(pairs):
            found[type].append(message(4, text(1, name_of(interface)) + number(3, 1)))
            for name, method in members[interface].items() if interface in members else ():
                if own := members[type].get(name) if type in members else None:
                    found[own].append(message(4, text(1, names.symbol(method)) + number(2, 1) + number(3, 1)))
    return found


def _external_symbols(store: Store, names: SymbolNames) -> Iterable[bytes]:
    for id, kind, name in sorted(store.rows("MATCH (e:External) RETURN e.id, e.kind, e.name")):
        yield _information(names.external(id), kind, name, "")
