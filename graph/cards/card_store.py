"""The card store: rendered cards in `cache.db`, found by one look-up, and a record of what each session was shown and
which files it edited.

A hook process reads it and must start quickly, so this module imports little but SQLite: no typing, pathlib or json
(each costs a tenth of the whole process), no engine, nothing else of golore. Its tables (`deck_*`) can be built again
from the graph; when `CARD_STORE_VERSION` changes, the old ones are dropped.
"""

from __future__ import annotations

import time
from os import W_OK, access, fspath
from os.path import exists

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator
    from os import PathLike
    from types import TracebackType
    from typing import Self
else:

    def _import_sqlite():
        """Import `_sqlite3`: the package `sqlite3` also imports datetime, which takes as long as the look-up of a card.

        `_sqlite3` imports functools for `lru_cache` alone, which would take a tenth of a hook's time. If functools is
        not loaded, a module with just that function takes its place meanwhile.
        """
        import sys

        if "functools" not in sys.modules:
            from _functools import _lru_cache_wrapper

            part = type(sys)("functools")
            part.lru_cache = lambda size: lambda function: _lru_cache_wrapper(function, size, False, tuple)
            sys.modules["functools"] = part
        else:
            part = None
        try:
            import _sqlite3
        finally:
            if part is not None:
                del sys.modules["functools"]
        return _sqlite3

    try:
        sqlite3 = _import_sqlite()
    except ImportError:
        import sqlite3

CARD_STORE_VERSION = 4
KEPT_SECONDS = 14 * 24 * 3600
"""Seconds after which records of what a session was shown or edited are deleted."""
_WAIT_SECONDS = 5.0
_TABLES = """
CREATE TABLE deck_notes(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE deck_cards(path TEXT PRIMARY KEY, digest TEXT NOT NULL, text TEXT NOT NULL, related TEXT NOT NULL,
                        own TEXT NOT NULL);
CREATE TABLE deck_symbols(path TEXT NOT NULL, line INTEGER NOT NULL, name TEXT NOT NULL, qualified_name TEXT NOT NULL,
                          kind TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX deck_symbols_by_name ON deck_symbols(name);
CREATE INDEX deck_symbols_by_path ON deck_symbols(path);
CREATE TABLE deck_files(path TEXT PRIMARY KEY, place TEXT NOT NULL, stem TEXT NOT NULL, rank REAL NOT NULL,
                        history TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX deck_files_by_place ON deck_files(place);
CREATE INDEX deck_files_by_stem ON deck_files(stem);
CREATE TABLE deck_shown(session TEXT NOT NULL, agent TEXT NOT NULL, key TEXT NOT NULL, characters INTEGER NOT NULL,
                        at INTEGER NOT NULL, PRIMARY KEY(session, agent, key)) WITHOUT ROWID;
CREATE INDEX deck_shown_by_time ON deck_shown(at);
CREATE TABLE deck_edits(session TEXT NOT NULL, path TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(session, path))
                        WITHOUT ROWID
"""
_TABLE_NAMES = ("deck_notes", "deck_cards", "deck_symbols", "deck_files", "deck_shown", "deck_edits")


class Card:
    """The card of a file ("dir/file.go"), a package ("dir/", "./" at the root) or the repository ("").

    `digest` is that of the file's bytes when it was learned, empty for packages and the repository. `related` lists
    files that an editor of this one should know, best first, each with the reason. The text has two parts: `main`,
    facts about how other code relates to it, and `own`, facts from the bodies of its own functions.
    """

    __slots__ = ("_related", "digest", "main", "own", "path")

    def __init__(
        self, path: str, digest: str, main: str, related: tuple[tuple[str, str], ...] | str = (), own: str = ""
    ) -> None:
        self.path = path
        self.digest = digest
        self.main = main
        self.own = own
        self._related = related

    @property
    def text(self) -> str:
        return f"{self.main}\n{self.own}" if self.main and self.own else self.main or self.own

    @property
    def related(self) -> tuple[tuple[str, str], ...]:
        if isinstance(self._related, str):
            import json  # not at the top: a hook that only shows the text does not need it

            self._related = tuple((file, why) for file, why in json.loads(self._related))
        return self._related

    @property
    def related_text(self) -> str:
        """`related` as it is stored: JSON."""
        if not isinstance(self._related, str):
            import json

            return json.dumps(self._related, ensure_ascii=False, separators=(",", ":"))
        return self._related

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Card) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"Card({self.path!r}, {self.digest!r}, {self.text!r}, {self.related!r})"

    def _key(self) -> tuple[object, ...]:
        return self.path, self.digest, self.main, self.related, self.own


