"""Reads from the graph what the search index is made of: files, their declarations, and short texts such as packages
and notes.

For a few files it queries those and what they contain; for all files it reads the tables column by column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import starmap
from operator import attrgetter
from typing import Any, Final, NamedTuple

from golore.graph.database.graph_tables import GraphTables
from golore.graph.database.store import Store
from golore.graph.database.subgraph import read_meta
from golore.graph.model.entities import Doc, Symbol
from golore.graph.search.index_entries import TEST, IndexedSymbol, ShortText
from golore.graph.search.note_answers import LASTING

_NOT_LASTING: Final = ("note", "task")
KNOWLEDGE: Final = ("note", "doc", "summary")
_PROJECTED_LABELS: Final = ("Note", "Doc", "Summary")
_MAX_ABOUT: Final = 160
_MAX_TEXT: Final = 4_000
_COLUMNS: Final = "s.id, s.kind, s.name, s.qualified_name, s.line, s.signature, s.doc"
_KINDS_WITH_MEMBERS: Final = ("struct", "interface", "type")
_MEMBER_KINDS: Final = ("field", "imethod")


class FileAbout(NamedTuple):
    digest: str
    package_id: str
    package: str
    """its import path"""
    module: str
    test: bool
    generated: bool


def file_rows(store: Store, paths: Collection[str] | None) -> dict[str, FileAbout]:
    """Path → properties, of all files, or of those among `paths` that the graph has."""
    columns = "f.id, f.digest, f.package, f.test, f.generated"
    if paths is None:
        rows: Iterable[list[Any]] = map(list, zip(*store.columns(f"MATCH (f:File) RETURN {columns}"), strict=True))
        found = store.rows("MATCH (p:Package) RETURN p.id, p.path, p.module")
    else:
        statement = f"MATCH (f:File {{id: $id}}) RETURN {columns}"
        rows = [row for path in sorted(paths) for row in store.rows(statement, {"id": path})]
        statement = "MATCH (p:Package {id: $id}) RETURN p.id, p.path, p.module"
        ids = sorted({row[2] for row in rows})
        found = iter([row for id in ids for row in store.rows(statement, {"id": id})])
    packages = {id: (id, path, module) for id, path, module in found}
    return {
        path: FileAbout(digest, *packages[package], bool(test), bool(generated))
        for path, digest, package, test, generated in rows
    }


def declared_in(store: Store, path: str, package: str) -> tuple[IndexedSymbol, ...]:
    """The declarations of one file, in the order of their lines."""
    statement = f"MATCH (f:File {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {_COLUMNS}"
    found = list(store.rows(statement, {"id": path}))
    for id, kind, *_ in list(found):
        if kind in _KINDS_WITH_MEMBERS:
            statement = f"MATCH (o:Symbol {{id: $id}})-[:CONTAINS]->(s:Symbol) RETURN {_COLUMNS}"
            found += [row for row in store.rows(statement, {"id": id}) if row[1] in _MEMBER_KINDS]
    return _in_order(_indexed_symbol(row, package) for row in found)


def all_declared(store: Store, files: dict[str, FileAbout]) -> dict[str, tuple[IndexedSymbol, ...]]:
    """Path → declarations, for every file."""
    found: defaultdict[str, list[IndexedSymbol]] = defaultdict(list)
    for file, *row in zip(*store.columns(f"MATCH (s:Symbol) RETURN s.file, {_COLUMNS}"), strict=True):
        if file in files:
            found[file].append(_indexed_symbol(row, files[file].package))
    return {file: _in_order(rows) for file, rows in found.items()}


def declared_by_file(symbols: Iterable[Symbol], package: str) -> dict[str, tuple[IndexedSymbol, ...]]:
    """Path → declarations, for the rows of one package, before they are stored."""
    found: defaultdict[str, list[IndexedSymbol]] = defaultdict(list)
    for one in symbols:
        row = (one.id, one.kind, one.name, one.qualified_name, one.line, one.signature, one.doc)
        found[one.file].append(_indexed_symbol(row, package))
    return {file: _in_order(rows) for file, rows in found.items()}


def texts_mark(store: Store) -> str:
    """A mark that changes when notes, documents or summaries may have changed."""
    return _texts_mark(lambda name: read_meta(store, name))


def spooled_texts_mark(meta: Mapping[str, str]) -> str:
    """The `texts_mark` of a graph that will have these meta rows."""
    return _texts_mark(lambda name: meta.get(name, ""))


def _texts_mark(value_of: Callable[[str], str]) -> str:
    return "\n".join(value_of(f"projected {label}") for label in _PROJECTED_LABELS)


def package_texts(store: Store, ids: Collection[str] | None = None) -> Iterator[ShortText]:
    """All packages, or those among `ids` that the graph has."""
    columns = "p.id, p.path, p.name, p.dir, p.doc, p.test"
    if ids is None:
        rows = store.rows(f"MATCH (p:Package) RETURN {columns} ORDER BY p.id")
    else:
        statement = f"MATCH (p:Package {{id: $id}}) RETURN {columns}"
        rows = iter([row for id in sorted(ids) for row in store.rows(statement, {"id": id})])
    return starmap(_package_text, rows)


def spooled_texts(tables: GraphTables, documents: Iterable[Doc]) -> Iterator[ShortText]:
    """The texts of a graph that is being loaded into a store without notes and summaries, in the order of
    `package_texts` and `knowledge_texts`."""
    names = ("id", "path", "name", "dir", "doc", "test")
    packages = zip(*tables.node_columns("Package", names)[1:], strict=True)
    yield from starmap(_package_text, sorted(packages))
    for document in sorted(documents):
        yield _document_text(document.id, document.path, document.title, document.line, document.text)


def _package_text(id: str, path: str, name: str, directory: str, doc: str, test: bool) -> ShortText:
    title = f"package {name}" if path == id else f"package {name} {path}"
    return ShortText("package", id, f"{directory or '.'}/", 0, title, _cut(doc), TEST * bool(test))


def _document_text(id: str, path: str, title: str, line: int, text: str) -> ShortText:
    return ShortText("doc", id, path, line, title, _cut(text))


def knowledge_texts(store: Store) -> Iterator[ShortText]:
    """Active notes, documents, and current summaries except those of symbols, which would outnumber the rest."""
    columns = "n.id, n.kind, n.text, n.subject, n.drifted"
    statement = f"MATCH (n:Note) WHERE n.status = 'active' RETURN {columns} ORDER BY n.id"
    described = _described(store)
    for id, kind, text, subject, drifted in store.rows(statement):
        name, file, line = described.get(id, (subject, "", 0))
        title = f"{kind}{f', {drifted}' if drifted else ''}: {name}"
        yield ShortText("note", id, file, line, title, _cut(text), 0 if kind in _NOT_LASTING else LASTING)
    statement = "MATCH (d:Doc) RETURN d.id, d.path, d.title, d.line, d.text ORDER BY d.id"
    yield from starmap(_document_text, store.rows(statement))
    statement = (
        "MATCH (s:Summary) WHERE s.level <> 'symbol' AND s.status = 'current' "
        "RETURN s.id, s.subject, s.level, s.text ORDER BY s.id"
    )
    for id, subject, level, text in store.rows(statement):
        yield ShortText("summary", id, _file_of(subject), 0, f"{level} {subject}", _cut(text))


def _described(store: Store) -> dict[str, tuple[str, str, int]]:
    """Note id → the name, file and line of what the note is about."""
    columns = {
        "Symbol": "b.qualified_name, b.file, b.line",
        "File": "b.path, b.id, 0",
        "Package": "b.path, b.dir, -1",
        "Repository": "b.name, '', 0",
    }
    found: dict[str, tuple[str, str, int]] = {}
    for label, chosen in columns.items():
        for id, name, file, line in store.rows(f"MATCH (n:Note)-[:DESCRIBES]->(b:{label}) RETURN n.id, {chosen}"):
            found[id] = (name, file, line) if line >= 0 else (name, f"{file or '.'}/", 0)
    return found


def _indexed_symbol(row: Iterable[Any], package: str) -> IndexedSymbol:
    id, kind, name, qualified, line, signature, doc = row
    beginning = f"{package}."
    local = qualified.removeprefix(beginning)
    return IndexedSymbol(kind, name, local, line, about(signature, doc), "" if id == beginning + local else id)


def _in_order(found: Iterable[IndexedSymbol]) -> tuple[IndexedSymbol, ...]:
    return tuple(sorted(found, key=attrgetter("line", "local", "kind", "id")))


def about(first: str, doc: str) -> str:
    """One line: what something is, then its description, cut at 160 characters."""
    description = " ".join(doc.split())
    text = f"{first} — {description}" if description and first else first or description
    return text if len(text) <= _MAX_ABOUT else f"{text[: _MAX_ABOUT - 1]}…"


def _file_of(subject: str) -> str:
    return subject if subject.endswith((".go", "/", ".md")) else ""


def _cut(text: str) -> str:
    return text[:_MAX_TEXT]
