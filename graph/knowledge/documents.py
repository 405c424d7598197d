"""The documents of a repository in `cache.db`: their sections, the names in them, and the nodes that these names mean.

They are also in the graph, as `Doc` nodes with `DESCRIBES` edges. Here they can be looked up by card path, for cards,
and by the names they use, for updates after an edit. All of it can be derived again from the files and the graph; when
the version of the tables changes, the old tables are dropped. `golore.learner.documents` reads and links the documents.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.files.cache_tables import CacheTables, OpenTables, open_tables, read_table_meta, transaction
from golore.graph.files.file_state import FileState
from golore.graph.phrases import listed

_VERSION: Final = "2"
_BATCH: Final = 500
_MAX_SECTIONS: Final = 5
"""Sections that a card lists."""
_MAX_NAMES: Final = 3
_MAX_TITLE: Final = 80
_TABLES: Final = {
    "document_pages": (
        "(path TEXT PRIMARY KEY, digest TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, "
        "ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, links TEXT NOT NULL, content BLOB NOT NULL)"
    ),
    "document_keys": "(key TEXT NOT NULL, path TEXT NOT NULL, PRIMARY KEY(key, path)) WITHOUT ROWID",
    "document_targets": (
        "(key TEXT NOT NULL, label TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, "
        "file TEXT NOT NULL, dir TEXT NOT NULL, package TEXT NOT NULL, package_name TEXT NOT NULL, "
        "PRIMARY KEY(key, label, id)) WITHOUT ROWID"
    ),
    "document_links": (
        "(path TEXT NOT NULL, section TEXT NOT NULL, title TEXT NOT NULL, line INTEGER NOT NULL, "
        "record INTEGER NOT NULL, status TEXT NOT NULL, label TEXT NOT NULL, target TEXT NOT NULL, "
        "name TEXT NOT NULL, place TEXT NOT NULL, evidence TEXT NOT NULL, sites TEXT NOT NULL)"
    ),
    "document_files": "(path TEXT PRIMARY KEY, appearance TEXT NOT NULL) WITHOUT ROWID",
    "document_examples": (
        "(file TEXT NOT NULL, name TEXT NOT NULL, line INTEGER NOT NULL, dir TEXT NOT NULL, subject TEXT NOT NULL, "
        "place TEXT NOT NULL)"
    ),
}
_INDEXES: Final = (
    "CREATE INDEX document_keys_by_path ON document_keys(path)",
    "CREATE INDEX document_targets_by_file ON document_targets(file)",
    "CREATE INDEX document_links_by_place ON document_links(place)",
    "CREATE INDEX document_links_by_path ON document_links(path)",
    "CREATE INDEX document_examples_by_place ON document_examples(place)",
    "CREATE INDEX document_examples_by_dir ON document_examples(dir)",
)


_DOCUMENT_TABLES: Final = CacheTables(_VERSION, "document_notes", _TABLES, _INDEXES)


class StoredDocument(NamedTuple):
    """A document as it was read, with its state as `state_to_record` returns it. `links` is the digest of the
    document's links, empty until it is linked."""

    path: str
    digest: str
    state: FileState
    links: str


class DocumentLink(NamedTuple):
    """A section describes the node `target`, and the card at `card_path` shows it."""

    path: str
    section: str
    title: str
    line: int
    record: bool
    status: str
    label: str
    target: str
    name: str
    card_path: str
    evidence: str
    sites: tuple[int, ...]


class Example(NamedTuple):
    """An example function. `subject` has the ids of the nodes that it may be about, one per line, the most specific
    first; `card_path` is the card of the one that exists, empty if none does."""

    file: str
    name: str
    line: int
    dir: str
    subject: str
    card_path: str


