"""The documents of a repository in `cache.db`: their sections, what they name, and what that means in the graph.

They are in the graph, too, as `Doc` nodes with `DESCRIBES` edges; here they are found by the place they speak of, which
is what a card needs, and by the names they use, which is what an edit needs. All of it can be made again from the files
and the graph; when the format changes, the old tables are dropped. How documents are read is `golore.learner`'s affair.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple

from golore.graph.files.cache_tables import CacheTables, OpenTables, open_tables, read_table_meta, transaction
from golore.graph.phrases import listed

_VERSION: Final = "1"
_BATCH: Final = 500
_MOST: Final = 5
"""Documents that a card names."""
_NAMES: Final = 3
_TITLE: Final = 80
_TABLES: Final = {
    "document_pages": (
        "(path TEXT PRIMARY KEY, digest TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, "
        "links TEXT NOT NULL, content BLOB NOT NULL)"
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


_DRAWER: Final = CacheTables(_VERSION, "document_notes", _TABLES, _INDEXES)


class StoredDocument(NamedTuple):
    """A document as it was read. A time of 0 is one not to be believed; `links` is a digest of what it describes."""

    path: str
    digest: str
    size: int
    mtime_ns: int
    links: str


class DocumentLink(NamedTuple):
    """That a section describes a node, which belongs to the card of `place`."""

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
    """A function that shows how something is used: the node it is about, and the place that this is declared in."""

    file: str
    name: str
    line: int
    dir: str
    subject: str
    card_path: str


class DocumentIndex(OpenTables):
    """Open it with `open_document_index` and use it as a context manager."""

    def transaction(self) -> AbstractContextManager[None]:
        """All of a block's writes, or none of them."""
        return transaction(self._run)

    def meta(self, name: str) -> str:
        return read_table_meta(self._run, _DRAWER, name)

    def set_meta(self, name: str, value: str) -> None:
        self._run.execute("INSERT OR REPLACE INTO document_notes VALUES (?, ?)", (name, value))

    def pages(self) -> dict[str, StoredDocument]:
        rows = self._run.execute("SELECT path, digest, size, mtime_ns, links FROM document_pages ORDER BY path")
        return {row[0]: StoredDocument(*row) for row in rows}

    def contents(self, paths: Collection[str]) -> Iterator[tuple[str, bytes]]:
        """What was read of these documents."""
        return self._among("SELECT path, content FROM document_pages WHERE path IN", paths)

    def put(self, page: StoredDocument, content: bytes, keys: Iterable[str]) -> None:
        run = self._run
        run.execute("INSERT OR REPLACE INTO document_pages VALUES (?, ?, ?, ?, ?, ?)", (*page, content))
        run.execute("DELETE FROM document_keys WHERE path = ?", (page.path,))
        run.executemany("INSERT INTO document_keys VALUES (?, ?)", ((key, page.path) for key in keys))

    def confirm(self, page: StoredDocument) -> None:
        """Keep the size and time of a document whose text is as it was."""
        statement = "UPDATE document_pages SET size = ?, mtime_ns = ? WHERE path = ?"
        self._run.execute(statement, (page.size, page.mtime_ns, page.path))

    def remove(self, paths: Iterable[str]) -> None:
        rows = [(path,) for path in paths]
        for table in ("document_pages", "document_keys", "document_links"):
            self._run.executemany(f"DELETE FROM {table} WHERE path = ?", rows)

    def clear(self) -> None:
        """Forget everything but the format."""
        for table in _TABLES:
            self._run.execute(f"DELETE FROM {table}")
        self._run.execute("DELETE FROM document_notes WHERE name <> 'version'")

    def keys(self) -> set[str]:
        """By what nodes are looked for that documents may mean."""
        return {key for (key,) in self._run.execute("SELECT DISTINCT key FROM document_keys")}

    @property
    def is_linked(self) -> bool:
        """Whether no document has been read without being linked since."""
        return self._run.execute("SELECT 1 FROM document_pages WHERE links = '' LIMIT 1").fetchone() is None

    @property
    def link_count(self) -> int:
        return self._run.execute("SELECT count(*) FROM document_links").fetchone()[0]

    def using(self, keys: Collection[str]) -> set[str]:
        """The documents that name something by one of these."""
        return {path for (path,) in self._among("SELECT path FROM document_keys WHERE key IN", keys)}

    def targets(self, keys: Collection[str]) -> Iterator[tuple[str, ...]]:
        """Key and node, as they were put, in a fixed order for each key."""
        return self._among("SELECT * FROM document_targets WHERE key IN", keys)

    def all_targets(self) -> set[tuple[str, ...]]:
        return set(self._run.execute("SELECT * FROM document_targets"))

    def targets_in(self, files: Collection[str]) -> set[tuple[str, ...]]:
        """The declarations in these files, and the files themselves."""
        return set(self._among("SELECT * FROM document_targets WHERE file IN", files))

    def packages_at(self, directories: Collection[str]) -> set[tuple[str, ...]]:
        statement = "SELECT * FROM document_targets WHERE label = 'Package' AND dir IN"
        return set(self._among(statement, directories))

    def change_targets(self, removed: Iterable[tuple[str, ...]], added: Iterable[tuple[str, ...]]) -> None:
        statement = "DELETE FROM document_targets WHERE key = ? AND label = ? AND id = ?"
        self._run.executemany(statement, (row[:3] for row in removed))
        marks = ", ".join("?" * 9)
        self._run.executemany(f"INSERT OR REPLACE INTO document_targets VALUES ({marks})", added)

    def links(self, paths: Collection[str]) -> Iterator[DocumentLink]:
        return map(_link, self._among("SELECT * FROM document_links WHERE path IN", paths))

    def set_links(self, path: str, digest: str, links: Iterable[DocumentLink]) -> None:
        run = self._run
        run.execute("DELETE FROM document_links WHERE path = ?", (path,))
        run.execute("UPDATE document_pages SET links = ? WHERE path = ?", (digest, path))
        marks = ", ".join("?" * len(DocumentLink._fields))
        rows = ((*link[:-1], " ".join(map(str, link.sites))) for link in links)
        run.executemany(f"INSERT INTO document_links VALUES ({marks})", rows)

    def appearance(self, file: str) -> str:
        """How a Go file looked when what it declares was last taken from the graph; empty where that is not known."""
        statement = "SELECT appearance FROM document_files WHERE path = ?"
        found = self._run.execute(statement, (file,)).fetchone()
        return found[0] if found else ""

    def set_appearances(self, files: Mapping[str, str], *, is_all: bool) -> None:
        """Remember these; with `is_all`, no others."""
        if is_all:
            self._run.execute("DELETE FROM document_files")
        self._run.executemany("INSERT OR REPLACE INTO document_files VALUES (?, ?)", files.items())

    def examples(self, directories: Collection[str] | None = None) -> list[Example]:
        if directories is None:
            rows = self._run.execute("SELECT * FROM document_examples")
        else:
            rows = self._among("SELECT * FROM document_examples WHERE dir IN", directories)
        return [Example(*row) for row in rows]

    def set_examples(self, directories: Collection[str] | None, examples: Iterable[Example]) -> None:
        """Those of these directories, or all of them."""
        if directories is None:
            self._run.execute("DELETE FROM document_examples")
        else:
            rows = ((directory,) for directory in directories)
            self._run.executemany("DELETE FROM document_examples WHERE dir = ?", rows)
        self._run.executemany("INSERT INTO document_examples VALUES (?, ?, ?, ?, ?, ?)", examples)

    def places(self) -> set[str]:
        """What some document or example is about."""
        statement = "SELECT place FROM document_links UNION SELECT place FROM document_examples WHERE place <> ''"
        return {place for (place,) in self._run.execute(statement)}

    def at(self, place: str) -> list[DocumentLink]:
        """What describes a file, its declarations, or a package ("dir/")."""
        statement = "SELECT * FROM document_links WHERE place = ? ORDER BY path, line, section, label, target"
        return list(map(_link, self._run.execute(statement, (place,))))

    def examples_at(self, place: str) -> list[Example]:
        statement = "SELECT * FROM document_examples WHERE place = ? ORDER BY subject, file, line, name"
        return [Example(*row) for row in self._run.execute(statement, (place,))]

    def about(self, ids: Collection[str]) -> list[DocumentLink]:
        """What describes these nodes themselves."""
        return sorted(map(_link, self._among("SELECT * FROM document_links WHERE target IN", ids)))

    def examples_of(self, ids: Collection[str]) -> list[Example]:
        """Those whose names say that they show these."""
        wanted = set(ids)
        rows = self._run.execute("SELECT * FROM document_examples WHERE place <> '' ORDER BY file, line, name")
        return [Example(*row) for row in rows if str(row[4]).partition("\n")[0] in wanted]

    def _among(self, statement: str, values: Collection[str]) -> Iterator[Any]:
        wanted = sorted(values)
        for at in range(0, len(wanted), _BATCH):
            batch = wanted[at : at + _BATCH]
            yield from self._run.execute(f"{statement} ({','.join('?' * len(batch))})", batch)


