"""The texts of the nodes that have vectors, read from the graph: of all nodes, or of some.

Files, declarations, packages, notes and sections of documents have texts (see `embedded_texts`). Tests, generated
files, constants, variables, fields and notes that are no longer active have none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from golore.graph.database.store import Store
from golore.graph.search.embedded_texts import (
    embedded_symbols,
    meaning_texts,
    note_meaning,
    package_meaning,
    section_meaning,
)
from golore.graph.search.index_entries import IndexedSymbol
from golore.graph.search.index_sources import FileAbout, all_declared, declared_in, file_rows

Texts = dict[str, dict[str, str]]
"""Label → id of a node → its text, which is empty if it has none."""


def all_texts(store: Store) -> Texts:
    """The texts of all nodes. Nodes of the graph that are not in the result have none."""
    files = file_rows(store, None)
    symbols = all_declared(store, files)
    found: Texts = {"File": {}, "Symbol": {}}
    for path, about in files.items():
        _add_file(found, path, about, symbols.get(path, ()))
    found["Package"] = {id: package_meaning(id, doc) for id, doc in store.rows("MATCH (p:Package) RETURN p.id, p.doc")}
    statement = "MATCH (n:Note) WHERE n.status = 'active' RETURN n.id, n.text"
    found["Note"] = {id: note_meaning(text) for id, text in store.rows(statement)}
    statement = "MATCH (d:Doc) RETURN d.id, d.title, d.text"
    found["Doc"] = {id: section_meaning(title, text) for id, title, text in store.rows(statement)}
    return found


def texts_of(store: Store, ids: Mapping[str, Collection[str]]) -> Texts:
    """The texts of these nodes, as far as they exist, and those of all declarations in the files among them and in the
    files of the declarations among them."""
    found: Texts = {"File": {}, "Symbol": {}}
    owners = store.rows(
        "UNWIND $ids AS i MATCH (s:Symbol {id: i}) RETURN s.file", {"ids": sorted(ids.get("Symbol", ()))}
    )
    paths = {row[0] for row in owners}.union(ids.get("File", ()))
    for path, about in file_rows(store, paths).items():
        _add_file(found, path, about, declared_in(store, path, about.package))

    def rows(label: str, columns: str) -> Iterable[list[str]]:
        statement = f"UNWIND $ids AS i MATCH (n:{label} {{id: i}}) RETURN {columns}"
        return store.rows(statement, {"ids": sorted(ids[label])}) if ids.get(label) else ()

    found["Package"] = {id: package_meaning(id, doc) for id, doc in rows("Package", "n.id, n.doc")}
    found["Note"] = {
        id: note_meaning(text) if status == "active" else ""
        for id, text, status in rows("Note", "n.id, n.text, n.status")
    }
    found["Doc"] = {id: section_meaning(title, text) for id, title, text in rows("Doc", "n.id, n.title, n.text")}
    return found


def _add_file(found: Texts, path: str, about: FileAbout, symbols: Iterable[IndexedSymbol]) -> None:
    declared = tuple(symbols)
    found["Symbol"].update((_id(one, about), "") for one in declared)
    if about.test or about.generated:
        found["File"][path] = ""
        return
    own, *texts = meaning_texts(path, declared)
    found["File"][path] = own
    for one, text in zip(embedded_symbols(declared), texts, strict=True):
        found["Symbol"][_id(one, about)] = text


def _id(symbol: IndexedSymbol, about: FileAbout) -> str:
    return symbol.id or symbol.qualified_name(about.package)