class SymbolLine:
    """A declaration and a line or two about it, for prompts that name it."""

    __slots__ = ("kind", "line", "name", "path", "qualified_name", "text")

    def __init__(self, name: str, qualified_name: str, kind: str, path: str, line: int, text: str) -> None:
        self.name = name
        self.qualified_name = qualified_name
        self.kind = kind
        self.path = path
        self.line = line
        self.text = text

    def __repr__(self) -> str:
        return f"SymbolLine({self.qualified_name!r}, {self.path!r}, {self.line!r}, {self.text!r})"


class CardStore:
    """Open it with `open_card_store` and use it as a context manager. Methods raise SQLite's errors unchanged."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def card(self, path: str, *, include_empty: bool = False) -> Card | None:
        """The card of a file, a package ("dir/") or the repository (""); None if there is none or its text is empty.

        With `silent`, a card without text is returned too: it may have related files.
        """
        statement = "SELECT path, digest, text, related, own FROM deck_cards WHERE path = ?"
        for row in self._connection.execute(statement, (path,)):
            if row[2] or row[4] or include_empty:
                return Card(*row)
        return None

    def digests(self) -> dict[str, str]:
        """The digest of each file that has a card, including cards without text, by path."""
        return dict(self._connection.execute("SELECT path, digest FROM deck_cards WHERE digest <> ''"))

    def cards_mentioning(self, path: str) -> list[tuple[str, str]]:
        """Path and main text of the cards that mention a line of this file."""
        statement = "SELECT path, text FROM deck_cards WHERE instr(text, ?) ORDER BY path"
        return self._connection.execute(statement, (f"({path}:",)).fetchall()

    def symbol_lines_mentioning(self, path: str) -> list[tuple[int, str, str]]:
        """Like `mentioning`, for symbol lines: row id, path and text."""
        statement = "SELECT rowid, path, text FROM deck_symbols WHERE instr(text, ?) ORDER BY rowid"
        return self._connection.execute(statement, (f"({path}:",)).fetchall()

    def update_texts(self, cards: Iterable[tuple[str, str]], symbols: Iterable[tuple[int, str]]) -> None:
        """Replace the main texts of cards, given by path, and the texts of symbol lines, given by row id."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            rows = ((text, path) for path, text in cards)
            connection.executemany("UPDATE deck_cards SET text = ? WHERE path = ?", rows)
            connection.executemany(
                "UPDATE deck_symbols SET text = ? WHERE rowid = ?", ((text, row) for row, text in symbols)
            )
        except BaseException:
            self._roll_back()
            raise
        connection.execute("COMMIT")

    def update_own_part(self, path: str, before: str, digest: str, own: str) -> None:
        """Update `digest` and `own` of a file's card, but only if the card still has the digest `before`."""
        statement = "UPDATE deck_cards SET digest = ?, own = ? WHERE path = ? AND digest = ?"
        self._connection.execute(statement, (digest, own, path, before))

    def rank_and_history(self, path: str) -> tuple[float, str] | None:
        """A file's rank and encoded history, as stored by `replace_files`. The rank of a directory ("dir/") is 0."""
        return self._connection.execute("SELECT rank, history FROM deck_files WHERE path = ?", (path,)).fetchone()

    def ranks(self) -> dict[str, tuple[float, int, float]]:
        """For every file, its rank, the number of its commits and how busy it is (see `FileHistory`)."""
        # The encoded history begins with three numbers. The rest, its partners, may be long.
        rows = self._connection.execute("SELECT path, rank, substr(history, 2, 80) FROM deck_files WHERE place <> ''")
        return {path: (rank, *_commits_and_busy(history)) for path, rank, history in rows}

    def files_in(self, directory: str) -> list[str]:
        """The files of a directory."""
        return self._paths("SELECT path FROM deck_files WHERE place = ? ORDER BY path", directory)

    def files_with_stem(self, stem: str) -> list[str]:
        return self._paths("SELECT path FROM deck_files WHERE stem = ? ORDER BY path", stem)

    def replace_files(self, rows: Iterable[tuple[str, str, str, float, str]]) -> None:
        """Replace the rows of all files and directories: path, directory, stem, rank and encoded history."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for index in ("place", "stem"):
                connection.execute(f"DROP INDEX deck_files_by_{index}")
            connection.execute("DELETE FROM deck_files")
            connection.executemany("INSERT INTO deck_files VALUES (?, ?, ?, ?, ?)", rows)
            for index in ("place", "stem"):
                connection.execute(f"CREATE INDEX deck_files_by_{index} ON deck_files({index})")
        except BaseException:
            self._roll_back()
            raise
        connection.execute("COMMIT")

    def _paths(self, statement: str, value: str) -> list[str]:
        return [path for (path,) in self._connection.execute(statement, (value,))]

    def paths(self) -> Iterator[str]:
        """The card paths of all cards, sorted."""
        return (path for (path,) in self._connection.execute("SELECT path FROM deck_cards ORDER BY path"))

    def symbols(self, name: str) -> list[SymbolLine]:
        """The declarations with an unqualified name (`Save`, not `Store.Save`), ordered by location."""
        statement = (
            "SELECT name, qualified_name, kind, path, line, text FROM deck_symbols WHERE name = ? ORDER BY path, line"
        )
        return [SymbolLine(*row) for row in self._connection.execute(statement, (name,))]

    def replace(self, cards: Iterable[Card], symbols: Iterable[SymbolLine], paths: Collection[str]) -> None:
        """Delete all cards and symbol lines of `paths`, then insert these."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for table in ("deck_cards", "deck_symbols"):
                connection.executemany(f"DELETE FROM {table} WHERE path = ?", ((path,) for path in paths))
            self._insert(cards, symbols)
        except BaseException:
            self._roll_back()
            raise
        connection.execute("COMMIT")

    def replace_all(self, cards: Iterable[Card], symbols: Iterable[SymbolLine]) -> None:
        """Replace all cards and symbol lines. The record of what sessions were shown is kept."""
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            for index in ("name", "path"):
                connection.execute(f"DROP INDEX deck_symbols_by_{index}")
            for table in ("deck_cards", "deck_symbols"):
                connection.execute(f"DELETE FROM {table}")
            self._insert(cards, symbols)
            for index in ("name", "path"):
                connection.execute(f"CREATE INDEX deck_symbols_by_{index} ON deck_symbols({index})")
        except BaseException:
            self._roll_back()
            raise
        connection.execute("COMMIT")

    def meta(self, name: str) -> bytes | None:
        """A stored value about how the cards were built, by name; None if it is not set."""
        for (value,) in self._connection.execute("SELECT value FROM deck_notes WHERE name = ?", (name,)):
            return value
        return None

    def set_meta(self, name: str, value: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO deck_notes VALUES (?, ?)", (name, value))

    def was_shown(self, session: str, agent: str, key: str) -> bool:
        """Whether `key` was shown to this agent of the session. It should identify the content, not only the path."""
        statement = "SELECT 1 FROM deck_shown WHERE session = ? AND agent = ? AND key = ?"
        return self._connection.execute(statement, (session, agent, key)).fetchone() is not None

    def record_shown(self, session: str, agent: str, key: str, characters: int) -> bool:
        """Record that `key` is being shown. Returns False if it already was, perhaps just now by another process."""
        now = int(time.time())
        connection = self._connection
        added = connection.execute(
            "INSERT OR IGNORE INTO deck_shown VALUES (?, ?, ?, ?, ?)", (session, agent, key, characters, now)
        ).rowcount
        connection.execute("DELETE FROM deck_shown WHERE at < ?", (now - KEPT_SECONDS,))
        return added == 1

    def times_shown(self) -> dict[str, int]:
        """How often each subject was shown in the last `KEPT_SECONDS`. The subject is `key` without its last word."""
        counts: dict[str, int] = {}
        for (key,) in self._connection.execute("SELECT key FROM deck_shown"):
            subject = key.rpartition(" ")[0]
            counts[subject] = counts.get(subject, 0) + 1
        return counts

    def characters_shown(self, session: str) -> int:
        """The number of characters shown in a session so far, to all its agents."""
        statement = "SELECT coalesce(sum(characters), 0) FROM deck_shown WHERE session = ?"
        return self._connection.execute(statement, (session,)).fetchone()[0]

    def forget_session(self, session: str) -> None:
        """Delete all records of a session, so that everything is shown again, as after its context was compacted.

        `characters_shown` starts again from 0.
        """
        self._connection.execute("DELETE FROM deck_shown WHERE session = ?", (session,))

    def record_edits(self, session: str, paths: Iterable[str]) -> None:
        """Record that a session edited files. The time of the first edit of each file counts."""
        now = int(time.time())
        rows = [(session, path, now) for path in paths]
        self._connection.executemany("INSERT OR IGNORE INTO deck_edits VALUES (?, ?, ?)", rows)
        self._connection.execute("DELETE FROM deck_edits WHERE at < ?", (now - KEPT_SECONDS,))

    def edits(self, session: str) -> dict[str, int]:
        """The files that a session edited, and when it did so first, without those that were forgotten."""
        statement = "SELECT path, at FROM deck_edits WHERE session = ? ORDER BY path"
        return dict(self._connection.execute(statement, (session,)))

    def forget_edits(self, session: str, paths: Iterable[str]) -> None:
        rows = [(session, path) for path in paths]
        self._connection.executemany("DELETE FROM deck_edits WHERE session = ? AND path = ?", rows)

    def _insert(self, cards: Iterable[Card], symbols: Iterable[SymbolLine]) -> None:
        rows = ((card.path, card.digest, card.main, card.related_text, card.own) for card in cards)
        self._connection.executemany("INSERT OR REPLACE INTO deck_cards VALUES (?, ?, ?, ?, ?)", rows)
        lines = ((line.path, line.line, line.name, line.qualified_name, line.kind, line.text) for line in symbols)
        self._connection.executemany("INSERT INTO deck_symbols VALUES (?, ?, ?, ?, ?, ?)", lines)

    def _roll_back(self) -> None:
        # A full disk has already ended the transaction.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def _commits_and_busy(history: str) -> tuple[int, float]:
    if not history:
        return 0, 0.0
    _, commits, busy = history.split(",")[:3]
    return int(commits), float(busy)


def open_card_store(
    store_directory: str | PathLike[str], *, write: bool = True, wait: float = _WAIT_SECONDS
) -> CardStore | None:
    """Open the card store. If it is missing or has another version, `write` creates it; a reader gets None.

    A process that only records what it shows is a reader in this sense: without cards it has nothing to show.
    """
    path = f"{fspath(store_directory)}/cache.db"
    if not exists(path):  # noqa: PTH110  importing pathlib is too slow for a hook
        if not write:
            return None
        from pathlib import Path

        from golore.graph.files.cache_db import Cache  # creates the file and marks it as golore's

        Cache.open(Path(path)).close()
    if write or (access(path, W_OK) and access(store_directory, W_OK)):
        connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    else:
        from golore.graph.files.read_only_db import connect_read_only

        connection = connect_read_only(path, wait)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        if _version_in(connection) != CARD_STORE_VERSION:
            if not write:
                connection.close()
                return None
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            _create_tables(connection)
    except BaseException:
        connection.close()
        raise
    return CardStore(connection)


def create_card_store(store_directory: str | PathLike[str], *, wait: float = _WAIT_SECONDS) -> CardStore:
    """Open the card store for writing. Creates it if it is missing."""
    card_store = open_card_store(store_directory, wait=wait)
    assert card_store is not None
    return card_store


def _version_in(connection: sqlite3.Connection) -> int:
    """The version of the card store in this database; 0 if there is none."""
    try:
        row = connection.execute("SELECT value FROM deck_notes WHERE name = 'version'").fetchone()
    except sqlite3.OperationalError as failure:
        if "no such table" in str(failure):
            return 0
        raise
    return int(row[0]) if row else 0


def _create_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have created them while this one waited.
    if _version_in(connection) != CARD_STORE_VERSION:
        for name in _TABLE_NAMES:
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute("INSERT INTO deck_notes VALUES ('version', ?)", (str(CARD_STORE_VERSION),))
    connection.execute("COMMIT")