def open_document_index(store_directory: Path, *, write: bool = True) -> DocumentIndex | None:
    """The documents of a store. A reader gets None where there are none; a writer makes the tables."""
    connection = open_tables(store_directory, _DRAWER, write=write)
    return DocumentIndex(connection) if connection is not None else None


def create_document_index(store_directory: Path) -> DocumentIndex:
    document_index = open_document_index(store_directory)
    assert document_index is not None
    return document_index


def _link(row: Sequence[Any]) -> DocumentLink:
    link = DocumentLink(*row)
    return link._replace(record=bool(link.record), sites=tuple(map(int, str(row[-1]).split())))


class DocumentLines:
    """What documents there are to name on cards, looked up by place. Use it as a context manager."""

    def __init__(self, store_directory: Path) -> None:
        self._shelf = open_document_index(store_directory, write=False)
        self._places = self._shelf.places() if self._shelf is not None else set[str]()

    def close(self) -> None:
        if self._shelf is not None:
            self._shelf.close()

    def lines_at(self, place: str) -> tuple[str, ...]:
        """A line for each document that describes the place, decisions first, then what says most of it."""
        if self._shelf is None or place not in self._places:
            return ()
        return document_lines(self._shelf.at(place), self._shelf.examples_at(place))

    def lines_of(self, ids: Collection[str]) -> tuple[str, ...]:
        """The same for symbols."""
        if self._shelf is None:
            return ()
        return document_lines(self._shelf.about(ids), self._shelf.examples_of(ids))