class DocumentIndex(OpenTables):
    """Open it with `open_document_index` and use it as a context manager."""

    def transaction(self) -> AbstractContextManager[None]:
        """Commits all writes of the block, or none."""
        return transaction(self._connection)

    def meta(self, name: str) -> str:
        return read_table_meta(self._connection, _DOCUMENT_TABLES, name)

    def set_meta(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO document_notes VALUES (?, ?)", (name, value))

    def pages(self) -> dict[str, StoredDocument]:
        rows = self._connection.execute(
            "SELECT path, digest, links, size, mtime_ns, ctime_ns, inode FROM document_pages ORDER BY path"
        )
        return {row[0]: StoredDocument(row[0], row[1], FileState(*row[3:]), row[2]) for row in rows}

    def contents(self, paths: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """Path and stored content of each of these documents."""
        return self._select_in("SELECT path, content FROM document_pages WHERE path IN", paths)

    def put(self, page: StoredDocument, content: bytes, keys: Iterable[str]) -> None:
        run = self._connection
        row = (page.path, page.digest, *page.state, page.links, content)
        run.execute("INSERT OR REPLACE INTO document_pages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        run.execute("DELETE FROM document_keys WHERE path = ?", (page.path,))
        run.executemany("INSERT INTO document_keys VALUES (?, ?)", ((key, page.path) for key in keys))

    def confirm(self, page: StoredDocument) -> None:
        """Store the state of a document whose text has not changed."""
        statement = "UPDATE document_pages SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE path = ?"
        self._connection.execute(statement, (*page.state, page.path))

    def remove(self, paths: Iterable[str]) -> None:
        rows = [(path,) for path in paths]
        for table in ("document_pages", "document_keys", "document_links"):
            self._connection.executemany(f"DELETE FROM {table} WHERE path = ?", rows)

    def clear(self) -> None:
        """Delete everything but the version."""
        for table in _TABLES:
            self._connection.execute(f"DELETE FROM {table}")
        self._connection.execute("DELETE FROM document_notes WHERE name <> 'version'")

    def keys(self) -> set[str]:
        """All keys by which documents name nodes."""
        return {key for (key,) in self._connection.execute("SELECT DISTINCT key FROM document_keys")}

    @property
    def is_linked(self) -> bool:
        """Whether every document has been linked since it was read."""
        return self._connection.execute("SELECT 1 FROM document_pages WHERE links = '' LIMIT 1").fetchone() is None

    @property
    def link_count(self) -> int:
        return self._connection.execute("SELECT count(*) FROM document_links").fetchone()[0]

    def documents_using(self, keys: Collection[str]) -> set[str]:
        """The paths of the documents that use one of these keys."""
        return {path for (path,) in self._select_in("SELECT path FROM document_keys WHERE key IN", keys)}

    def targets(self, keys: Collection[str]) -> Iterator[tuple[str, ...]]:
        """Rows of key and node, as they were stored, in a fixed order for each key."""
        return self._select_in("SELECT * FROM document_targets WHERE key IN", keys)

    def all_targets(self) -> set[tuple[str, ...]]:
        return set(self._connection.execute("SELECT * FROM document_targets"))

    def targets_in(self, files: Collection[str]) -> set[tuple[str, ...]]:
        """The rows of these files and of their declarations."""
        return set(self._select_in("SELECT * FROM document_targets WHERE file IN", files))

    def packages_at(self, directories: Collection[str]) -> set[tuple[str, ...]]:
        statement = "SELECT * FROM document_targets WHERE label = 'Package' AND dir IN"
        return set(self._select_in(statement, directories))

    def change_targets(self, removed: Iterable[tuple[str, ...]], added: Iterable[tuple[str, ...]]) -> None:
        statement = "DELETE FROM document_targets WHERE key = ? AND label = ? AND id = ?"
        self._connection.executemany(statement, (row[:3] for row in removed))
        placeholders = ", ".join("?" * 9)
        self._connection.executemany(f"INSERT OR REPLACE INTO document_targets VALUES ({placeholders})", added)

    def links(self, paths: Collection[str]) -> Iterator[DocumentLink]:
        return map(_link, self._select_in("SELECT * FROM document_links WHERE path IN", paths))

    def set_links(self, path: str, digest: str, links: Iterable[DocumentLink]) -> None:
        run = self._connection
        run.execute("DELETE FROM document_links WHERE path = ?", (path,))
        run.execute("UPDATE document_pages SET links = ? WHERE path = ?", (digest, path))
        placeholders = ", ".join("?" * len(DocumentLink._fields))
        rows = ((*link[:-1], " ".join(map(str, link.sites))) for link in links)
        run.executemany(f"INSERT INTO document_links VALUES ({placeholders})", rows)

    def appearance(self, file: str) -> str:
        """The appearance of a Go file (its shape and its examples) when its declarations were last read from the graph;
        empty if it is not known."""
        statement = "SELECT appearance FROM document_files WHERE path = ?"
        found = self._connection.execute(statement, (file,)).fetchone()
        return found[0] if found else ""

    def set_appearances(self, files: Mapping[str, str], *, is_all: bool) -> None:
        """Store these appearances; with `is_all`, delete all others."""
        if is_all:
            self._connection.execute("DELETE FROM document_files")
        self._connection.executemany("INSERT OR REPLACE INTO document_files VALUES (?, ?)", files.items())

    def examples(self, directories: Collection[str] | None = None) -> list[Example]:
        if directories is None:
            rows = self._connection.execute("SELECT * FROM document_examples")
        else:
            rows = self._select_in("SELECT * FROM document_examples WHERE dir IN", directories)
        return [Example(*row) for row in rows]

    def set_examples(self, directories: Collection[str] | None, examples: Iterable[Example]) -> None:
        """Replace the examples of these directories, or all of them if `directories` is None."""
        if directories is None:
            self._connection.execute("DELETE FROM document_examples")
        else:
            rows = ((directory,) for directory in directories)
            self._connection.executemany("DELETE FROM document_examples WHERE dir = ?", rows)
        self._connection.executemany("INSERT INTO document_examples VALUES (?, ?, ?, ?, ?, ?)", examples)

    def card_paths(self) -> set[str]:
        """The card paths that have documents or examples."""
        statement = "SELECT place FROM document_links UNION SELECT place FROM document_examples WHERE place <> ''"
        return {card_path for (card_path,) in self._connection.execute(statement)}

    def links_at(self, card_path: str) -> list[DocumentLink]:
        """The links to a file and its declarations, or to a package ("dir/")."""
        statement = "SELECT * FROM document_links WHERE place = ? ORDER BY path, line, section, label, target"
        return list(map(_link, self._connection.execute(statement, (card_path,))))

    def examples_at(self, card_path: str) -> list[Example]:
        statement = "SELECT * FROM document_examples WHERE place = ? ORDER BY subject, file, line, name"
        return [Example(*row) for row in self._connection.execute(statement, (card_path,))]

    def links_to(self, ids: Collection[str]) -> list[DocumentLink]:
        """The links to these nodes, sorted."""
        return sorted(map(_link, self._select_in("SELECT * FROM document_links WHERE target IN", ids)))

    def examples_of(self, ids: Collection[str]) -> list[Example]:
        """The examples that are named after these nodes."""
        wanted = set(ids)
        rows = self._connection.execute("SELECT * FROM document_examples WHERE place <> '' ORDER BY file, line, name")
        return [Example(*row) for row in rows if str(row[4]).partition("\n")[0] in wanted]

    def _select_in(self, statement: str, values: Collection[str]) -> Iterator[Any]:
        wanted = sorted(values)
        for start in range(0, len(wanted), _BATCH):
            batch = wanted[start : start + _BATCH]
            yield from self._connection.execute(f"{statement} ({','.join('?' * len(batch))})", batch)


def open_document_index(store_directory: Path, *, write: bool = True) -> DocumentIndex | None:
    """The documents of a store. A reader gets None if there are no tables of this version; a writer creates them."""
    connection = open_tables(store_directory, _DOCUMENT_TABLES, write=write)
    return DocumentIndex(connection) if connection is not None else None


def create_document_index(store_directory: Path) -> DocumentIndex:
    document_index = open_document_index(store_directory)
    assert document_index is not None
    return document_index


def _link(row: Sequence[Any]) -> DocumentLink:
    link = DocumentLink(*row)
    return link._replace(record=bool(link.record), sites=tuple(map(int, str(row[-1]).split())))


class DocumentLines:
    """The lines about documents on cards, looked up by card path or symbol. Call `close` after use."""

    def __init__(self, store_directory: Path) -> None:
        self._index = open_document_index(store_directory, write=False)
        self._card_paths = self._index.card_paths() if self._index is not None else set[str]()

    def close(self) -> None:
        if self._index is not None:
            self._index.close()

    def lines_at(self, card_path: str) -> tuple[str, ...]:
        """A line for each section about the file or package, decisions first, then by weight; then the examples."""
        if self._index is None or card_path not in self._card_paths:
            return ()
        return document_lines(self._index.links_at(card_path), self._index.examples_at(card_path))

    def lines_of(self, ids: Collection[str]) -> tuple[str, ...]:
        """Like `lines_at`, for symbols given by id."""
        if self._index is None:
            return ()
        return document_lines(self._index.links_to(ids), self._index.examples_of(ids))


def lines_about(store_directory: Path, card_path: str) -> tuple[str, ...]:
    documents = DocumentLines(store_directory)
    try:
        return documents.lines_at(card_path)
    finally:
        documents.close()


def document_lines(links: Sequence[DocumentLink], examples: Sequence[Example]) -> tuple[str, ...]:
    by_section: dict[tuple[str, str], list[DocumentLink]] = {}
    for link in links:
        by_section.setdefault((link.path, link.section), []).append(link)
    ordered = sorted(
        by_section.values(),
        key=lambda section: (not section[0].record, -_weight(section), section[0].path, section[0].line),
    )
    lines = [_section_line(section) for section in ordered[:_MAX_SECTIONS]]
    if len(ordered) > _MAX_SECTIONS:
        lines.append(f"{len(ordered) - _MAX_SECTIONS:,} more sections of documents")
    if examples:
        lines.append(f"examples: {listed([f'{one.name} ({one.file}:{one.line})' for one in examples], _MAX_NAMES)}")
    return tuple(lines)


def _weight(links: Sequence[DocumentLink]) -> int:
    """A section weighs more if it names the file or package itself, or many of its declarations."""
    return sum(3 if link.label != "Symbol" else 1 for link in links)


def _section_line(links: Sequence[DocumentLink]) -> str:
    first = links[0]
    title = first.title if len(first.title) <= _MAX_TITLE else f"{first.title[: _MAX_TITLE - 1].rstrip()}…"
    title = title.replace("“", '"').replace("”", '"')
    kind = f" (decision{f', {first.status}' if first.status else ''})" if first.record else ""
    names = [_short(link.name) for link in links if link.label == "Symbol"]
    about = f": {listed(names, _MAX_NAMES)}" if names else ""
    return f"{first.path}:{first.line} “{title}”{kind}{about}"


def _short(name: str) -> str:
    """A qualified name as its own package writes it: `Memory.Save`."""
    return name.rpartition("/")[2].partition(".")[2] or name
