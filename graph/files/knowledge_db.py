"""`knowledge.db`: data that cannot be derived again from files, such as notes and summaries.

It is separate from the graph, because a graph can be rebuilt from files at any time, by another golore or with another
engine, and because a note can be written while a long learn has the graph locked. Notes and summaries are also copied
into the graph for queries and exports (see `projection`); this file is authoritative. Every write waits for the disk.
This module opens the database and its transactions; the tables belong to `notes`, `summaries` and `ratings`. The
worktrees of a repository share their knowledge: see `shared_knowledge`, which is called when it is opened and closed.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from golore.graph.errors import StoreBusy, StoreDamaged, StoreError, StoreMismatch
from golore.graph.files.claim import create_store_directory
from golore.graph.files.read_only_db import connect_read_only, is_writable
from golore.graph.files.sqlite_wal import switch_to_wal

KNOWLEDGE_NAME: Final = "knowledge.db"
PENDING_NAME: Final = "incoming.json"
"""A store that contains this file is about to be replaced; the handover must be completed first (see `handover`)."""
LINK_NAME: Final = "shared"
"""A file in the store that names the knowledge that it shares with other worktrees (see `shared_knowledge`)."""
APPLICATION: Final = 0x676F6B6E
"""SQLite application id of the file: "gokn" in ASCII."""
_WAIT: Final = 10.0


def _list_when(event: str, table: str, key: str, condition: str = "") -> str:
    """A trigger that lists the key of a written row in `unsent_state`, unless the row was received."""
    name = f"unsent_{table}_{event.split()[1].lower()}"
    row = "OLD" if "DELETE" in event else "NEW"
    part = "notes" if table == "note_anchors" else table
    return f"""
    CREATE TRIGGER {name} {event} ON {table} WHEN (SELECT quiet FROM sharing_state) = 0 {condition} BEGIN
        INSERT OR REPLACE INTO unsent_state(part, key) VALUES ('{part}', {key.format(row)});
    END;
    """


_RATING: Final = "{0}.item || char(31) || {0}.useful || char(31) || {0}.at || char(31) || {0}.by"
_SAME_ANCHOR: Final = """
    AND NEW.fate = '' AND NOT EXISTS (SELECT 1 FROM note_anchors WHERE note = NEW.note AND home = NEW.home
                                      AND file = NEW.file AND body = NEW.body)