def lines_about(store_directory: Path, place: str) -> tuple[str, ...]:
    told = DocumentLines(store_directory)
    try:
        return told.lines_at(place)
    finally:
        told.close()


def document_lines(links: Sequence[DocumentLink], examples: Sequence[Example]) -> tuple[str, ...]:
    by_section: dict[tuple[str, str], list[DocumentLink]] = {}
    for link in links:
        by_section.setdefault((link.path, link.section), []).append(link)
    ordered = sorted(
        by_section.values(), key=lambda some: (not some[0].record, -_weight(some), some[0].path, some[0].line)
    )
    lines = [_section_line(some) for some in ordered[:_MOST]]
    if len(ordered) > _MOST:
        lines.append(f"{len(ordered) - _MOST:,} more sections of documents")
    if examples:
        lines.append(f"examples: {listed([f'{one.name} ({one.file}:{one.line})' for one in examples], _NAMES)}")
    return tuple(lines)


def _weight(links: Sequence[DocumentLink]) -> int:
    """A section that names the file itself, or much in it, says more of it."""
    return sum(3 if link.label != "Symbol" else 1 for link in links)


def _section_line(links: Sequence[DocumentLink]) -> str:
    first = links[0]
    title = first.title if len(first.title) <= _TITLE else f"{first.title[: _TITLE - 1].rstrip()}…"
    title = title.replace("“", '"').replace("”", '"')
    kind = f" (decision{f', {first.status}' if first.status else ''})" if first.record else ""
    names = [_short(link.name) for link in links if link.label == "Symbol"]
    about = f": {listed(names, _NAMES)}" if names else ""
    return f"{first.path}:{first.line} “{title}”{kind}{about}"


def _short(name: str) -> str:
    """A qualified name as its own package writes it."""
    return name.rpartition("/")[2].partition(".")[2] or name
