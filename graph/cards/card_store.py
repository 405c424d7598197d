"""The deck: rendered cards in `cache.db`, found by one look-up, and what each session has already been shown.

A hook process reads this and must start quickly, so nothing is imported here but SQLite: no typing, pathlib or json
(each costs a tenth of the whole process), no engine, nothing else of golore. What the cards say is `cards`' affair. The
deck can be made again from the graph; when its format changes, the old one is dropped.
"""

from __future__ import annotations

import time
from os import fspath
from os.path import exists

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable, Iterator
    from os import PathLike
    from types import TracebackType
    from typing import Self
else:
    try:
        # The package around it would import datetime, which takes as long as the look-up of a card.
        import _sqlite3 as sqlite3
    except ImportError:
        import sqlite3

CARD_STORE_VERSION = 3
KEPT_SECONDS = 14 * 24 * 3600
"""How long is remembered what a session was shown."""
_WAIT = 5.0
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
CREATE INDEX deck_shown_by_time ON deck_shown(at)
"""
_NAMES = ("deck_notes", "deck_cards", "deck_symbols", "deck_files", "deck_shown")


class Card:
    """What an agent is told of a file ("dir/file.go"), a package ("dir/", "./" at the root) or the repository ("").

    `digest` is of the file's bytes as they were learned, empty for the others. `related` are files to know, best first,
    each with the reason. The text has two parts: what others have to do with it, and `own`, what its own bodies hold.
    """

    __slots__ = ("_related", "digest", "own", "path", "told")

    def __init__(
        self, path: str, digest: str, told: str, related: tuple[tuple[str, str], ...] | str = (), own: str = ""
    ) -> None:
        self.path = path
        self.digest = digest
        self.told = told
        self.own = own
        self._related = related

    @property
    def text(self) -> str:
        return f"{self.told}\n{self.own}" if self.told and self.own else self.told or self.own

    @property
    def related(self) -> tuple[tuple[str, str], ...]:
        if isinstance(self._related, str):
            import json  # a hook that only shows the text does without

            self._related = tuple((file, why) for file, why in json.loads(self._related))
        return self._related

    @property
    def related_text(self) -> str:
        """`related` as the deck stores it."""
        if not isinstance(self._related, str):
            import json

            return json.dumps(self._related, ensure_ascii=False, separators=(",", ":"))
        return self._related

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Card) and self._all() == other._all()

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return f"Card({self.path!r}, {self.digest!r}, {self.text!r}, {self.related!r})"

    def _all(self) -> tuple[object, ...]:
        return self.path, self.digest, self.told, self.related, self.own


class SymbolLine:
    """One declaration, and a line or two about it; for prompts that name it."""

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
    """Open it with `open_card_store` and use it as a context manager. Failures of SQLite come through as they are."""

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

    def card(self, path: str, *, silent: bool = False) -> Card | None:
        """The card of a file, a package ("dir/") or the repository (""); None where there is nothing to say.

        With `silent`, also one without a text, which has related files all the same.
        """
        statement = "SELECT path, digest, text, related, own FROM deck_cards WHERE path = ?"
        for row in self._connection.execute(statement, (path,)):
            if row[2] or row[4] or silent:
                return Card(*row)
        return None

    def digests(self) -> dict[str, str]:
        """Of all files that have cards, silent ones too."""
        return dict(self._connection.execute("SELECT path, digest FROM deck_cards WHERE digest <> ''"))

    def mentioning(self, path: str) -> list[tuple[str, str]]:
        """The cards that name a line of a file, with what they tell."""
        statement = "SELECT path, text FROM deck_cards WHERE instr(text, ?) ORDER BY path"
        return self._connection.execute(statement, (f"({path}:",)).fetchall()

    def symbols_mentioning(self, path: str) -> list[tuple[int, str, str]]:
        """The same of declarations: which row each is, the path it is of, and its text."""
        statement = "SELECT rowid, path, text FROM deck_symbols WHERE instr(text, ?) ORDER BY rowid"
        return self._connection.execute(statement, (f"({path}:",)).fetchall()

    def update_texts(self, cards: Iterable[tuple[str, str]], symbols: Iterable[tuple[int, str]]) -> None:
        """Put other words in the place of what cards, by path, and declarations, by row, tell."""
        run = self._connection
        run.execute("BEGIN IMMEDIATE")
        try:
            rows = ((text, path) for path, text in cards)
            run.executemany("UPDATE deck_cards SET text = ? WHERE path = ?", rows)
            run.executemany("UPDATE deck_symbols SET text = ? WHERE rowid = ?", ((text, row) for row, text in symbols))
        except BaseException:
            self._undo()
            raise
        run.execute("COMMIT")

    def update_own_part(self, path: str, before: str, digest: str, own: str) -> None:
        """Let the card of a file that is of the contents before count for others, of which only its own part tells."""
        statement = "UPDATE deck_cards SET digest = ?, own = ? WHERE path = ? AND digest = ?"
        self._connection.execute(statement, (digest, own, path, before))

    def rank_and_history(self, path: str) -> tuple[float, str] | None:
        """A file's rank and what the history says of it, as they were stored; for a directory ("dir/"), the latter."""
        return self._connection.execute("SELECT rank, history FROM deck_files WHERE path = ?", (path,)).fetchone()

    def files_in(self, place: str) -> list[str]:
        """The files of a directory."""
        return self._names("SELECT path FROM deck_files WHERE place = ? ORDER BY path", place)

    def files_with_stem(self, stem: str) -> list[str]:
        return self._names("SELECT path FROM deck_files WHERE stem = ? ORDER BY path", stem)

    def replace_files(self, rows: Iterable[tuple[str, str, str, float, str]]) -> None:
        """Path, directory, stem, rank and history of everything there is."""
        run = self._connection
        run.execute("BEGIN IMMEDIATE")
        try:
            run.execute("DELETE FROM deck_files")
            run.executemany("INSERT INTO deck_files VALUES (?, ?, ?, ?, ?)", rows)
        except BaseException:
            self._undo()
            raise
        run.execute("COMMIT")

    def _names(self, statement: str, value: str) -> list[str]:
        return [path for (path,) in self._connection.execute(statement, (value,))]

    def paths(self) -> Iterator[str]:
        """What there are cards of, in order."""
        return (path for (path,) in self._connection.execute("SELECT path FROM deck_cards ORDER BY path"))

    def symbols(self, name: str) -> list[SymbolLine]:
        """The declarations of a plain name (`Save`, not `Store.Save`), in the order of their places."""
        statement = (
            "SELECT name, qualified_name, kind, path, line, text FROM deck_symbols WHERE name = ? ORDER BY path, line"
        )
        return [SymbolLine(*row) for row in self._connection.execute(statement, (name,))]

    def replace(self, cards: Iterable[Card], symbols: Iterable[SymbolLine], paths: Collection[str]) -> None:
        """Put these in the place of everything that is known of these paths."""
        run = self._connection
        run.execute("BEGIN IMMEDIATE")
        try:
            for table in ("deck_cards", "deck_symbols"):
                run.executemany(f"DELETE FROM {table} WHERE path = ?", ((path,) for path in paths))
            self._insert(cards, symbols)
        except BaseException:
            self._undo()
            raise
        run.execute("COMMIT")

    def replace_all(self, cards: Iterable[Card], symbols: Iterable[SymbolLine]) -> None:
        """Put these in the place of all cards and symbols; what sessions were shown stays."""
        run = self._connection
        run.execute("BEGIN IMMEDIATE")
        try:
            for index in ("name", "path"):
                run.execute(f"DROP INDEX deck_symbols_by_{index}")
            for table in ("deck_cards", "deck_symbols"):
                run.execute(f"DELETE FROM {table}")
            self._insert(cards, symbols)
            for index in ("name", "path"):
                run.execute(f"CREATE INDEX deck_symbols_by_{index} ON deck_symbols({index})")
        except BaseException:
            self._undo()
            raise
        run.execute("COMMIT")

    def meta(self, name: str) -> bytes | None:
        """A note about how the cards were made."""
        for (value,) in self._connection.execute("SELECT value FROM deck_notes WHERE name = ?", (name,)):
            return value
        return None

    def set_meta(self, name: str, value: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO deck_notes VALUES (?, ?)", (name, value))

    def was_shown(self, session: str, agent: str, key: str) -> bool:
        """Whether this was shown to this agent of the session; `key` should name the content, not only the path."""
        statement = "SELECT 1 FROM deck_shown WHERE session = ? AND agent = ? AND key = ?"
        return self._connection.execute(statement, (session, agent, key)).fetchone() is not None

    def record_shown(self, session: str, agent: str, key: str, characters: int) -> bool:
        """Note that something is shown; False where it already was, perhaps by a process at the same moment."""
        now = int(time.time())
        run = self._connection
        added = run.execute(
            "INSERT OR IGNORE INTO deck_shown VALUES (?, ?, ?, ?, ?)", (session, agent, key, characters, now)
        ).rowcount
        run.execute("DELETE FROM deck_shown WHERE at < ?", (now - KEPT_SECONDS,))
        return added == 1

    def times_shown(self) -> dict[str, int]:
        """How often each thing was shown of late, by what it was about."""
        found: dict[str, int] = {}
        for (key,) in self._connection.execute("SELECT key FROM deck_shown"):
            what = key.rpartition(" ")[0]
            found[what] = found.get(what, 0) + 1
        return found

    def characters_shown(self, session: str) -> int:
        """Characters shown in a session so far, to all its agents."""
        statement = "SELECT coalesce(sum(characters), 0) FROM deck_shown WHERE session = ?"
        return self._connection.execute(statement, (session,)).fetchone()[0]

    def forget_session(self, session: str) -> None:
        """Let a session be shown everything again, as after its context was compacted; what it spent is gone too."""
        self._connection.execute("DELETE FROM deck_shown WHERE session = ?", (session,))

    def _insert(self, cards: Iterable[Card], symbols: Iterable[SymbolLine]) -> None:
        rows = ((card.path, card.digest, card.told, card.related_text, card.own) for card in cards)
        self._connection.executemany("INSERT OR REPLACE INTO deck_cards VALUES (?, ?, ?, ?, ?)", rows)
        lines = ((line.path, line.line, line.name, line.qualified_name, line.kind, line.text) for line in symbols)
        self._connection.executemany("INSERT INTO deck_symbols VALUES (?, ?, ?, ?, ?, ?)", lines)

    def _undo(self) -> None:
        # A full disk ends the transaction by itself.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")


def open_card_store(
    store_directory: str | PathLike[str], *, write: bool = True, wait: float = _WAIT
) -> CardStore | None:
    """The deck of a store. A reader gets None where there is none, or one of another version; a writer makes it.

    A process that notes what it shows is a reader in this sense: without a deck it has nothing to show.
    """
    path = f"{fspath(store_directory)}/cache.db"
    if not exists(path):  # noqa: PTH110  a hook does without pathlib
        if not write:
            return None
        from pathlib import Path

        from golore.graph.files.cache_db import Cache  # who makes the file marks it as ours

        Cache.open(Path(path)).close()
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        if _version_in(connection) != CARD_STORE_VERSION:
            if not write:
                connection.close()
                return None
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            _make_tables(connection)
    except BaseException:
        connection.close()
        raise
    return CardStore(connection)


def create_card_store(store_directory: str | PathLike[str]) -> CardStore:
    """The deck of a store, made where there is none."""
    card_store = open_card_store(store_directory)
    assert card_store is not None
    return card_store


def _version_in(connection: sqlite3.Connection) -> int:
    """The version of the deck in this file; 0 where there is none."""
    try:
        row = connection.execute("SELECT value FROM deck_notes WHERE name = 'version'").fetchone()
    except sqlite3.OperationalError as failure:
        if "no such table" in str(failure):
            return 0
        raise
    return int(row[0]) if row else 0


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have made them while this one waited.
    if _version_in(connection) != CARD_STORE_VERSION:
        for name in _NAMES:
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute("INSERT INTO deck_notes VALUES ('version', ?)", (str(CARD_STORE_VERSION),))
    connection.execute("COMMIT")