"""
_MIGRATIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE changes(number INTEGER PRIMARY KEY CHECK (number = 0), count INTEGER NOT NULL);
    INSERT INTO changes VALUES (0, 0);
    """,
    """
    CREATE TABLE notes(id TEXT PRIMARY KEY, kind TEXT NOT NULL, text TEXT NOT NULL, subject TEXT NOT NULL,
                       author TEXT NOT NULL, source TEXT NOT NULL, created TEXT NOT NULL, confirmed TEXT NOT NULL,
                       tags TEXT NOT NULL, done TEXT NOT NULL, revision INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX notes_by_revision ON notes(revision);
    CREATE TABLE note_anchors(note TEXT PRIMARY KEY REFERENCES notes(id) ON DELETE CASCADE, level TEXT NOT NULL,
                              target TEXT NOT NULL, name TEXT NOT NULL, place TEXT NOT NULL, home_level TEXT NOT NULL,
                              home TEXT NOT NULL, home_name TEXT NOT NULL, file TEXT NOT NULL, written TEXT NOT NULL,
                              now TEXT NOT NULL, body TEXT NOT NULL, size INTEGER NOT NULL, names INTEGER NOT NULL,
                              seen TEXT NOT NULL, evidence TEXT NOT NULL, fate TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX note_anchors_by_place ON note_anchors(place);
    CREATE INDEX note_anchors_by_target ON note_anchors(target);
    CREATE INDEX note_anchors_by_file ON note_anchors(file);
    CREATE INDEX note_anchors_astray ON note_anchors(fate) WHERE fate <> '';
    CREATE TABLE note_trail(note TEXT NOT NULL REFERENCES notes(id) ON DELETE CASCADE, home TEXT NOT NULL,
                            file TEXT NOT NULL, PRIMARY KEY(note, home)) WITHOUT ROWID;
    CREATE TABLE note_lookalikes(note TEXT NOT NULL REFERENCES notes(id) ON DELETE CASCADE, other TEXT NOT NULL,
                                 PRIMARY KEY(note, other)) WITHOUT ROWID;
    CREATE TABLE note_successions(newer TEXT NOT NULL, older TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE INDEX note_successions_by_newer ON note_successions(newer);
    CREATE TABLE forgotten_notes(id TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE note_state(number INTEGER PRIMARY KEY CHECK (number = 0), revision INTEGER NOT NULL);
    INSERT INTO note_state VALUES (0, 0);
    """,
    """
    CREATE TABLE summaries(
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, subject TEXT NOT NULL, level TEXT NOT NULL,
        text TEXT NOT NULL, quality TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL,
        inputs TEXT NOT NULL, created TEXT NOT NULL, supersedes TEXT NOT NULL, current INTEGER NOT NULL,
        doubt TEXT NOT NULL, reason TEXT NOT NULL);
    CREATE INDEX summaries_by_subject ON summaries(level, subject);
    CREATE UNIQUE INDEX summaries_that_count ON summaries(level, subject) WHERE current;
    CREATE UNIQUE INDEX summaries_in_a_chain ON summaries(supersedes) WHERE supersedes <> '';
    CREATE TABLE summary_parts(
        summary TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, place TEXT NOT NULL, digest TEXT NOT NULL,
        now TEXT NOT NULL, PRIMARY KEY(summary, kind, subject)) WITHOUT ROWID;
    CREATE INDEX summary_parts_by_place ON summary_parts(place);
    CREATE INDEX summary_parts_by_subject ON summary_parts(kind, subject);
    CREATE TABLE summary_places(place TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE summary_refusals(
        level TEXT NOT NULL, subject TEXT NOT NULL, inputs TEXT NOT NULL, model TEXT NOT NULL, prompt TEXT NOT NULL,
        reason TEXT NOT NULL, created TEXT NOT NULL, PRIMARY KEY(level, subject, inputs, model, prompt)) WITHOUT ROWID;
    CREATE TABLE summary_tally(name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE summary_state(number INTEGER NOT NULL, copied TEXT NOT NULL);
    INSERT INTO summary_state VALUES (0, '');
    """,
    """
    CREATE TABLE ratings(number INTEGER PRIMARY KEY, item TEXT NOT NULL, useful INTEGER NOT NULL, at TEXT NOT NULL,
                         by TEXT NOT NULL);
    CREATE INDEX ratings_by_item ON ratings(item);
    """,
    """
    ALTER TABLE note_anchors ADD COLUMN signature TEXT NOT NULL DEFAULT '';
    """,
    """
    CREATE TABLE note_holds(note TEXT NOT NULL REFERENCES notes(id) ON DELETE CASCADE, digest TEXT NOT NULL,
                            PRIMARY KEY(note, digest)) WITHOUT ROWID;
    INSERT INTO note_holds SELECT note, written FROM note_anchors WHERE written <> '';
    CREATE TABLE sharing_state(hub TEXT NOT NULL, seen INTEGER NOT NULL, quiet INTEGER NOT NULL);
    INSERT INTO sharing_state VALUES ('', -1, 0);
    CREATE TABLE unsent_state(number INTEGER PRIMARY KEY AUTOINCREMENT, part TEXT NOT NULL, key TEXT NOT NULL,
                              UNIQUE(part, key));
    CREATE TABLE received_state(level TEXT NOT NULL, subject TEXT NOT NULL, PRIMARY KEY(level, subject)) WITHOUT ROWID;
    """
    + "".join(
        _list_when(event, table, key)
        for table, key in (
            ("notes", "{}.id"),
            ("forgotten_notes", "{}.id"),
            ("note_successions", "{}.older"),
            ("ratings", _RATING),
            ("summaries", "{}.id"),
        )
        for event in ("AFTER INSERT", "AFTER DELETE")
    )
    + _list_when("AFTER UPDATE OF confirmed, done", "notes", "{}.id")
    + _list_when("BEFORE INSERT", "note_anchors", "{}.note", _SAME_ANCHOR),
    """
    CREATE TABLE several_successions(newer TEXT NOT NULL, older TEXT NOT NULL, PRIMARY KEY(older, newer)) WITHOUT ROWID;
    INSERT INTO several_successions SELECT newer, older FROM note_successions;
    DROP TABLE note_successions;
    ALTER TABLE several_successions RENAME TO note_successions;
    CREATE INDEX note_successions_by_newer ON note_successions(newer);
    DELETE FROM unsent_state WHERE part = 'note_successions';
    INSERT INTO unsent_state(part, key) SELECT 'note_successions', newer || char(31) || older FROM note_successions
        WHERE (SELECT hub FROM sharing_state) <> '' AND (SELECT quiet FROM sharing_state) = 0;
    CREATE TABLE events(id TEXT PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, at TEXT NOT NULL,
                        text TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX events_by_subject ON events(subject, kind);
    """
    + "".join(
        _list_when(event, table, key)
        for table, key in (("note_successions", "{0}.newer || char(31) || {0}.older"), ("events", "{}.id"))
        for event in ("AFTER INSERT", "AFTER DELETE")
    ),
)
"""Statements by the version they start from: the first entry turns an empty file into version 1. A released entry is
never edited; a change of the tables is a new entry."""


_ROOM: Final = 64 << 10
"""Bytes that a write to the database needs at least: the shared memory of its log is extended by 32 KiB at a time."""
_FAILURES: Final = (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError)
"""What reading a damaged file raises: SQLite reports sizes and texts from it as they are."""


