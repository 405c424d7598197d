"""The search index in `cache.db`: which terms, names and commits lead to which files. Tables and writes; no ranking.

A file is one document: the terms of its text, its path and the names it declares, and the declarations themselves.
The index also has commits (see `past_commits`) and short texts: packages, notes, sections of documents, summaries.
Each write is one transaction that also records the graph it was made from, so that a reader can detect an index that is
behind. The index can be made again from the graph, the files and git; one of another version is dropped and rebuilt.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import merge
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from golore.graph.compression import decompress
from golore.graph.errors import StoreError
from golore.graph.files.cache_tables import CacheTables, OpenTables, open_tables, transaction
from golore.graph.search import postings
from golore.graph.search.embedded_texts import KEY_BYTES
from golore.graph.search.index_entries import (
    NOTHING,
    FileRow,
    FileText,
    IndexedSymbol,
    IndexEntry,
    ShortText,
    TextRow,
    entry_of,
    names_of,
    text_counts,
    text_key,
)
from golore.graph.search.postings import PostingLists, Postings, packed_counts

if TYPE_CHECKING:
    from golore.graph.search.index_parts import IndexPart, StoredFile

FILES: Final = 0
COMMITS: Final = 1
TEXTS: Final = 2
"""What the documents of a posting are: values of the column `room` of `search_terms`."""
GRAPH: Final = "graph"
"""Name of the meta row that identifies the graph which the index was made from."""
HEAD: Final = "head"
"""Name of the meta row that has the HEAD at which the commits were read."""
HISTORY: Final = "history"
"""Name of the meta row that has the commits."""
_WAIT: Final = 5.0
_AT_ONCE: Final = 200
_ROWS_AT_ONCE: Final = 64
_TABLES: Final = {
    "search_files": (
        "(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, package TEXT NOT NULL, "
        "module TEXT NOT NULL, flags INTEGER NOT NULL, length INTEGER NOT NULL, path_length INTEGER NOT NULL, "
        "name_length INTEGER NOT NULL)"
    ),
    "search_contents": "(id INTEGER PRIMARY KEY, terms BLOB NOT NULL, symbols BLOB NOT NULL)",
    "search_terms": (
        "(term TEXT NOT NULL, room INTEGER NOT NULL, postings BLOB NOT NULL, PRIMARY KEY(term, room)) WITHOUT ROWID"
    ),
    "search_names": "(name TEXT PRIMARY KEY, backwards TEXT NOT NULL, files BLOB NOT NULL) WITHOUT ROWID",
    "search_texts": (
        "(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL, "
        "title TEXT NOT NULL, text TEXT NOT NULL, flags INTEGER NOT NULL, length INTEGER NOT NULL)"
    ),
    "search_meanings": "(id INTEGER PRIMARY KEY, keys BLOB NOT NULL)",
    "search_ratings": "(item TEXT PRIMARY KEY, worth REAL NOT NULL) WITHOUT ROWID",
}
_NAMES_INDEX: Final = "CREATE INDEX search_names_backwards ON search_names(backwards)"
_INDEXES: Final = (
    _NAMES_INDEX,
    "CREATE INDEX search_texts_by_name ON search_texts(name)",
)
_SEARCH_TABLES: Final = CacheTables("3", "search_notes", _TABLES, _INDEXES)
_TEXT_COLUMNS: Final = "id, kind, name, file, line, title, text, flags, length"


class SearchIndex(OpenTables):
    """Open it with `open_index` and use it as a context manager."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        super().__init__(connection)
        self._path = path

    @contextmanager
    def reading(self) -> Generator[None]:
        """A read transaction: everything read in the block is of one state."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Generator[None]:
        """Commits all writes of the block, or none. Raises `StoreError` if SQLite fails."""
        try:
            with transaction(self._connection):
                yield
        except sqlite3.Error as failure:
            raise StoreError(
                f"The search index in {self._path} could not be written: {failure}. The graph is up to date; run "
                "`golore learn` again to update the index."
            ) from failure

    def meta(self, name: str) -> bytes:
        row = self._connection.execute("SELECT value FROM search_notes WHERE name = ?", (name,)).fetchone()
        return row[0] if row else b""

    def set_meta(self, name: str, value: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO search_notes VALUES (?, ?)", (name, value))

    @property
    def state(self) -> bytes:
        """A value that changes whenever the indexed graph or HEAD changes."""
        return b"\n".join((self.meta(GRAPH), self.meta(HEAD)))

    def is_made_from(self, generation: str) -> bool:
        """Whether the index was made from this state of the graph."""
        return self.meta(GRAPH).decode() == generation

    def set_ratings(self, worth: Mapping[str, float]) -> None:
        """Replace the copy of the ratings, which is for the hook (see `knowledge.ratings`)."""
        self._connection.execute("DELETE FROM search_ratings")
        self._connection.executemany("INSERT INTO search_ratings VALUES (?, ?)", sorted(worth.items()))

    def files(self) -> Iterator[FileRow]:
        return (FileRow(*row) for row in self._connection.execute("SELECT * FROM search_files ORDER BY path"))

    def digests(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT path, digest FROM search_files"))

    def texts(self, name: str | None = None) -> Iterator[tuple[int, ShortText, int]]:
        """Number, text and length of all short texts, or of those with a name, in the order of their numbers."""
        condition = ("WHERE name = ?", (name,)) if name is not None else ("", ())
        statement = f"SELECT {_TEXT_COLUMNS} FROM search_texts {condition[0]} ORDER BY id"
        for id, *row, length in self._connection.execute(statement, condition[1]).fetchall():
            yield id, ShortText(*row), length

    def text(self, id: int) -> ShortText | None:
        row = self._connection.execute(f"SELECT {_TEXT_COLUMNS} FROM search_texts WHERE id = ?", (id,)).fetchone()
        return ShortText(*row[1:-1]) if row else None

    def packages_in(self, directories: Collection[str]) -> set[str]:
        """The names of the packages in these directories ("dir/")."""
        rows = self._connection.execute("SELECT name, file FROM search_texts WHERE kind = 'package'")
        return {name for name, file in rows if file in directories}

    def text_rows(self) -> list[TextRow]:
        rows = self._connection.execute("SELECT id, kind, name, file, flags, length FROM search_texts")
        return [TextRow(*row) for row in rows]

    def postings(self, room: int, term: str) -> Postings:
        statement = "SELECT postings FROM search_terms WHERE term = ? AND room = ?"
        row = self._connection.execute(statement, (term, room)).fetchone()
        return postings.from_bytes(row[0]) if row else postings.empty()

    def has_term(self, room: int, term: str) -> bool:
        statement = "SELECT 1 FROM search_terms WHERE term = ? AND room = ?"
        return self._connection.execute(statement, (term, room)).fetchone() is not None

    def terms_from(self, room: int, beginning: str, most: int, lengths: tuple[int, int]) -> list[str]:
        """Terms that begin with a text. `lengths` are the shortest and the longest allowed."""
        statement = (
            "SELECT term FROM search_terms WHERE term >= ? AND term < ? AND room = ? AND length(term) BETWEEN ? AND ? "
            "ORDER BY term LIMIT ?"
        )
        bounds = (beginning, _prefix_end(beginning))
        return [term for (term,) in self._connection.execute(statement, (*bounds, room, *lengths, most))]

    def symbols(self, file: int) -> list[IndexedSymbol]:
        row = self._connection.execute("SELECT symbols FROM search_contents WHERE id = ?", (file,)).fetchone()
        return _read_symbols(row[0]) if row else []

    def embedding_keys(self) -> list[tuple[int, bytes]]:
        """The number of each file that has texts to embed, and their keys, concatenated (see `embedded_texts`)."""
        return self._connection.execute("SELECT id, keys FROM search_meanings ORDER BY id").fetchall()

    def file_text_key(self, path: str) -> bytes:
        """The key of the text of a file; empty if it has none."""
        statement = "SELECT keys FROM search_meanings JOIN search_files USING (id) WHERE path = ?"
        row = self._connection.execute(statement, (path,)).fetchone()
        return row[0][:KEY_BYTES] if row else b""

    def files_naming(self, name: str) -> tuple[int, ...]:
        """The numbers of the files that declare a name, which is given as `folded` returns it."""
        row = self._connection.execute("SELECT files FROM search_names WHERE name = ?", (name,)).fetchone()
        return tuple(postings.from_bytes(row[0]).documents) if row else ()

    def names_from(self, beginning: str, most: int, lengths: tuple[int, int] = (0, 1_000)) -> list[str]:
        """Names that begin with a text, the shortest first. `lengths` are the shortest and the longest allowed."""
        return self._names("name", beginning, most, lengths)

    def names_ending_with(self, ending: str, most: int, lengths: tuple[int, int] = (0, 1_000)) -> list[str]:
        """Like `names_from`, for names that end with a text."""
        return self._names("backwards", ending[::-1], most, lengths)

    def _names(self, column: str, prefix: str, most: int, lengths: tuple[int, int]) -> list[str]:
        statement = (
            f"SELECT name FROM search_names WHERE {column} >= ? AND {column} < ? AND length(name) BETWEEN ? AND ? "
            "ORDER BY length(name), name LIMIT ?"
        )
        return [name for (name,) in self._connection.execute(statement, (prefix, _prefix_end(prefix), *lengths, most))]

    def names_with(self, part: str, most: int) -> list[str]:
        """Names that contain a text, the shortest first. Scans all names."""
        statement = "SELECT name FROM search_names WHERE instr(name, ?) ORDER BY length(name), name LIMIT ?"
        return [name for (name,) in self._connection.execute(statement, (part, most))]

    def count(self, table: str) -> int:
        return self._connection.execute(f"SELECT count(*) FROM search_{table}").fetchone()[0]

    def replace_all(self, parts: Sequence[IndexPart]) -> None:
        """Replace all files by those of these parts."""
        from golore.graph.search.index_parts import merged  # most processes only read

        run = self._connection
        for table in ("files", "contents", "meanings", "names"):
            run.execute(f"DELETE FROM search_{table}")
        run.execute("DELETE FROM search_terms WHERE room = ?", (FILES,))
        files = merge(*(part.files for part in parts))
        while some := list(islice(files, _AT_ONCE)):
            self._insert(some)
        _insert_rows(run, "search_terms", f"?, {FILES}, ?", merged([part.terms for part in parts]))
        # Sorting all names at the end takes less time than inserting each at its place.
        run.execute("DROP INDEX search_names_backwards")
        rows = ((name, name[::-1], data) for name, data in merged([part.names for part in parts]))
        _insert_rows(run, "search_names", "?, ?, ?", rows)
        run.execute(_NAMES_INDEX)

    def replace(self, files: Collection[FileText], removed: Collection[str]) -> None:
        """Add or replace these files, and remove those whose paths are in `removed`."""
        from golore.graph.search.index_parts import stored_file  # most processes only read

        run = self._connection
        term_changes: defaultdict[str, dict[int, int]] = defaultdict(dict)
        name_changes: defaultdict[str, dict[int, int]] = defaultdict(dict)
        (last,) = run.execute("SELECT coalesce(max(id), 0) FROM search_files").fetchone()
        entries: list[tuple[str, FileText | None]] = [(file.path, file) for file in files]
        for path, file in [*entries, *((path, None) for path in removed)]:
            row = run.execute("SELECT id FROM search_files WHERE path = ?", (path,)).fetchone()
            id = row[0] if row else (last := last + 1)
            before = self._entry_of(id) if row else NOTHING
            after = entry_of(file) if file is not None else NOTHING
            for term in before.terms.keys() | after.terms.keys():
                if before.terms.get(term) != after.terms.get(term):
                    term_changes[term][id] = after.terms.get(term, 0)
            for name in before.names ^ after.names:
                name_changes[name][id] = int(name in after.names)
            for table in ("files", "contents", "meanings") if row else ():
                run.execute(f"DELETE FROM search_{table} WHERE id = ?", (id,))
            if file is not None:
                self._insert([stored_file(id, file, after)])
        self._change_terms(FILES, term_changes)
        self._change_names(name_changes)

    def replace_postings(self, room: int, found: PostingLists, *, had_any: bool = True) -> None:
        """Replace all postings of one kind of documents: `COMMITS` or `TEXTS`. `had_any`: whether there are some.

        Deleting them reads all terms of all kinds."""
        if had_any:
            self._connection.execute("DELETE FROM search_terms WHERE room = ?", (room,))
        _insert_rows(self._connection, "search_terms", f"?, {room}, ?", found.rows())

    def replace_texts(self, texts: Iterable[ShortText]) -> None:
        """Replace all texts by these."""
        rows: list[tuple[object, ...]] = []
        found = PostingLists()
        for id, text in enumerate(texts, 1):
            counts = text_counts(text)
            rows.append((id, *text, sum(counts.values())))
            found.add(id, counts)
        had_any = self._connection.execute("DELETE FROM search_texts").rowcount > 0
        self._connection.executemany("INSERT INTO search_texts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self.replace_postings(TEXTS, found, had_any=had_any)

    def sync_texts(
        self, kinds: Collection[str], texts: Iterable[ShortText], only: Collection[str] | None = None
    ) -> None:
        """Replace all texts of these kinds, or with `only`, those with these names. Unchanged texts are not written."""
        stored = self.texts() if only is None else (row for name in sorted(only) for row in self.texts(name))
        remaining = {text_key(text): (id, text) for id, text, _ in stored if text.kind in kinds}
        changes: defaultdict[str, dict[int, int]] = defaultdict(dict)
        (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM search_texts").fetchone()
        for text in texts:
            id, before = remaining.pop(text_key(text), (0, None))
            if text == before:
                continue
            if before is not None:
                self._drop_text(id, before, changes)
            id = id or (last := last + 1)
            counts = text_counts(text)
            for term, number in counts.items():
                changes[term][id] = packed_counts(number)
            row = (id, *text, sum(counts.values()))
            self._connection.execute("INSERT INTO search_texts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        for id, text in remaining.values():
            self._drop_text(id, text, changes)
        self._change_terms(TEXTS, changes)

    def _drop_text(self, id: int, text: ShortText, changes: Mapping[str, dict[int, int]]) -> None:
        for term in text_counts(text):
            changes[term][id] = 0
        self._connection.execute("DELETE FROM search_texts WHERE id = ?", (id,))

    def _insert(self, files: Sequence[StoredFile]) -> None:
        run = self._connection
        run.executemany("INSERT INTO search_files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (file.row for file in files))
        contents = ((file.row.id, file.terms, file.symbols) for file in files)
        run.executemany("INSERT INTO search_contents VALUES (?, ?, ?)", contents)
        meanings = ((file.row.id, file.meanings) for file in files if file.meanings is not None)
        run.executemany("INSERT INTO search_meanings VALUES (?, ?)", meanings)

    def _entry_of(self, id: int) -> IndexEntry:
        row = self._connection.execute("SELECT terms, symbols FROM search_contents WHERE id = ?", (id,)).fetchone()
        terms = msgspec.msgpack.decode(decompress(row[0]), type=dict[str, int])
        return IndexEntry(terms, names_of(_read_symbols(row[1])), (0, 0, 0))

    def _change_terms(self, room: int, changes: Mapping[str, Mapping[int, int]]) -> None:
        find = "SELECT postings FROM search_terms WHERE term = ? AND room = ?"
        for term, counts in sorted(changes.items()):
            row = self._connection.execute(find, (term, room)).fetchone()
            data = postings.changed(row[0] if row else None, counts)
            if data:
                self._connection.execute("INSERT OR REPLACE INTO search_terms VALUES (?, ?, ?)", (term, room, data))
            else:
                self._connection.execute("DELETE FROM search_terms WHERE term = ? AND room = ?", (term, room))

    def _change_names(self, changes: Mapping[str, Mapping[int, int]]) -> None:
        for name, counts in sorted(changes.items()):
            row = self._connection.execute("SELECT files FROM search_names WHERE name = ?", (name,)).fetchone()
            data = postings.changed(row[0] if row else None, counts)
            if data:
                self._connection.execute(
                    "INSERT OR REPLACE INTO search_names VALUES (?, ?, ?)", (name, name[::-1], data)
                )
            else:
                self._connection.execute("DELETE FROM search_names WHERE name = ?", (name,))


def _insert_rows(run: sqlite3.Connection, table: str, values: str, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert rows many at a time, which takes half the time of `executemany`. `values`: the values of a row in SQL."""
    together = f"INSERT INTO {table} VALUES {', '.join([f'({values})'] * _ROWS_AT_ONCE)}"
    remaining = iter(rows)
    while len(some := list(islice(remaining, _ROWS_AT_ONCE))) == _ROWS_AT_ONCE:
        run.execute(together, list(chain.from_iterable(some)))
    run.executemany(f"INSERT INTO {table} VALUES ({values})", some)


def _read_symbols(data: bytes) -> list[IndexedSymbol]:
    return msgspec.msgpack.decode(decompress(data), type=list[IndexedSymbol])


def _prefix_end(beginning: str) -> str:
    """An upper bound, in SQLite's order, of the texts that begin so."""
    return beginning + chr(0x10FFFF)


def open_index(store_directory: Path, *, write: bool = False, wait: float = _WAIT) -> SearchIndex | None:
    """The index of a store. A reader gets None if there is none of this version; a writer creates it."""
    connection = open_tables(store_directory, _SEARCH_TABLES, write=write, wait=wait)
    if connection is None:
        return None
    connection.execute("PRAGMA cache_size = -16384")
    return SearchIndex(connection, store_directory)