class Knowledge:
    """Open it with `Knowledge.open` and use it as a context manager."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._sharing: Path | None = None

    @classmethod
    def open(cls, store_directory: Path, *, wait: float = _WAIT) -> Self:
        """Open the knowledge of a store, after completing a pending handover. Creates an empty file if necessary, and
        takes over what other worktrees have written."""
        if (store_directory / PENDING_NAME).exists():
            from golore.graph.files.handover import finish_handover

            finish_handover(store_directory, wait=wait)
        create_store_directory(store_directory)
        knowledge = cls.open_file(store_directory / KNOWLEDGE_NAME, wait=wait)
        if (store_directory / LINK_NAME).exists() and is_writable(store_directory / KNOWLEDGE_NAME):
            knowledge.share(store_directory)
        return knowledge

    @classmethod
    def open_file(cls, path: Path, *, wait: float = _WAIT) -> Self:
        """Open the knowledge in a given file, such as that of a snapshot. Creates an empty file if necessary."""
        can_write = is_writable(path)
        try:
            if can_write or not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
            else:
                connection = connect_read_only(path, wait)
        except (OSError, sqlite3.Error) as failure:
            raise _store_error(path, failure) from failure
        try:
            if can_write:
                switch_to_wal(connection, wait)
                connection.execute("PRAGMA synchronous = FULL").fetchone()
                connection.execute("PRAGMA foreign_keys = ON").fetchone()
            _migrate(connection, path)
        except _FAILURES as failure:
            connection.close()
            raise _store_error(path, failure) from failure
        except BaseException:
            connection.close()
            raise
        return cls(path, connection)

    @classmethod
    def exists(cls, store_directory: Path) -> bool:
        """Whether a store has knowledge, or can get some from other worktrees."""
        if (store_directory / KNOWLEDGE_NAME).exists():
            return True
        if not (store_directory / LINK_NAME).exists():
            return False
        from golore.graph.files.shared_knowledge import shared_file

        shared = shared_file(store_directory)
        return shared is not None and shared.exists() and os.access(store_directory, os.W_OK)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, after sending what was written to the other worktrees."""
        try:
            with suppress(StoreError):  # then the next process sends it
                if self._sharing is not None and next(self.rows("SELECT EXISTS (SELECT 1 FROM unsent_state)"))[0]:
                    self.share(self._sharing)
        finally:
            self._connection.close()

    def share(self, store_directory: Path) -> None:
        """Exchange with the other worktrees what was written since the last time, now and when this is closed."""
        from golore.graph.files.shared_knowledge import synchronize

        self._sharing = store_directory
        synchronize(self._connection, store_directory)

    @property
    def changes(self) -> int:
        """Number of committed transactions. Code that keeps a copy compares it to detect changes."""
        return next(self.rows("SELECT count FROM changes"))[0]

    def rows(self, statement: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(statement, values)
        except _FAILURES as failure:
            raise _store_error(self._path, failure) from failure

    @contextmanager
    def transaction(self) -> Generator[Transaction]:
        """Commit the writes of the block, or roll all of them back if it raises."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Transaction(connection)
                connection.execute("UPDATE changes SET count = count + 1")
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # not if the disk is full: SQLite has already rolled back
                    connection.execute("ROLLBACK")
                raise
        except _FAILURES as failure:
            raise _store_error(self._path, failure) from failure


class Transaction:
    """An open transaction (see `Knowledge.transaction`). Other processes see the writes after its block has ended."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement. Returns the number of affected rows."""
        return self._connection.execute(statement, values).rowcount

    def run_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        self._connection.executemany(statement, rows)

    def rows(self, statement: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        yield from self._connection.execute(statement, values)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _version_of(connection, path) == len(_MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read the version again: another process may have migrated while this one waited for the lock.
        for step in _MIGRATIONS[_version_of(connection, path) :]:
            for statement in _statements(step):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(step: str) -> Iterator[str]:
    """The statements of a migration. A trigger contains semicolons."""
    statement = ""
    for part in step.split(";")[:-1]:
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _version_of(connection: sqlite3.Connection, path: Path) -> int:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == APPLICATION and version > len(_MIGRATIONS):
        raise StoreMismatch(f"{path} was written by a newer golore. Upgrade golore; nothing was changed.")
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if application != APPLICATION and not is_empty:
        raise StoreMismatch(f"{path} was not made by golore. Move it away; nothing was changed.")
    return version


def _store_error(path: Path, failure: Exception) -> StoreError:
    """The error to raise for a failure. A damaged file is kept, because its content cannot be derived again."""
    code = sqlite3.SQLITE_CORRUPT
    if isinstance(failure, sqlite3.Error):
        # An error without a code is one of Python's module: a text is not UTF-8.
        code = getattr(failure, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    elif isinstance(failure, OSError):
        code = sqlite3.SQLITE_FULL if failure.errno in (errno.ENOSPC, errno.EDQUOT) else sqlite3.SQLITE_CANTOPEN
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreBusy(f"{path} is being written by another process. Try again.")
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        return StoreError(f"No space left on the disk that holds {path}. Make room and try again.")
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG}:
        return StoreDamaged(
            f"{path} is damaged ({failure}). It contains notes and summaries and was not changed. "
            "Restore a snapshot with `golore restore`, or move the file away to start without them."
        )
    return StoreError(f"{path} cannot be used: {failure}. Check who owns it.")


def _is_full(path: Path) -> bool:
    """Whether the disk is full: SQLite reports only an I/O error if it cannot extend a file that it maps."""
    with suppress(OSError):
        return shutil.disk_usage(path.parent).free < _ROOM
    return False
